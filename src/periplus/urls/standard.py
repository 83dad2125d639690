"""Parses and serialises URLs as browsers do: https://url.spec.whatwg.org/ as one function, with every scheme.

`canonical` has the narrower form that the crawler uses. The parser is ada (Lemire & Nizipli, "Parsing millions of URLs
per second", 2023), in time linear in the input. It adds one bound to the standard: a host of more than 16 KiB that is
not plain ASCII is a failure.

`?q=café` on a page in windows-1252 means `?q=caf%E9`. The URL standard therefore encodes the query of a special URL,
and nothing else of it, in the encoding of the document ("percent-encode after encoding"). Since ada supports UTF-8
only, `with_query_in` does this before parsing.
"""

from __future__ import annotations

import codecs
import re
from urllib.parse import quote

from ada_url import join_url, normalize_url

_SAME_NAME = (
    "euc-jp gb18030 iso-2022-jp iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 "
    "iso-8859-10 iso-8859-13 iso-8859-14 iso-8859-15 iso-8859-16 koi8-r koi8-u windows-1250 windows-1251 windows-1252 "
    "windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258"
)

_REFERENCE = "periplus.urls.reference"

_CODECS = {name: name for name in _SAME_NAME.split()} | {
    "big5": "cp950",
    "euc-kr": "cp949",
    "gbk": "gbk",
    "ibm866": "cp866",
    "iso-8859-8-i": "iso-8859-8",
    "macintosh": "mac-roman",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
}
"""The legacy encodings of the web, by the names the Encoding Standard gives them, and what Python calls their like."""

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_IN_SHIFT_JIS = str.maketrans(
    {"\N{MINUS SIGN}": "\N{FULLWIDTH HYPHEN-MINUS}", "\N{YEN SIGN}": "\\", "\N{OVERLINE}": "~"}
)
_QUERY_CHARACTERS = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in "\"#'<>")


def with_query_in(url: str, encoding: str) -> str:
    """The URL with all characters beyond ASCII in its query escaped as in a document in `encoding`.

    `encoding` is a name of the Encoding Standard in any letter case. Unicode encodings change nothing, because the
    standard uses UTF-8 for all of them, nor does a name that is not in the standard. Characters that the encoding lacks
    are written as HTML character references.

    The encoders are Python's, adapted to the standard: GBK is the two-byte part of gb18030 and a euro sign of one byte;
    EUC-JP has the rows that Windows added, in place of the three bytes of JIS X 0212; yen sign and overline in
    Shift_JIS are the ASCII characters in their places. Some private-use, control and compatibility characters still
    differ; servers do not agree about them either.
    """
    codec = _CODECS.get(encoding.lower())
    if codec is None:
        return url
    before, fragment_mark, fragment = url.partition("#")
    start, mark, query = before.partition("?")
    query = _NOT_ASCII.sub(lambda run: _escaped(run[0], codec), query)
    return start + mark + query + fragment_mark + fragment


def _escaped(run: str, codec: str) -> str:
    return quote(_encoded(run, codec), safe=_QUERY_CHARACTERS)


def _encoded(run: str, codec: str) -> bytes:
    if codec == "gbk":
        return b"".join(_two_bytes(character) for character in run)
    if codec == "euc-jp":
        return b"".join(_in_rows(character) for character in run)
    if codec == "cp932":
        run = run.translate(_IN_SHIFT_JIS)
    return run.encode(codec, _REFERENCE)


def _two_bytes(character: str) -> bytes:
    """Encode a character in GBK."""
    if character == "\N{EURO SIGN}":
        return b"\x80"
    encoded = character.encode("gb18030", _REFERENCE)
    return encoded if len(encoded) < 4 else _referred(character).encode()


def _in_rows(character: str) -> bytes:
    """In EUC-JP: what it has of two bytes, else at the place that it has in the rows of Windows."""
    encoded = character.encode("euc-jp", "ignore")
    if encoded and encoded[0] != 0x8F:
        return encoded
    windows = character.encode("cp932", "ignore")
    if len(windows) != 2 or windows[0] >= 0xF0:
        return _referred(character).encode()
    row = 2 * (windows[0] - (0x81 if windows[0] < 0xA0 else 0xC1))
    cell = windows[1] - (0x40 if windows[1] < 0x7F else 0x41)
    return bytes((0xA1 + row + cell // 94, 0xA1 + cell % 94))


def _referred(character: str) -> str:
    """An escaped character reference for a character that an encoding lacks."""
    return f"%26%23{ord(character)}%3B"


def _reference(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(map(_referred, lacking)), error.end


codecs.register_error(_REFERENCE, _reference)


_ENCODED = ("http:", "https:", "ftp:", "file:")
"""The schemes whose queries are in the encoding of the document."""


def whatwg(url: str, base: str | None = None, encoding: str = "utf-8") -> str | None:
    """The serialised URL, as `new URL(url, base).href` gives it in a browser; `None` where that throws.

    A `base` that is itself no URL is a failure even for an absolute `url`, as in the standard. `encoding` is that of
    the document in which the URL was found.
    """
    url = _scalars(url)
    if base is not None:
        base = _scalars(base)
    href = _parse(url, base)
    if href is None or url.isascii() or not href.startswith(_ENCODED):
        return href
    encoded = with_query_in(url, encoding)
    return href if encoded == url else _parse(encoded, base)


def _parse(url: str, base: str | None) -> str | None:
    try:
        href: str = normalize_url(url) if base is None else join_url(base, url)
    except ValueError:
        return None
    return href


def _scalars(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates by U+FFFD, as WebIDL's `USVString` asks of every input."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
