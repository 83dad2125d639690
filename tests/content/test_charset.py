"""Which encoding a page is in, and what its bytes mean then."""

from __future__ import annotations

from tests.each_case import each_case

from periplus.content import sniff_charset
from periplus.formats import encodings
from periplus.formats.encodings import decode, encoding_of


@each_case(
    ("body", "content_type", "encoding", "source"),
    [
        (b"\xef\xbb\xbf<meta charset=koi8-r>", "text/html; charset=koi8-r", "UTF-8", "bom"),
        (b"\xfe\xff\0<", None, "UTF-16BE", "bom"),
        (b"<meta charset=koi8-r>", "text/html; charset=ISO-8859-1", "windows-1252", "transport"),
        (b"<meta charset=koi8-r>", "text/html; charset=nonsense", "KOI8-R", "meta"),
        (b"<meta charset=utf-16>", None, "UTF-8", "meta"),
        (b"<meta charset=x-user-defined>", None, "windows-1252", "meta"),
        (b"<!-- <meta charset=koi8-r> --><meta charset=big5>", None, "Big5", "meta"),
        (b"<!--><meta charset=big5>", None, "Big5", "meta"),
        (b"<p title='<meta charset=koi8-r>'><meta charset=big5>", None, "Big5", "meta"),
        (b"<meta content='text/html; charset=big5'>", None, "windows-1252", "guess"),
        (b"<META CONTENT='text/html; CHARSET = \"big5\"' http-equiv=Content-Type>", None, "Big5", "meta"),
        (b"<meta charset=big5 charset=koi8-r>", None, "Big5", "meta"),
        (b"<?xml version='1.0' encoding='koi8-r'?><html>", None, "KOI8-R", "xml"),
        (b"<?xml version='1.0' encoding='koi8-r'?><meta charset=big5>", None, "Big5", "meta"),
        (b"<\0?\0x\0m\0l\0", None, "UTF-16LE", "xml"),
        (b" " * 2000 + b"<meta charset=big5>", None, "Big5", "late-meta"),
        ("<p>ж".encode(), None, "UTF-8", "guess"),
        (b"<p>\xe9", None, "windows-1252", "guess"),
        (b"<p>plain", None, "windows-1252", "guess"),
        (b"", None, "windows-1252", "guess"),
    ],
)
def test_sniffing(body: bytes, content_type: str | None, encoding: str, source: str) -> None:
    """The order of the HTML Standard: mark, transport, declaration, guess."""
    found = sniff_charset(body, content_type)
    assert (found.encoding, found.source) == (encoding, source)


def test_a_long_page_may_be_cut_inside_a_character() -> None:
    """The guess looks at a part of a long page, whose end may be half a character."""
    assert sniff_charset(b"x" + "ж".encode() * (1 << 20)).encoding == "UTF-8"
    assert sniff_charset("ж".encode() * (1 << 19) + b"\xff").encoding == "UTF-8"
    assert sniff_charset(b"\xff" + "ж".encode() * (1 << 20)).encoding == "windows-1252"


def test_labels() -> None:
    """Labels are the standard's 228, in any case, with ASCII white space around them."""
    assert len(encodings._NAME_OF) == 228
    assert encoding_of(" \t Latin1\n") == "windows-1252"
    assert encoding_of("\xa0latin1") is None
    assert encoding_of("utf-7") is None


@each_case(
    ("body", "encoding", "text"),
    [
        (b"\x80\x81\x9d\xe9", "windows-1252", "€\x81\x9dé"),
        (b"\xaa", "windows-1253", "\ufffd"),
        (b"\xae\xbe", "KOI8-U", "ўЎ"),
        (b"\xa2\xff", "x-mac-cyrillic", "Ґ€"),
        (b"\x80\xff", "x-user-defined", "\uf780\uf7ff"),
        (b"<script>", "replacement", "\ufffd"),
        (b"", "replacement", ""),
        (b"\xa2\xe3", "GBK", "€"),
        (b"a\xff", "UTF-8", "a\ufffd"),
        (b"\x00\xd8", "UTF-16LE", "\ufffd"),
    ],
)
def test_decoding(body: bytes, encoding: str, text: str) -> None:
    """The standard's reading of the bytes where Python's codecs have another."""
    assert decode(body, encoding) == text


def test_every_encoding_decodes_every_byte() -> None:
    """No name in the table is without a decoder, and none fails."""
    for name in encodings._LABELS:
        assert isinstance(decode(bytes(range(256)), name), str)


@each_case(
    ("label", "codec"),
    [
        ("ISO-8859-1", "cp1252"),
        ("latin-1", "cp1252"),
        ("gb2312", "gb18030"),
        ("cp932", "cp932"),
        ("koi8-r", "koi8-r"),
        ("base64", None),
        ("idna", None),
        ("replacement", None),
        ("no such thing", None),
    ],
)
def test_codecs_of_labels_are_charsets_of_the_web(label: str, codec: str | None) -> None:
    """Streams are decoded by Python's codecs, but only by those that stand for a charset of the web."""
    assert encodings.codec_of(label) == codec


@each_case(
    ("encoding", "body", "text"),
    [
        ("EUC-JP", b"\xad\xa1\xa4\xa2\xa1\xc1", "①あ～"),
        ("EUC-JP", b"a\xff\xad", "a\ufffd\ufffd"),
        ("ISO-2022-JP", b'\x1b$B-!$"\x1b(Bx', "①あx"),
        ("GBK", b"\x805\xa3\xa0\xc4\xe3", "€5\u3000你"),
        ("gb18030", b"\xff\x80", "\ufffd€"),
    ],
)
def test_what_windows_added_to_encodings(encoding: str, body: bytes, text: str) -> None:
    """Numbers in circles, wide signs, the euro sign: the Encoding Standard has them where Windows put them."""
    assert decode(body, encoding) == text


def test_a_body_of_errors_is_decoded_at_once() -> None:
    """What is nothing but errors is not looked up byte by byte."""
    assert decode(b"\xff" * 100_000, "EUC-JP") == "\ufffd" * 100_000
