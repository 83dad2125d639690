"""Tokenisation as the HTML Standard says (13.2.5), by both scanners."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.each_case import each_case

from periplus.content.forms import form_elements
from periplus.content.scan import Columns, EventKind, tags
from periplus.content.scan.columns import META_EQUIVALENTS, META_NAMES

Scanner = Callable[..., Columns]
HEADER = Path(tags.__file__).parent / "native" / "tags.h"

TEXTS = [
    # A "<" that does not begin a tag is text.
    (b"a < b", "a < b"),
    (b"a <3 b", "a <3 b"),
    (b"a<", "a<"),
    (b"a</", "a</"),
    (b"a<=b", "a<=b"),
    (b"a<<b>c", "a<c"),
    (b"a<\x00b", "a< b"),
    # End tags without a name are nothing; what is not a name makes a comment.
    (b"a</>b", "ab"),
    (b"a</ b>c", "ac"),
    (b"a</3>c", "ac"),
    (b"a</\xc3\xa9>c", "ac"),
    (b"a</ b c", "a"),
    # Comments.
    (b"a<!-- b -->c", "ac"),
    (b"a<!---->c", "ac"),
    (b"a<!-->c", "ac"),
    (b"a<!--->c", "ac"),
    (b"a<!---->-->c", "a-->c"),
    (b"a<!--b--!>c", "ac"),
    (b"a<!--b--!->c-->d", "ad"),
    (b"a<!--b-- >c-->d", "ad"),
    (b"a<!--b->c-->d", "ad"),
    (b"a<!---b-->d", "ad"),
    (b"a<!----b-->d", "ad"),
    (b"a<!--b--", "a"),
    (b"a<!--b<!--c-->d", "ad"),
    (b"a<!--<b>-->d", "ad"),
    (b"a<!---!>b-->d", "ad"),
    (b"a<!----!>d", "ad"),
    # Declarations and processing instructions are comments up to the next ">".
    (b"a<!b>c", "ac"),
    (b"a<!>c", "ac"),
    (b"a<!-b>c", "ac"),
    (b"a<!DOCTYPE html>c", "ac"),
    (b"a<!DOCTYPE 'b>c'>d", "ac'>d"),
    (b"a<?php b ?>c", "ac"),
    (b"a<?>c", "ac"),
    (b"a<![CDATA[b]]>c", "ac"),
    (b"a<![CDATA[b>c]]>d", "ac]]>d"),
    (b"a<!", "a"),
    (b"a<?", "a"),
    # CDATA sections in foreign content.
    (b"a<svg><![CDATA[b<b>&amp;]]>c</svg>d", "a b<b>&amp;c d"),
    (b"a<svg><![CDATA[b]]c]]]>d</svg>e", "a b]]c]d e"),
    (b"a<svg><![CDATA[]]></svg>d", "a d"),
    (b"a<svg><![CDATA[b", "a b"),
    (b"a<svg><![cdata[b>]]></svg>d", "a ]]> d"),
    # Tags: names end at white space, "/" or ">"; a tag that does not end is dropped with the rest of the page.
    (b"a<b>c</b>d", "acd"),
    (b"a<B>c</B >d", "acd"),
    (b"a<b/c>d", "ad"),
    (b"a<b\tc>d", "ad"),
    (b"a<b\x0cc>d", "ad"),
    (b"a<b\x0bc>d", "ad"),
    (b"a<b", "a"),
    (b"a<b c", "a"),
    (b"a<b c=", "a"),
    (b"a<b c='", "a"),
    (b"a<b c='d>e<b>f", "a"),
    (b"a<b c=d", "a"),
    (b"a</b", "a"),
    (b"a</b c", "a"),
    (b"a</b c='>'>d", "ad"),
    (b"a<b c=\"'>\" d='\">'>e", "ae"),
    (b"a<b c=d'>e", "ae"),
    (b"a<b 'c>'>e", "a'>e"),
    (b'a<b ="c>d">e', 'ad">e'),
    (b'a<b c="d"="e>f">g', 'af">g'),
    (b"a<b<c>d", "ad"),
    (b'a<b="c>d">e', 'ad">e'),
    # Raw text and escapable raw text.
    (b"a<style>b</style>c", "ac"),
    (b"a<style><b></styl></style >c", "ac"),
    (b"a<style>b</stylec></STYLE/>d", "ad"),
    (b"a<style>b</style", "a"),
    (b"a<xmp><b>&amp;</xmp>c", "a <b>&amp; c"),
    (b"a<xmp>b</xmpc></xmp c='>'>d", "a b</xmpc> d"),
    (b"a<xmp>b</xmp", "a b</xmp"),
    (b"a<textarea><b>&amp;</textarea>c", "a <b>& c"),
    (b"a<plaintext>b</plaintext>&amp;<b>", "a b</plaintext>&amp;<b>"),
    # Scripts: a comment hides end tags only after another start tag.
    (b"a<script>b</script>c", "ac"),
    (b"a<script><!-- b</script>c", "ac"),
    (b"a<script><!-- <script> </script> b --></script>c", "ac"),
    (b"a<script><!-- <script> </script> b</script>c", "ac"),
    (b"a<script><!-- <script> b --> </script>c", "ac"),
    (b"a<script><!-- <scripts> </script>c", "ac"),
    (b"a<script><!--><script></script>c", "ac"),
    (b"a<script><!---><script></script>c", "ac"),
    (b"a<script><!-- <!--><script></script>c", "ac"),
    (b"a<script><!-- <script </script/> b </script >c", "ac"),
    (b"a<script><!--<script></script><script></script></script>c", "ac"),
    (b"a<script><!--<script>--><!--</script>c", "ac"),
    (b"a<script><!-- <script> </script>b", "a"),
    (b"a<script></scrip></script\n>c", "ac"),
    # Templates, and what is only for browsers without scripts.
    (b"a<template>b<template>c</template>d</template>e", "ae"),
    (b"a<template><style></template></style>b</template>c", "ac"),
    (b"a<noscript>b</noscript>c", "ac"),
]
REFERENCES = [
    (b"&amp;", "&"),
    (b"&amp", "&"),
    (b"&AMP;&AMP", "&&"),
    (b"&Amp;", "&Amp;"),
    (b"&ampx", "&x"),
    (b"&;", "&;"),
    (b"&", "&"),
    (b"& amp;", "& amp;"),
    (b"&#38;&#038&#x26;&#X26", "&&&&"),
    (b"&#x26g", "&g"),
    (b"&#38a", "&a"),
    (b"&#;", "&#;"),
    (b"&#x;", "&#x;"),
    (b"&#xg;", "&#xg;"),
    (b"&#X", "&#X"),
    (b"&#", "&#"),
    (b"&#0;", "\ufffd"),
    (b"&#xD800;&#xDFFF;", "\ufffd\ufffd"),
    (b"&#x110000;", "\ufffd"),
    (b"&#x10FFFF;", "\U0010ffff"),
    (b"&#xFDD0;", "\ufdd0"),
    (b"&#99999999999999999999;", "\ufffd"),
    (b"&#" + b"0" * 100 + b"65;", "A"),
    (b"&#x80;&#x9F;&#x81;", "\u20ac\u0178\x81"),
    (b"&notin;", "\u2209"),
    (b"&notin", "\xacin"),
    (b"&notit;", "\xacit;"),
    (b"&noti", "\xaci"),
    (b"&nOt;", "&nOt;"),
    (b"&NotEqualTilde;", "\u2242\u0338"),
    (b"&CounterClockwiseContourIntegral;", "\u2233"),
    (b"&CounterClockwiseContourIntegral", "&CounterClockwiseContourIntegral"),
    (b"&" + b"x" * 50 + b";", "&" + "x" * 50 + ";"),
    (b"&lt" + b"x" * 50 + b";", "<" + "x" * 50 + ";"),
    (b"&&amp;amp;", "&&amp;"),
    (b"&amp;lt;", "&lt;"),
    (b"&num;&#35;60;", "##60;"),
    (b"&&num;60;&#60;", "&#60;<"),
    (b"&lt&#59;&lt;", "<;<"),
]
"""References in text and in values alike, but for those of `ONLY_IN_TEXT`."""
ONLY_IN_TEXT = {
    b"&ampx": "&ampx",
    b"&notin": "&notin",
    b"&notit;": "&notit;",
    b"&noti": "&noti",
    b"&lt" + b"x" * 50 + b";": "&lt" + "x" * 50 + ";",
}
"""What others are in a value."""
ATTRIBUTES = [
    (b"", {}),
    (b" a", {"a": None}),
    (b" a=", {"a": ""}),
    (b" a=''", {"a": ""}),
    (b' a="b"', {"a": "b"}),
    (b" a='b'", {"a": "b"}),
    (b" a=b", {"a": "b"}),
    (b" a = b", {"a": "b"}),
    (b"\na\t=\x0c'b'\r", {"a": "b"}),
    (b" a b=c d", {"a": None, "b": "c", "d": None}),
    (b" A=B", {"a": "B"}),
    (b" a=b A=c", {"a": "b"}),
    (b" a a=c", {"a": None}),
    (b"/a=b/c", {"a": "b/c"}),
    (b"/a/b", {"a": None, "b": None}),
    (b" a='b'c='d'", {"a": "b", "c": "d"}),
    (b' a="b"c', {"a": "b", "c": None}),
    (b" a=b/", {"a": "b/"}),
    (b" a=b /", {"a": "b"}),
    (b" a='b'/", {"a": "b"}),
    (b" =", {"=": None}),
    (b" =a", {"=a": None}),
    (b" ==a", {"=": "a"}),
    (b" a==b", {"a": "=b"}),
    (b" a='>'", {"a": ">"}),
    (b" a=b\"c'd<e=f`g", {"a": "b\"c'd<e=f`g"}),
    (b" a\"b='c'", {'a"b': "c"}),
    (b" <=b", {"<": "b"}),
    (b" a='b\nc'", {"a": "b\nc"}),
    (b" a=\xc3\xa9", {"a": "\xe9"}),
    (b" \xc3\x89=b", {"\xc9": "b"}),
    (b" a=\xff", {"a": "\ufffd"}),
    (b" a='&lt;&lt&ltx&lt='", {"a": "<<&ltx&lt="}),
    (b" a=&amp;b", {"a": "&b"}),
    (b" a='&amp", None),
    (b" " + b"a" * 64 + b"=b", {"a" * 64: "b"}),
    (b" " + b"a" * 65 + b"=b c=d", {"c": "d"}),
]
"""What is written in a tag, and the attributes; `None` if the tag does not end."""


@each_case(("html", "text"), TEXTS)
def test_text(scanner: Scanner, html: bytes, text: str) -> None:
    """What of a page is text."""
    assert scanner(html).text.decode() == text


@each_case(("written", "decoded"), REFERENCES)
def test_references(scanner: Scanner, written: bytes, decoded: str) -> None:
    """Character references in text, in a title and in values."""
    page = scanner(
        b"<title>" + written + b"</title><p>x" + written + b"</p><form a='" + written + b"'>", wants_events=True
    )
    assert page.title == decoded
    assert form_elements(page.forms)[0].attributes == {"a": ONLY_IN_TEXT.get(written, decoded)}
    assert [event.value for event in page.events if event.kind is EventKind.TEXT] == ["x" + decoded]


@each_case(("written", "attributes"), ATTRIBUTES)
def test_attributes(scanner: Scanner, written: bytes, attributes: dict[str, str | None] | None) -> None:
    """Attributes by name, the first of each."""
    forms = form_elements(scanner(b"<form" + written + b">x").forms)
    assert [form.attributes for form in forms] == ([] if attributes is None else [attributes])


def test_many_attributes(scanner: Scanner) -> None:
    """The first 256 count."""
    written = b"".join(b" a%d=%d" % (number, number) for number in range(300))
    (form,) = form_elements(scanner(b"<form" + written + b">").forms)
    assert form.attributes == {f"a{number}": str(number) for number in range(256)}


def test_title(scanner: Scanner) -> None:
    """Only its own end tag ends a title, and only the first one counts, outside of drawings."""
    page = scanner(b"<svg><title>a</title></svg><title>b<b>&lt;</titl></title ><title>c</title>")
    assert page.title == "b<b><</titl>"


def test_meta_elements_that_are_read_are_reported(scanner: Scanner) -> None:
    """In any case, with white space around the name, and where only decoding can tell."""
    read = [f"<meta name=' {name.upper()}\x1c' content=x>" for name in META_NAMES]
    read += [f"<meta property={name} content=x>" for name in META_NAMES]
    read += [f"<meta http-equiv={name} content=x>" for name in META_EQUIVALENTS]
    read += ["<meta name=&#114;obots content=x>", "<meta name=r\xf6bots content=x>"]
    others = ["<meta name=viewport content=x>", "<meta name=robots>", "<meta http-equiv=robots content=x>"]
    others += ["<meta name=refresh content=x>", "<meta name='' content=x>", "<meta property=og:title content=x>"]
    assert [html for html in read if len(scanner(html.encode()).head.metas) != 1] == []
    assert [html for html in others if scanner(html.encode()).head.metas] == []


def test_scripts_without_a_location_are_not_reported(scanner: Scanner) -> None:
    """They cannot redirect."""
    page = scanner(b"<script>locatio = 1</script><script>location = 'x'</script><script>x</script>")
    assert [script.content for script in page.head.scripts] == ["location = 'x'"]


def test_self_closing_drawings(scanner: Scanner) -> None:
    """A slash ends a drawing at once, unless it is part of a value."""
    assert scanner(b"<svg/><style>a</style><svg a=b/><![CDATA[c]]></svg>d").text == b"c d"


def test_tables_are_the_same() -> None:
    """The tags of the scanner in C and their flags, as its header has them."""
    if not HEADER.exists():
        pytest.skip("the sources of the native scanner are not here")
    rows = re.findall(r"X\((\w+), ([A-Z0-9_ |]+)\)", HEADER.read_text())
    flags = {name: value for name, value in vars(tags).items() if name.isupper() and isinstance(value, int)}
    table = {
        name: sum({flags[word] if word in flags else int(word) for word in value.split(" | ")}) for name, value in rows
    }
    assert list(table.items()) == list(tags.FLAGS.items())
