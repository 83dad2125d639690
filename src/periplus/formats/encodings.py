"""The encodings of the web and their names, as the Encoding Standard lists them (https://encoding.spec.whatwg.org/).

Here are the table of labels, and how a body is decoded once its encoding is known; pages, sitemaps and feeds share it.
Which encoding a body is in is for each of them to find out.

Python's codecs are the decoders, with the differences that the standard makes: the single-byte encodings of Windows
map the bytes that Microsoft left undefined in 0x80-0x9F to the control characters of the same number, GBK is decoded
as gb18030 with a euro sign of one byte, Big5 with the Hong Kong supplement, Shift_JIS and EUC-KR as Windows extended
them; so are the rows of EUC-JP and ISO-2022-JP. What cannot be decoded becomes U+FFFD, so that decoding never fails.
"""

from __future__ import annotations

import codecs
from functools import cache
from typing import Final

_LABELS: Final = {
    "UTF-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "IBM866": "866 cp866 csibm866 ibm866",
    "ISO-8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "ISO-8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "ISO-8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "ISO-8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "ISO-8859-6": (
        "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e iso-8859-6-i "
        "iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987"
    ),
    "ISO-8859-7": (
        "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 "
        "iso_8859-7:1987 sun_eu_greek"
    ),
    "ISO-8859-8": (
        "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 "
        "iso_8859-8:1988 visual"
    ),
    "ISO-8859-8-I": "csiso88598i iso-8859-8-i logical",
    "ISO-8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "ISO-8859-13": "iso-8859-13 iso8859-13 iso885913",
    "ISO-8859-14": "iso-8859-14 iso8859-14 iso885914",
    "ISO-8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "ISO-8859-16": "iso-8859-16",
    "KOI8-R": "cskoi8r koi koi8 koi8-r koi8_r",
    "KOI8-U": "koi8-ru koi8-u",
    "macintosh": "csmacintosh mac macintosh x-mac-roman",
    "windows-874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "windows-1250": "cp1250 windows-1250 x-cp1250",
    "windows-1251": "cp1251 windows-1251 x-cp1251",
    "windows-1252": (
        "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 "
        "iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252"
    ),
    "windows-1253": "cp1253 windows-1253 x-cp1253",
    "windows-1254": (
        "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 "
        "windows-1254 x-cp1254"
    ),
    "windows-1255": "cp1255 windows-1255 x-cp1255",
    "windows-1256": "cp1256 windows-1256 x-cp1256",
    "windows-1257": "cp1257 windows-1257 x-cp1257",
    "windows-1258": "cp1258 windows-1258 x-cp1258",
    "x-mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "GBK": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk",
    "gb18030": "gb18030",
    "Big5": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "EUC-JP": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "ISO-2022-JP": "csiso2022jp iso-2022-jp",
    "Shift_JIS": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "EUC-KR": (
        "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949"
    ),
    "replacement": "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement",
    "UTF-16BE": "unicodefffe utf-16be",
    "UTF-16LE": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    "x-user-defined": "x-user-defined",
}
_NAME_OF: Final = {label: name for name, labels in _LABELS.items() for label in labels.split()}

_MULTI_BYTE: Final = {
    "UTF-8": "utf-8",
    "GBK": "gb18030",
    "gb18030": "gb18030",
    "Big5": "big5hkscs",
    "EUC-JP": "euc_jp",
    "ISO-2022-JP": "iso2022_jp_ext",
    "Shift_JIS": "cp932",
    "EUC-KR": "cp949",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
}
_SINGLE_BYTE: Final = {
    "IBM866": "cp866",
    "ISO-8859-8-I": "iso8859-8",
    "macintosh": "mac_roman",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
}
_OVERRIDES: Final = {
    "KOI8-U": {0xAE: "ў", 0xBE: "Ў"},
    "windows-1255": {0xCA: "\u05ba"},
    "x-mac-cyrillic": {0xA2: "Ґ", 0xB6: "ґ", 0xFF: "€"},
}
_ROWS: Final = "periplus.formats.rows"
_EURO: Final = "periplus.formats.euro"
_WIDE: Final = str.maketrans("\u301c\u2016\u2212\xa2\xa3\xac", "\uff5e\u2225\uff0d\uffe0\uffe1\uffe2")
"""Where Windows, and so the web, chose other characters for places of JIS X 0208 than Python did."""
_MOST_MENDED: Final = 10_000
"""Characters of a text that are looked up one by one; a text with more errors is in some other encoding."""
_ASCII_WHITESPACE: Final = "\t\n\f\r "


def encoding_of(label: str) -> str | None:
    """The standard's name of the encoding of a label; `None` for an unknown label."""
    return _NAME_OF.get(label.strip(_ASCII_WHITESPACE).lower())


def codec_of(label: str) -> str | None:
    """Python's codec for a label, for decoding a stream; `None` for what is not a charset of the web.

    Names that only Python uses (`latin-1`, `cp936`) are accepted too, because documents are written by programs;
    its codecs that are not charsets are not.
    """
    encoding = encoding_of(label)
    if encoding is None:
        try:
            name = codecs.lookup(label).name
        except (LookupError, ValueError):
            return None
        if name in _MULTI_BYTE.values():
            return name
        encoding = encoding_of(name)
    if encoding in (None, "replacement", "x-user-defined"):
        return None
    return _MULTI_BYTE.get(encoding) or _SINGLE_BYTE.get(encoding) or codecs.lookup(encoding).name


def decode(body: bytes, encoding: str) -> str:
    """Text from bytes in an encoding that `encoding_of` named. Never fails: dirt becomes U+FFFD."""
    if encoding == "replacement":
        # A guard against encodings that let markup hide: the whole body is one error.
        return "\ufffd" if body else ""
    codec = _MULTI_BYTE.get(encoding)
    if codec is not None:
        text = body.decode(codec, "replace")
        more = _BY_WINDOWS.get(codec)
        return text if more is None else more(body, codec, text)
    return codecs.charmap_decode(body, "replace", _charmap(encoding))[0]


@cache
def _charmap(encoding: str) -> str:
    """The 256 characters of a single-byte encoding, in the standard's reading."""
    if encoding == "x-user-defined":
        return "".join(chr(byte) if byte < 0x80 else chr(0xF700 + byte) for byte in range(256))
    codec = _SINGLE_BYTE.get(encoding, encoding)
    overrides = _OVERRIDES.get(encoding, {})
    return "".join(overrides.get(byte) or _character(byte, codec) for byte in range(256))


def _character(byte: int, codec: str) -> str:
    """The character of one byte: a hole in 0x80-0x9F is the control character of that number, elsewhere an error."""
    char = bytes((byte,)).decode(codec, "replace")
    return chr(byte) if char == "\ufffd" and 0x80 <= byte <= 0x9F else char


def _repaired(body: bytes, codec: str, text: str, handler: str) -> str:
    """The text, with what Windows added where Python found errors."""
    return body.decode(codec, handler) if 0 < text.count("\ufffd") <= _MOST_MENDED else text


def _with_rows(body: bytes, codec: str, text: str) -> str:
    return _repaired(body, codec, text, _ROWS).translate(_WIDE)


def _with_euro(body: bytes, codec: str, text: str) -> str:
    return _repaired(body, codec, text, _EURO).replace("\ue5e5", "\u3000")


_BY_WINDOWS: Final = {
    _MULTI_BYTE["EUC-JP"]: _with_rows,
    _MULTI_BYTE["ISO-2022-JP"]: _with_rows,
    _MULTI_BYTE["gb18030"]: _with_euro,
}


def _row_of_windows(error: UnicodeError) -> tuple[str, int]:
    """The character of two bytes in the rows that Windows added to JIS X 0208: circled numbers, names of persons."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    pair = bytes(byte & 0x7F for byte in error.object[error.start : error.start + 2])
    if len(pair) < 2 or not (0x21 <= pair[0] <= 0x7E and 0x21 <= pair[1] <= 0x7E):
        return "\ufffd", error.end
    half, cell = divmod(pair[0] - 0x21, 2)
    cell = pair[1] - 0x21 + 94 * cell
    lead, trail = half + (0x81 if half < 0x1F else 0xC1), cell + (0x40 if cell < 0x3F else 0x41)
    char = bytes((lead, trail)).decode("cp932", "replace")
    return (char, error.start + 2) if len(char) == 1 and char != "\ufffd" else ("\ufffd", error.end)


def _euro_of_windows(error: UnicodeError) -> tuple[str, int]:
    """The one byte that Windows added to GBK; and A3 A0 is a space in use, which Python takes for private."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return ("€", error.start + 1) if error.object[error.start] == 0x80 else ("\ufffd", error.end)


codecs.register_error(_ROWS, _row_of_windows)
codecs.register_error(_EURO, _euro_of_windows)
