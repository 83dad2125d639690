"""Compression dictionaries: public cases of offers and bodies, and what is written is read again."""

from __future__ import annotations

import json
from base64 import b64decode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from periplus.formats.compression_dictionary import (
    UseAsDictionary,
    available,
    read_available,
    read_dcz,
    read_use_as_dictionary,
    write_dcz,
    write_use_as_dictionary,
    written_id,
)
from periplus.model import Problem

CASES = Path(__file__).parent / "dictionaries"


def cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in json.loads((CASES / name).read_text())]


@pytest.mark.parametrize("case", cases("dcz.json"))
def test_bodies(case: dict[str, Any]) -> None:
    dictionary, coded = b64decode(case["dictionary"]), b64decode(case["coded"])
    assert available(sha256(dictionary).digest()) == case["available_dictionary"]
    assert read_available(case["available_dictionary"]) == sha256(dictionary).digest()
    found = read_dcz(coded, dictionary, 16 << 20)
    if case["expected"] == "ok":
        assert isinstance(found, bytes)
        assert (sha256(found).hexdigest(), len(found)) == (case["body_sha256"], case["body_bytes"])
    else:
        assert isinstance(found, Problem)
        assert found.reason == case["expected"]


@pytest.mark.parametrize("case", cases("dictionaries.json"))
def test_offers(case: dict[str, Any]) -> None:
    use = read_use_as_dictionary(case["use_as_dictionary"])
    assert use is not None
    assert use.applies(case["dictionary_url"], case["url"]) is case["offer"]
    assert (written_id(use.id) if use.id else None) == case.get("dictionary_id")


def test_a_changed_word_takes_few_bytes() -> None:
    before = " ".join(f"word{number * 7919 % 10_007}" for number in range(3_000)).encode()
    after = before.replace(b"word7919", b"changed", 1)
    coded = write_dcz(after, before)
    assert len(coded) < 120
    assert read_dcz(coded, before, len(after)) == after
    assert isinstance(read_dcz(coded, before, len(after) - 1), Problem)
    assert isinstance(read_dcz(coded, after, len(after)), Problem)


@pytest.mark.parametrize("body", [b"", b"a", bytes(1 << 20)])
def test_every_body_is_read_again(body: bytes) -> None:
    for dictionary in (b"", b"x", bytes(range(256)) * 64):
        assert read_dcz(write_dcz(body, dictionary), dictionary, 1 << 20) == body


@pytest.mark.parametrize(
    "field", ["", "match", "match=/a", 'match="/a', 'match="/a" id="b"', 'match="/a", type=other', 'match="\x01"', "é"]
)
def test_what_is_not_a_field_is_not_read(field: str) -> None:
    assert read_use_as_dictionary(field) is None


def test_fields_are_written_for_plain_paths() -> None:
    written = write_use_as_dictionary("/docs/page.html")
    assert written == 'match="/docs/page.html"'
    use = read_use_as_dictionary(written)
    assert use is not None
    assert use.applies("https://a.test/docs/page.html", "https://a.test/docs/page.html")
    assert not use.applies("https://a.test/docs/page.html", "https://a.test/docs/other.html")
    assert write_use_as_dictionary("/a(b)") is None
    assert write_use_as_dictionary("/a:b") is None


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("/a*b*c", "/aXbYc", True),
        ("/a*b*c", "/ac", False),
        ("/ab*ba", "/aba", False),
        ("page*", "/docs/page7", True),
        ("*", "/docs/", True),
        ("//other.test/*", "/docs/x", False),
        ("//[/*", "/docs/x", False),
        ("/" + "a*" * 400, "/" + "a" * 5_000 + "b", True),
        ("/" + "a*" * 400 + "c", "/" + "a" * 5_000 + "b", False),
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    use = UseAsDictionary(pattern)
    assert use.applies("https://a.test/docs/page", f"https://a.test{path}") is expected


@pytest.mark.parametrize("field", ["", "::", ":AAAA:", "AAAA", ":!:", ":" + "A" * 5_000 + ":"])
def test_what_offers_no_dictionary(field: str) -> None:
    assert read_available(field) is None
