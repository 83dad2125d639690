"""Which encoding a page is in, against the cases of html5lib and the facts of w3lib."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from periplus.content import sniff_charset
from periplus.formats.encodings import decode, encoding_of

pytestmark = pytest.mark.corpus

NEEDS_SCRIPTING = {"scripted/tests1.dat #0": "the declaration is written by a script, and we run none"}

# By the function and its input. Where w3lib and the standards part, we follow the standards.
W3LIB_DIFFERENCES = {
    "http text/html; charset = utf-8": "we forgive spaces around the equals sign",
    'http text/html; charset= "utf-8"': "we forgive spaces around the equals sign",
    "http text/html; charset='utf-8'": "we forgive single quotes",
    'http text/html; charset="utf-8': "MIME Sniffing: a string without its end runs to the end",
    'http text/html; charset=utf-8"': "we forgive a stray quote",
    'http text/html; charset="utf-8"x': "MIME Sniffing: what follows a string is skipped",
    'http text/html; charset="utf-8"extra': "MIME Sniffing: what follows a string is skipped",
    "http text/html; charset=utf-8, text/plain; charset=utf-16": "Fetch: of several types, the last one counts",
    "body  bad html still supported < meta http-equiv='Content-Type'": "HTML: '< meta' is no tag",
    "body \n            <head></head><body>\n            this isn't searched": "HTML: body does not end the prescan",
    'body <meta http-equiv="Fake-Content-Type-Header" content="text/h': "HTML: http-equiv must be content-type",
    'body <meta httpequiv="ContentType" content="text/html; charset=g': "HTML: the attribute is http-equiv",
    "bom AAD+/wAAbDQ=": "Encoding: there is no UTF-32 on the web",
    "bom //4AADRsAAA=": "Encoding: there is no UTF-32 on the web, so this is UTF-16LE",
    "page utf-32 AAD+/wAAAGgAAABp": "Encoding: there is no UTF-32 on the web",
    "page None AAD+/wAAAGgAAABp": "Encoding: there is no UTF-32 on the web",
    "page utf-32 //4AAGgAAABpAAAA": "Encoding: there is no UTF-32 on the web, so this is UTF-16LE",
    "page None //4AAGgAAABpAAAA": "Encoding: there is no UTF-32 on the web, so this is UTF-16LE",
    "page utf-16 AGgAaQ==": "Encoding: utf-16 without a mark is UTF-16LE",
    "page utf-32 AAAAaAAAAGk=": "Encoding: there is no UTF-32 on the web",
    "page None bm8gZW5jb2RpbmcgaW5mbw==": "HTML: ASCII that declares nothing is called windows-1252",
    "page None ": "HTML: nothing at all is called windows-1252",
}
# Python's names of the decoders that the standard's encodings use.
DECODERS = {"gb18030": "GBK", "big5hkscs": "Big5", "utf-16-be": "UTF-16BE", "utf-16-le": "UTF-16LE"}


def html5lib_cases(folder: Path) -> dict[str, tuple[bytes, str]]:
    cases = {}
    for path in sorted((folder / "html_encoding" / "encoding").rglob("*.dat")):
        for number, case in enumerate(path.read_bytes().split(b"#data\n")[1:]):
            data, _, rest = case.partition(b"\n#encoding\n")
            name = f"{path.parent.name}/{path.name} #{number}".removeprefix("encoding/")
            cases[name] = (data, rest.split(b"\n")[0].decode().strip())
    return cases


def test_html5lib(corpus: Path) -> None:
    """Every case that needs no script gives the encoding that html5lib expects."""
    cases = html5lib_cases(corpus)
    assert len(cases) == 83
    wrong = {name for name, (data, label) in cases.items() if sniff_charset(data).encoding != encoding_of(label)}
    assert wrong == set(NEEDS_SCRIPTING)


def test_big5_page(corpus: Path) -> None:
    """A page without a declaration that is not UTF-8 is guessed to be windows-1252, not detected by its letters."""
    body = (corpus / "html_encoding" / "encoding" / "chardet" / "test_big5.txt").read_bytes()
    assert sniff_charset(body).source == "guess"
    assert "\ufffd" not in decode(body, "Big5")


def value(fact: Any) -> Any:
    if isinstance(fact, dict):
        return base64.b64decode(fact["b64"]) if "b64" in fact else fact["bytes"].encode()
    return fact


def w3lib_facts(folder: Path, function: str) -> list[tuple[list[Any], Any]]:
    facts = json.loads((folder / "urls_w3lib" / "cases.json").read_text())["cases"]
    return [
        ([value(arg) for arg in fact["args"]], fact["result"])
        for fact in facts
        if fact["fn"] == function and "result" in fact
    ]


def same(ours: str | None, theirs: str | None) -> bool:
    if ours is None or theirs is None:
        return ours == theirs
    return ours in (DECODERS.get(theirs), encoding_of(theirs))


def check(outcomes: dict[str, bool], kind: str) -> None:
    """Both ways: what differs must be listed, and what is listed must differ."""
    wrong = {name for name, holds in outcomes.items() if not holds}
    assert wrong == {name for name in W3LIB_DIFFERENCES if name.startswith(f"{kind} ")}


def test_w3lib_content_type(corpus: Path) -> None:
    """The charset of a Content-Type value."""
    outcomes = {}
    for (header, *_), result in w3lib_facts(corpus, "http_content_type_encoding"):
        content_type = (header or "").removeprefix("Content-Type: ")
        found = sniff_charset(b"", content_type)
        ours = found.encoding if found.source == "transport" else None
        outcomes[f"http {content_type}"] = same(ours, result)
    check(outcomes, "http")


def test_w3lib_declared(corpus: Path) -> None:
    """The encoding that a page declares inside."""
    outcomes = {}
    for (body, *_), result in w3lib_facts(corpus, "html_body_declared_encoding"):
        body = body.encode() if isinstance(body, str) else body
        found = sniff_charset(body)
        ours = None if found.source == "guess" else found.encoding
        name = f"body {body.decode('latin-1')[:60]}"
        name = next((known for known in W3LIB_DIFFERENCES if name.startswith(known[:55])), name)
        outcomes[name] = same(ours, result)
    check(outcomes, "body")


def test_w3lib_marks(corpus: Path) -> None:
    """Byte order marks."""
    outcomes = {}
    for (body, *_), result in w3lib_facts(corpus, "read_bom"):
        found = sniff_charset(body)
        ours = found.encoding if found.source == "bom" else None
        outcomes[f"bom {base64.b64encode(body).decode()}"] = same(ours, result[0])
    check(outcomes, "bom")


def test_w3lib_decoding(corpus: Path) -> None:
    """Encoding and text of a page with its header."""
    outcomes: dict[str, bool] = {}
    for (header, body, *_), (encoding, text) in w3lib_facts(corpus, "html_to_unicode"):
        content_type = (header or "").removeprefix("Content-Type: ")
        body = body.encode() if isinstance(body, str) else body
        found = sniff_charset(body, content_type)
        label = content_type.partition("charset=")[2] or None
        name = f"page {label} {base64.b64encode(body).decode()}"
        is_text_same = decode(body[found.bom :], found.encoding) == value(text)
        outcomes[name] = outcomes.get(name, True) and same(found.encoding, encoding) and is_text_same
    check(outcomes, "page")
