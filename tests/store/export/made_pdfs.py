"""PDFs that are made for tests: a small writer, files that attack their reader, and mutations of any file."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Sequence
from hashlib import md5
from itertools import count
from random import Random
from typing import Final

PASSAGE: Final = "harbour ledger anchor voyage captain merchant cargo compass tide island chart lantern rope sail mast"


def assembled(objects: Sequence[bytes], trailer: bytes = b"", *, header: bytes = b"%PDF-1.7\n") -> bytes:
    """A file of these objects, numbered from 1, which is the catalogue; `trailer` is added to its trailer."""
    out, places = bytearray(header), []
    for number, each in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (len(places) + 1, trailer, start)
    return bytes(out)


def stream(data: bytes, entries: bytes = b"") -> bytes:
    """A stream object with these bytes and dictionary entries."""
    return b"<</Length %d%s>>\nstream\n%s\nendstream" % (len(data), entries, data)


def text_pdf(pages: Sequence[Sequence[str]], title: str = "", *, packed: bool = True, language: str = "") -> bytes:
    """A document with these lines on its pages; the first line of all is a heading."""
    catalogue = b"<</Type/Catalog/Pages 2 0 R%s>>" % (f"/Lang({language})".encode() if language else b"")
    kids = b" ".join(b"%d 0 R" % (5 + 2 * number) for number in range(len(pages)))
    objects = [
        catalogue,
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(pages)),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        b"<</Title(%s)>>" % _escaped(title),
    ]
    for number, lines in enumerate(pages):
        drawn = [b"BT 72 760 Td 14 TL"]
        for place, line in enumerate(lines):
            size = 24 if number == place == 0 else 11
            drawn.append(b"/F1 %d Tf (%s) Tj T*" % (size, _escaped(line)))
        content = b"\n".join([*drawn, b"ET"])
        objects.append(_page(6 + 2 * number))
        objects.append(stream(zlib.compress(content), b"/Filter/FlateDecode") if packed else stream(content))
    return assembled(objects, b"/Info 4 0 R")


def _escaped(text: str) -> bytes:
    return re.sub(rb"([\\()])", rb"\\\1", text.encode("cp1252", "replace"))


def _page(content: int, entries: bytes = b"", resources: bytes = b"") -> bytes:
    return b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %d 0 R/Resources<</Font<</F1 3 0 R>>%s>>%s>>" % (
        content,
        resources,
        entries,
    )


def _with(page: bytes, *more: bytes, pages: bytes = b"", font: bytes = b"", catalogue: bytes = b"") -> bytes:
    """A file of one page, which is object 4; others follow it."""
    return assembled(
        [
            b"<</Type/Catalog/Pages 2 0 R%s>>" % catalogue,
            pages or b"<</Type/Pages/Kids[4 0 R]/Count 1>>",
            font or b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
            page,
            *more,
        ]
    )


_HELLO: Final = b"BT /F1 12 Tf 72 700 Td (Hello from the page) Tj ET"


def _deflate_bomb() -> bytes:
    """1.5 GB of spaces: one deflated block, again and again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return _with(_page(5), stream(b"\x78\x9c" + block * 1500, b"/Filter/FlateDecode"))


def _nested_bomb() -> bytes:
    data = b"\0" * (128 << 20)
    for _ in range(3):
        data = zlib.compress(data, 9)
    return _with(_page(5), stream(data, b"/Filter[/FlateDecode/FlateDecode/FlateDecode]"))


def _form(content: bytes, forms: bytes) -> bytes:
    return stream(content, b"/Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources<</XObject<<%s>>>>" % forms)


def _self_drawing() -> bytes:
    page = _page(5, resources=b"/XObject<</X 6 0 R>>")
    return _with(page, stream(_HELLO + b" /X Do"), _form(b"/X Do /X Do", b"/X 6 0 R"))


def _laughing_forms() -> bytes:
    """Each form draws the next one twenty times: 20 to the power of 20 texts."""
    forms = [_form(b"/X Do " * 20, b"/X %d 0 R" % (number + 7)) for number in range(20)]
    last = stream(b"BT /F1 9 Tf (x) Tj ET", b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]")
    return _with(_page(5, resources=b"/XObject<</X 6 0 R>>"), stream(b"/X Do"), *forms, last)


def _deep_tree() -> bytes:
    nodes = [b"<</Type/Pages/Kids[%d 0 R]/Count 1>>" % (number + 4) for number in range(100_000)]
    return assembled(
        [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>", *nodes, b"<</Type/Page>>"]
    )


def _encrypted() -> bytes:
    """Encrypted with 40 bits under a password (PDF 1.7, 7.6.3)."""
    pad = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
    owner = _rc4(md5((b"owner" + pad)[:32]).digest()[:5], (b"secret" + pad)[:32])
    key = md5((b"secret" + pad)[:32] + owner + struct.pack("<i", -4) + b"0123456789abcdef").digest()[:5]
    user = _rc4(key, pad)
    lock = b"/Encrypt<</Filter/Standard/V 1/R 2/O<%s>/U<%s>/P -4>>/ID[<%s><%s>]" % (
        owner.hex().encode(),
        user.hex().encode(),
        b"0123456789abcdef".hex().encode(),
        b"00",
    )
    return assembled(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[4 0 R]/Count 1>>",
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
            _page(5),
            stream(_HELLO),
        ],
        lock,
    )


def _rc4(key: bytes, data: bytes) -> bytes:
    box, place = list(range(256)), 0
    for number in range(256):
        place = (place + box[number] + key[number % len(key)]) & 255
        box[number], box[place] = box[place], box[number]
    out, one, other = bytearray(), 0, 0
    for byte in data:
        one = (one + 1) & 255
        other = (other + box[one]) & 255
        box[one], box[other] = box[other], box[one]
        out.append(byte ^ box[(box[one] + box[other]) & 255])
    return bytes(out)


def _xref_loop() -> bytes:
    body = text_pdf([[PASSAGE]])
    start = body.rindex(b"xref\n0")
    return body.replace(b"/Root 1 0 R", b"/Root 1 0 R/Prev %d" % start)


def _object_streams() -> bytes:
    """An object stream that extends itself and claims to hold the catalogue and itself."""
    inside = b"1 0 2 30 <</Type/Catalog/Pages 3 0 R>>     <</Type/ObjStm/N 2/First 9/Extends 2 0 R>>"
    body = b"%PDF-1.5\n"
    place = len(body)
    body += b"2 0 obj\n" + stream(inside, b"/Type/ObjStm/N 2/First 9/Extends 2 0 R") + b"\nendobj\n"
    start = len(body)
    rows = b"\0\0\0\0" + b"\2\0\2\0" + b"\1" + struct.pack(">H", place) + b"\0" + b"\2\0\2\1" + b"\2\0\2\1"
    entries = b"/Type/XRef/W[1 2 1]/Index[0 5]/Size 5/Root 1 0 R/Prev %d" % start
    return body + b"5 0 obj\n" + stream(rows, entries) + b"\nendobj\nstartxref\n%d\n%%%%EOF" % start


def _image(filter_name: bytes, data: bytes, entries: bytes = b"/Width 60000/Height 60000") -> bytes:
    image = stream(
        data,
        b"/Type/XObject/Subtype/Image/ColorSpace/DeviceGray/BitsPerComponent 8/Filter/%s%s" % (filter_name, entries),
    )
    return _with(_page(5, resources=b"/XObject<</X 6 0 R>>"), stream(_HELLO + b" /X Do"), image)


def _recursive_font() -> bytes:
    """A font whose glyphs are written in itself."""
    font = (
        b"<</Type/Font/Subtype/Type3/FontBBox[0 0 9 9]/FontMatrix[1 0 0 1 0 0]/FirstChar 0/LastChar 255"
        b"/CharProcs<</a 6 0 R>>/Encoding<</Differences[0 "
        + b"/a" * 256
        + b"]>>/Resources<</Font<</F1 3 0 R>>>>/Widths[1]>>"
    )
    return _with(_page(5), stream(_HELLO), stream(_HELLO * 50), font=font)


def _junk_font() -> bytes:
    chance = Random(5)
    font = (
        b"<</Type/Font/Subtype/TrueType/BaseFont/Junk/FontDescriptor<</Type/FontDescriptor/FontFile2 6 0 R/Flags 4>>>>"
    )
    junk = b"\0\1\0\0\0\x20" + chance.randbytes(20_000)
    return _with(_page(5), stream(_HELLO), stream(junk, b"/Length1 99999999"), font=font)


def _huge_map() -> bytes:
    rows = b"".join(b"<%04x><%04x><0041>\n" % (number % 65536, 65535) for number in range(200_000))
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>"
    return _with(_page(5), stream(_HELLO), stream(b"200000 beginbfrange\n" + rows + b"endbfrange"), font=font)


def _tiling() -> bytes:
    pattern = stream(
        b"/Pattern cs /P scn 0 0 9 9 re f",
        b"/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 9 9]/XStep .0001/YStep .0001"
        b"/Resources<</Pattern<</P 6 0 R>>>>",
    )
    page = _page(5, resources=b"/Pattern<</P 6 0 R>>")
    return _with(page, stream(_HELLO + b" /Pattern cs /P scn 0 0 600 800 re f"), pattern)


def _many_pages() -> bytes:
    kids = b"4 0 R " * 300_000
    return _with(_page(5), stream(_HELLO), pages=b"<</Type/Pages/Kids[%s]/Count 300000>>" % kids)


HOSTILE: Final[dict[str, Callable[[], bytes]]] = {
    "empty": lambda: b"",
    "header only": lambda: b"%PDF-1.7\n",
    "deflate bomb": _deflate_bomb,
    "nested deflate bomb": _nested_bomb,
    "self-drawing form": _self_drawing,
    "forms that multiply": _laughing_forms,
    "deep page tree": _deep_tree,
    "cyclic page tree": lambda: _with(_page(5), stream(_HELLO), pages=b"<</Type/Pages/Kids[2 0 R 4 0 R]/Count 9>>"),
    "huge page count": lambda: _with(_page(5), stream(_HELLO), pages=b"<</Type/Pages/Kids[4 0 R]/Count 2147483647>>"),
    "one page 300,000 times": _many_pages,
    "enormous page": lambda: _with(
        _page(5, b"/MediaBox[-1e38 -1e38 1e38 1e38]/UserUnit 1e30/Rotate 33"), stream(_HELLO)
    ),
    "xref loop": _xref_loop,
    "object stream in itself": _object_streams,
    "encrypted": _encrypted,
    "cut": lambda: (body := text_pdf([[PASSAGE] * 40] * 20))[: len(body) // 2],
    "JBIG2 junk": lambda: _image(b"JBIG2Decode", Random(1).randbytes(50_000)),
    "JPX junk": lambda: _image(b"JPXDecode", b"\0\0\0\x0cjP  \r\n\x87\n" + Random(2).randbytes(50_000)),
    "JPEG junk": lambda: _image(
        b"DCTDecode", b"\xff\xd8\xff\xc0\0\x11\x08\xff\xff\xff\xff\3" + Random(3).randbytes(9000)
    ),
    "fax junk": lambda: _image(
        b"CCITTFaxDecode", Random(4).randbytes(9000), b"/DecodeParms<</K -1/Columns 2147483647>>"
    ),
    "font in itself": _recursive_font,
    "junk font": _junk_font,
    "huge character map": _huge_map,
    "nested arrays": lambda: _with(_page(5, b"/Annots " + b"[" * 500_000), stream(_HELLO)),
    "nested dictionaries in content": lambda: _with(_page(5), stream(_HELLO + b"/T " + b"<</A" * 300_000 + b" BDC")),
    "saved states": lambda: _with(_page(5), stream(b"q " * 2_000_000 + _HELLO)),
    "length of itself": lambda: _with(_page(5), b"<</Length 5 0 R>>\nstream\n" + _HELLO + b"\nendstream"),
    "wide predictor": lambda: _with(
        _page(5),
        stream(zlib.compress(_HELLO), b"/Filter/FlateDecode/DecodeParms<</Predictor 15/Columns 2147483647/Colors 32>>"),
    ),
    "pattern in itself": _tiling,
    "LZW junk": lambda: _with(_page(5), stream(Random(6).randbytes(90_000), b"/Filter/LZWDecode")),
    "many characters": lambda: _with(_page(5), stream(b"BT /F1 1 Tf " + b"(abcdefgh ) Tj " * 600_000 + b"ET")),
    "resources in themselves": lambda: _with(
        b"<</Type/Page/Parent 4 0 R/Contents 5 0 R/Resources 4 0 R/MediaBox 4 0 R>>", stream(_HELLO)
    ),
    "outline in a circle": lambda: _with(
        _page(5), stream(_HELLO), b"<</First 6 0 R/Next 6 0 R/Parent 6 0 R>>", catalogue=b"/Outlines 6 0 R/Names 6 0 R"
    ),
}
"""Files that attack their reader, by what they do."""

_NUMBER: Final = re.compile(rb"\d+")
_ODD_NUMBERS: Final = (b"0", b"-1", b"1", b"65536", b"2147483647", b"4294967295", b"99999999999999999999", b"1e99")


def mutated(body: bytes, seed: int) -> bytes:
    """The file with some of its bytes changed, removed, repeated or moved, or numbers replaced."""
    chance, out = Random(seed), bytearray(body)
    for _ in range(chance.choice((1, 3, 10, 40))):
        place = chance.randrange(len(out) + 1) if out else 0
        length = min(chance.choice((1, 4, 30, 500)), len(out) - place)
        piece = bytes(out[place : place + length])
        match chance.randrange(6):
            case 0:
                out[place : place + length] = chance.randbytes(length)
            case 1:
                del out[place : place + length]
            case 2:
                out[place:place] = piece * chance.choice((1, 2, 50))
            case 3:
                other = chance.randrange(len(out) + 1)
                out[other : other + length] = piece
            case 4:
                numbers = list(_NUMBER.finditer(out, place, place + 2000))
                if numbers:
                    found = chance.choice(numbers)
                    out[found.start() : found.end()] = chance.choice(_ODD_NUMBERS)
            case _:
                for at in range(place, place + length):
                    out[at] ^= 1 << chance.randrange(8)
    return bytes(out)


def made_files() -> list[bytes]:
    """Whole files of different kinds, to mutate."""
    numbers = count()
    lines = [[f"Chapter {next(numbers)}", *[PASSAGE] * 30] for _ in range(6)]
    return [text_pdf(lines, "A made file"), text_pdf(lines, packed=False), _with(_page(5), stream(_HELLO))]
