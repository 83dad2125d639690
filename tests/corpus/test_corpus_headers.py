"""Content-Type cases of w3lib: the same charset, but for what we read more leniently, or as the standards have it."""

from __future__ import annotations

import codecs
import json
from pathlib import Path

import pytest

from periplus.formats.headers import read_content_type

pytestmark = pytest.mark.corpus

_MEANT = "w3lib gives up; what was meant is plain"
_STANDARD = "w3lib gives up; the MIME Sniffing standard reads the quoted string and passes over what follows"
KNOWN_DIFFERENCES = {
    "text/html; charset = utf-8": _MEANT,
    'text/html; charset= "utf-8"': _MEANT,
    "text/html; charset='utf-8'": _MEANT,
    'text/html; charset=utf-8"': _MEANT,
    'text/html; charset="utf-8': _STANDARD,
    'text/html; charset="utf-8"x': _STANDARD,
    'text/html; charset="utf-8"extra': _STANDARD,
    "text/html; charset=utf-8, text/plain; charset=utf-16": "w3lib takes the first value; the Fetch standard the last",
}


def codec(value: str) -> str | None:
    """The codec of the charset that a value names, for w3lib answers with codecs."""
    media = read_content_type(value)
    if media is None or media.charset is None:
        return None
    try:
        return codecs.lookup(media.charset).name
    except LookupError:
        return None


def test_charset_of_content_type(corpus: Path) -> None:
    """Every case holds or is named above with the reason, and none is named that holds."""
    cases = json.loads((corpus / "urls_w3lib" / "cases.json").read_text())["cases"]
    expected = {
        case["args"][0].removeprefix("Content-Type: "): case["result"]
        for case in cases
        if case["fn"] == "http_content_type_encoding"
    }
    assert len(expected) >= 25
    assert {value for value, result in expected.items() if codec(value) != result} == set(KNOWN_DIFFERENCES)
