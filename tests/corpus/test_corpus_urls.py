"""Public conformance data for URLs: web-platform-tests, the Public Suffix List's tests, w3lib's facts."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlunparse

import pytest

from periplus.urls import PublicSuffixes, canonical, domain_of, resolve_all, whatwg

pytestmark = pytest.mark.corpus


def cases(path: Path) -> list[Any]:
    """The cases of a web-platform-tests file; its strings are comments."""
    found = [case for case in json.loads(path.read_text("utf-8")) if isinstance(case, dict)]
    assert found
    return found


@pytest.mark.parametrize("name", ["urltestdata.json", "urltestdata-javascript-only.json"])
def test_every_url_parses_as_the_standard_says(corpus: Path, name: str) -> None:
    """The exact href, or failure, of every case."""
    wrong = []
    for case in cases(corpus / "urls_wpt" / name):
        expected = None if case.get("failure") else case["href"]
        found = whatwg(case["input"], case.get("base"))
        if found != expected:
            wrong.append((case["input"], case.get("base"), expected, found))
    assert wrong == []


def test_every_http_case_has_one_canonical_form(corpus: Path) -> None:
    """The canonical form of the input is that of the standard's own spelling of it, alone and in a batch."""
    for case in cases(corpus / "urls_wpt" / "urltestdata.json"):
        if not case.get("failure"):
            form = canonical(case["input"], case.get("base"))
            assert form == canonical(case["href"])
            if case.get("base"):
                assert resolve_all([case["input"], case["href"]], case["base"]) == [form, form]


@pytest.mark.parametrize("name", ["toascii.json", "IdnaTestV2.json"])
def test_every_host_name_becomes_ascii_as_the_standard_says(corpus: Path, name: str) -> None:
    """Domain to ASCII, seen through the parser; an empty host cannot be seen so, and is a failure of the URL."""
    wrong = []
    for case in cases(corpus / "urls_wpt" / name):
        expected = f"https://{case['output']}/x" if case["output"] else None
        found = whatwg(f"https://{case['input']}/x")
        if found != expected and case["input"]:
            wrong.append((case["input"], expected, found))
    assert wrong == []


ENCODER_DIFFERENCES = {
    ("iso-2022-jp", "\x0eA"): "the standard's encoder refuses shift controls; Python's lets them pass",
    ("gb18030", "\ue5e5"): "the standard's encoder refuses this private-use character; Python's has a place for it",
}


def test_queries_are_escaped_in_the_encoding_of_the_page(corpus: Path) -> None:
    """Percent-encode after encoding, but for the named differences of encoders, which must stay differences."""
    different = set()
    for case in cases(corpus / "urls_wpt" / "percent-encoding.json"):
        for encoding, expected in case["output"].items():
            if whatwg(f"https://example/?{case['input']}", None, encoding) != f"https://example/?{expected}":
                different.add((encoding, case["input"]))
    assert different == set(ENCODER_DIFFERENCES)


def suffix_cases(folder: Path) -> list[tuple[str, str | None]]:
    """Host and registrable domain of both files; the list's own tests pass null for no host."""
    script = (folder / "test_psl.txt").read_text("utf-8")
    pairs = re.findall(r"^checkPublicSuffix\('?(.*?)'?, '?(.*?)'?\);", script, re.MULTILINE)
    lines = (folder / "tests.txt").read_text("utf-8").splitlines()
    pairs += [tuple(line.split()) for line in lines if line and not line.startswith("//")]
    return [("" if host == "null" else host, None if domain == "null" else domain) for host, domain in pairs]


def test_every_public_suffix_case_with_the_installed_list(corpus: Path) -> None:
    """Registrable domains, in both scripts, with the list that comes with the program."""
    found = suffix_cases(corpus / "urls_psl")
    assert len(found) > 100
    assert [(host, domain_of(host)) for host, _ in found] == found


def test_every_public_suffix_case_with_another_list(corpus: Path) -> None:
    """The same with a list read from a file: the edition can be chosen."""
    with gzip.open(corpus / "urls_psl" / "public_suffix_list.dat.gz", "rt", encoding="utf-8") as lines:
        suffixes = PublicSuffixes(lines)
    found = suffix_cases(corpus / "urls_psl")
    assert [(host, suffixes.domain_of(host)) for host, _ in found] == found


W3LIB_ENCODINGS = {
    "latin1": "windows-1252",
    "latin-1": "windows-1252",
    "iso-8859-1": "windows-1252",
    "cp1251": "windows-1251",
    "iso2022jp": "iso-2022-jp",
}

CANONICALIZE = "TestCanonicalizeUrl::test_"
SAFE = "test_safe_url_string_url"
USERINFO = "TestUrl::test_safe_url_string_user_and_pass_percentage_encoded"

W3LIB_DIFFERENCES = {
    "w3lib sorts the query; a server may mind the order": {
        f"{CANONICALIZE}typical_usage #2",
        f"{CANONICALIZE}typical_usage_semicolon #1",
        f"{CANONICALIZE}sorting #1",
        f"{CANONICALIZE}keep_blank_values #2",
        f"{CANONICALIZE}non_ascii_percent_encoding_in_query_arguments #1",
        f"{CANONICALIZE}non_ascii_percent_encoding_in_query_arguments #2",
        f"{CANONICALIZE}non_ascii_percent_encoding_in_query_arguments #3",
        f"{CANONICALIZE}canonicalize_idns #2",
        f"{CANONICALIZE}canonicalize_url_idempotence #8",
    },
    "w3lib rewrites the query as a form: blank parameters, = and +; a query need not be a form": {
        f"{CANONICALIZE}typical_usage #3",
        f"{CANONICALIZE}keep_blank_values #1",
        f"{CANONICALIZE}keep_blank_values #3",
        f"{CANONICALIZE}keep_blank_values #4",
        f"{CANONICALIZE}keep_blank_values #5",
        f"{CANONICALIZE}spaces #1",
        f"{CANONICALIZE}spaces #2",
        f"{CANONICALIZE}spaces #3",
    },
    "w3lib decodes or escapes reserved characters; RFC 3986 section 2.2 lets a server tell the two apart": {
        f"{CANONICALIZE}normalize_percent_encoding_in_paths #5",
        f"{SAFE}[https://example.com/[x]-https://example.com/%5Bx%5D] #1",
        f"{SAFE}[https://example.com/a]b-https://example.com/a%5Db] #1",
        f"{SAFE}[http://example.com/search?tags[]=a-http://example.com/search?tags%5B%5D=a] #1",
        f"{SAFE}[http://[::1]:8080/p?q=[1]-http://[::1]:8080/p?q=%5B1%5D] #1",
        f"{USERINFO} #3",
        f"{USERINFO} #6",
    },
    "w3lib escapes what the URL standard leaves: a backslash in a query, a % that begins no escape": {
        f"{SAFE}[https://example.com\\\\a?b\\\\c-https://example.com/a?b%5Cc] #1",
        f"{SAFE}[https://example.com\\\\a?b\\\\c#d\\\\e-https://example.com/a?b%5Cc#d%5Ce] #1",
        f"{SAFE}" + r'[https://"%;<=>@^`{|}\x7f:"%;<=>@^`{|}\x7f:@example.com-output87] #1',
        f"{USERINFO} #2",
    },
    "w3lib takes a name in brackets for a host; to the URL standard it is a bad IPv6 address": {
        f"{SAFE}[http://[v6a.ip]-http://v6a.ip] #1",
    },
    "w3lib falls back to UTF-8 for what an encoding lacks; the URL standard writes character references": {
        f"{CANONICALIZE}canonicalize_url_unicode_query_string_wrong_encoding #1",
        f"{CANONICALIZE}canonicalize_url_unicode_query_string_wrong_encoding #2",
    },
}


def test_w3lib_spellings_are_spellings_of_the_same_url(corpus: Path) -> None:
    """What w3lib makes of a URL has the canonical form of the URL, but where its policy is another."""
    facts = json.loads((corpus / "urls_w3lib" / "cases.json").read_text("utf-8"))["cases"]
    different, counted = set(), Counter[str]()
    compared = 0
    for fact in facts:
        if fact["fn"] not in ("canonicalize_url", "safe_url_string"):
            continue
        counted[fact["test"]] += 1
        url = as_text(fact["args"][0])
        if url is None or "path_encoding" in fact["kwargs"]:
            continue  # no URL, or a path that is not in UTF-8, which the URL standard does not know
        encoding = fact["kwargs"].get("encoding", "utf-8")
        form = canonical(url, None, W3LIB_ENCODINGS.get(encoding, encoding))
        expected = canonical(fact["result"]) if "result" in fact else None
        if form != expected:
            different.add(f"{fact['test']} #{counted[fact['test']]}")
        compared += form is not None
    assert compared > 250
    assert different == set().union(*W3LIB_DIFFERENCES.values())


def as_text(argument: Any) -> str | None:
    """The URL of a fact, put together where it is in parts; bytes count if they are UTF-8."""
    match argument:
        case str(text) | {"bytes": str(text)}:
            return text
        case {"b64": str(code)}:
            text = base64.b64decode(code).decode("utf-8", "replace")
            return None if "\N{REPLACEMENT CHARACTER}" in text else text
        case [str(scheme), *parts]:
            return str(urlunparse((scheme, *parts)))
        case _:
            return None
