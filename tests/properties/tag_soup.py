"""Pages as no person would write them: random tags, attributes and texts, and real pages with mistakes put in."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from periplus.content.scan.tags import NAMES

TAGS = (
    b"a p div li ul ol table tr td th tbody span b i br h1 h2 form input label select option textarea button svg math "
    b"title script style noscript template iframe img nav main header footer article foreignobject desc dd dt dl font "
    b"image frame frameset meta link base html body head datalist optgroup hr pre xmp noembed noframes plaintext "
    b"object caption fieldset legend h3 video audio canvas annotation annotation-xml"
).split()
"""Tags that do something; each is as likely as another."""
OTHER_TAGS = [*(name.encode() for name in NAMES if name), b"x-y", b"a\0", b"a" * 19, b"foo", b"li\xff", b"b<", b'i"']
ATTRIBUTES = (
    b"href src alt title class id name content rel lang xml:lang http-equiv property xlink:href role hidden style type "
    b"value color face size action method for list srcset poster start colspan rowspan charset aria-hidden itemprop "
    b"disabled"
).split()
OTHER_ATTRIBUTES = [b"=", b"x" * 65, b"X\0", b'"', b"<", b"data-x", b"\xff", b"HREF", b"a\0", b"=b"]
VALUES = [
    *(b"x", b"", b"a b", b"/p", b"#f", b"?q=1", b"a&amp;b", b"&copy=1", b"&notit;x", b"javascript:1", b"nav", b"main"),
    *(
        b"navigation",
        b"nofollow",
        b"http://o.example/x",
        b"//h/x",
        b"../u",
        b"post-12 abc_d",
        b"item12345678abc",
        b"a/",
    ),
    *(b"\xc3\xa9", b"\xff", b"text/html", b"refresh", b"display:none", b"a\tb", b" x ", b"&#x41;", b"a\0b", b"x>y"),
    *(
        b"robots",
        b" Robots\x1c",
        b"og:description",
        b"content-language",
        b"de, en",
        b"noindex",
        b"1; url=x",
        b"&#82;obots",
    ),
    *(b"headerlink", b"x permalink", b"hash-link\tb"),
    *(b"&#35;f", b"./x/../y", b"x%41", b"HTTP://O.example/", b"http://o.example:80/", b"mailto:x", b"a\nb", b"\\x"),
]
TEXTS = [
    *(b"word", b" ", b"\n", b"  two words ", b", and", b"(", b")", b"&nbsp;", b"&lt;b&gt;", b"&amp;", b"&amp;lt;"),
    *(b"&copy", b"&notin;", b"&notit;", b"&#160;", b"&#10;", b"&#1;", b"&#x80;", b"&#xD800;", b"&#0;", b"&num;"),
    *(b"&#99999999999;", b"&", b"&;", b"&#;", b"&#x;", b"\xc2\xa0", b"\xe2\x80\x8b", b"\xe3\x80\x80", b"\xc3\xa9"),
    *(b"\xff", b"\xc2", b"\xe3\x80", b"<", b"< ", b"<3", b"</", b"</>", b"</ x>", b"<!x>", b"<?php ?>", b"<!-- c -->"),
    *(b"<!-->", b"<!--->", b"<!--a--!>b", b"<!--", b"-->", b"<![CDATA[ x<b>&amp;]]>", b"]]>", b"\0", b"\x01", b"\x02"),
    *(b"\x03", b"\x0b", b"\x0c", b"\x1c", b"\x7f", b"'", b'"', b">", b"=", b"/", b"<a", b"<a href='", b"\xe1\x9a\x80"),
    *(b"\xe2\x80\x83", b"\r\n", b"\r", b"text.", b"[x]", b"{", b"!", b"<!DOCTYPE html>", b"<!doctype", b"&lt", b"&ltx"),
    *(b"12:30", b" 17 comments", b"2026-11-14", b"a1b2c3d4e5f6a7b8c9d0", b"<script>location='x'</script>"),
    *(b"<meta name=robots content=none>", b"<form action=x><input name=q value='a  b'><label>y</label></form>"),
    *(b"#", b" \xc2\xb6 ", b"&para;", b"&#xA7;", b"\xf0\x9f\x94\x97\xef\xb8\x8f", b"<a href='#f'>&para;</a>"),
    *(b"<a class='x permalink' href=/p>#</a>", b"<a href=#f>\n<span>\xc2\xa7</span>\n</a>"),
    *(b"&gt=", b"\xa0", b"x" * 70, b"A sentence that is long enough to be a paragraph of its own, with a comma. "),
]
ENDS = (b">", b">", b">", b">", b">", b"/>", b" />", b"/ >", b" ", b"")
SPACES = (b" ", b" ", b" ", b" ", b"\n", b"/", b"\t", b"")


def soup(chance: Random) -> bytes:
    """A page of tags and texts."""
    share = chance.uniform(0.3, 0.8)
    size = chance.choice((1, 3, 8, 20, 60, 150))
    return b"".join([tag(chance) if chance.random() < share else text(chance) for _ in range(size)])


def mutated(chance: Random, pages: Sequence[bytes]) -> bytes:
    """A page, or a part of one, with mistakes."""
    page = bytearray(chance.choice(pages))
    if chance.random() < 0.6:
        start = chance.randrange(len(page) or 1)
        page = page[start : start + chance.choice((300, 3000, 8000))]
    for _ in range(chance.choice((1, 3, 10, 40))):
        _mutate(chance, page)
    return bytes(page)


def _mutate(chance: Random, page: bytearray) -> None:
    at = chance.randrange(len(page) + 1)
    match chance.randrange(4):
        case 0:
            del page[at : at + chance.choice((1, 1, 2, 5, 30))]
        case 1:
            page[at:at] = tag(chance) if chance.random() < 0.5 else text(chance)
        case 2:
            page[at : at + 1] = bytes((chance.choice(b"<>/\"'=& a\0\xff!-"),))
        case _:
            start = chance.randrange(len(page) + 1)
            page[at:at] = page[start : start + chance.choice((5, 50, 300))]


def text(chance: Random) -> bytes:
    """A piece of text, or something that looks like markup."""
    return chance.choice(TEXTS) if chance.random() < 0.7 else b"word "


def tag(chance: Random) -> bytes:
    """A start or end tag."""
    name = chance.choice(TAGS if chance.random() < 0.9 else OTHER_TAGS)
    if chance.random() < 0.07:
        name = name.upper()
    if chance.random() < 0.4:
        return b"</" + name + (b" " + attribute(chance) if chance.random() < 0.03 else b"") + b">"
    count = chance.choice((0, 0, 0, 1, 1, 2, 3))
    attributes = b"".join([chance.choice(SPACES) + attribute(chance) for _ in range(count)])
    return b"<" + name + attributes + chance.choice(ENDS)


def attribute(chance: Random) -> bytes:
    """An attribute, with or without a value."""
    name = chance.choice(ATTRIBUTES if chance.random() < 0.9 else OTHER_ATTRIBUTES)
    value = chance.choice(VALUES)
    form = chance.choice(
        (b"%b", b'%b="%b"', b'%b="%b"', b'%b="%b"', b"%b='%b'", b"%b=%b", b"%b = %b", b"%b=", b"%b='%b")
    )
    return form % (name, value) if form.count(b"%b") == 2 else form % name
