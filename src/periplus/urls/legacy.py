"""Queries on pages that are not in UTF-8.

Whoever wrote `?q=café` on a page in windows-1252 meant `?q=caf%E9`, and the server knows no other. So the URL standard
encodes the query of a special URL, and nothing else of it, in the encoding of the document ("percent-encode after
encoding"): bytes outside the query's character set are escaped, and what the encoding lacks is written as an HTML
character reference. It is done here before parsing, because the parser underneath knows only UTF-8.

Encoders are Python's. They differ from those of the Encoding Standard in some private-use and control characters,
about which servers do not agree either.
"""

from __future__ import annotations

import codecs
import re
from urllib.parse import quote

_SAME_NAME = (
    "euc-jp gb18030 iso-2022-jp iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 "
    "iso-8859-10 iso-8859-13 iso-8859-14 iso-8859-15 iso-8859-16 koi8-r koi8-u windows-1250 windows-1251 windows-1252 "
    "windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258"
)

_CODECS = {name: name for name in _SAME_NAME.split()} | {
    "big5": "cp950",
    "euc-kr": "cp949",
    "gbk": "gb18030",
    "ibm866": "cp866",
    "iso-8859-8-i": "iso-8859-8",
    "macintosh": "mac-roman",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
}
"""The legacy encodings of the web, by the names the Encoding Standard gives them, and what Python calls their like."""

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_QUERY_CHARACTERS = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in "\"#'<>")


def with_query_in(url: str, encoding: str) -> str:
    """The URL with what is not ASCII in its query escaped as in a document in `encoding`.

    `encoding` is a name of the Encoding Standard in any letter case. Unicode encodings change nothing, because the
    standard uses UTF-8 for all of them, nor does a name that is not in the standard.
    """
    codec = _CODECS.get(encoding.lower())
    if codec is None:
        return url
    before, fragment_mark, fragment = url.partition("#")
    start, mark, query = before.partition("?")
    query = _NOT_ASCII.sub(lambda run: _escaped(run[0], codec), query)
    return start + mark + query + fragment_mark + fragment


def _escaped(run: str, codec: str) -> str:
    if codec == "cp932":
        run = run.replace("\N{MINUS SIGN}", "\N{FULLWIDTH HYPHEN-MINUS}")
    return quote(run.encode(codec, "periplus.urls.reference"), safe=_QUERY_CHARACTERS)


def _reference(error: UnicodeError) -> tuple[str, int]:
    """What an encoding lacks, as escaped character references."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(f"%26%23{ord(character)}%3B" for character in lacking), error.end


codecs.register_error("periplus.urls.reference", _reference)
