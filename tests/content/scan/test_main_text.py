"""Which blocks of a page are main text, by both scanners, and what the names of markup suggest."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.each_case import each_case

from periplus.content.scan import Columns, hints
from periplus.content.scan.hints import attribute_hints

Scanner = Callable[..., Columns]
HEADER = Path(hints.__file__).parent / "native" / "hints.h"

FIRST = "The first paragraph of this article is long enough to be read as prose, and has no links."
SECOND = "The second paragraph goes on in the same manner, so that there is a text of some length."
THIRD = "The third paragraph brings it to an end; what comes behind it should not be a part of it."
ARTICLE = f"<p>{FIRST}<p>{SECOND}<p>{THIRD}"
TEXT = f"{FIRST} {SECOND} {THIRD}"
OTHER = "Something else that is written in a sentence, but does not belong to the article at all."


def main_text(scanner: Scanner, body: str) -> str:
    """The main text that a scanner finds."""
    return scanner(body.encode()).main.decode()


@each_case(
    "clutter",
    [
        f"<nav><p>{OTHER}</nav>",
        f"<aside><p>{OTHER}</aside>",
        f"<footer><p>{OTHER}</footer>",
        f"<div role=complementary><p>{OTHER}</div>",
        f"<div class=sidebar><ul><li><a href=1>One more article</a></ul><p>{OTHER}</div>",
        f"<div class='post related-posts'><p>{OTHER}</div>",
        f"<div id=cookieBanner><p>{OTHER}</div>",
        f"<section class=comments><p>{OTHER}</section>",
        f"<div class=wp-caption><img src=x>{OTHER}</div>",
        f"<figure><img src=x><figcaption>{OTHER}</figcaption></figure>",
        f"<div class=image><img src=x>{OTHER}</div>",
        f"<div hidden><p>{OTHER}</div>",
        f"<div style='color: red; display : none'><p>{OTHER}</div>",
        f"<div aria-hidden=true><p>{OTHER}</div>",
        f"<form action=x><p>{OTHER}</form>",
        f"<div itemprop=author><p>{OTHER}</div>",
        f"<p><a href=1>{OTHER}</a>",
        "</p><button>Read it aloud</button>",
        "<h2>See also</h2><ul><li><a href=1>One more article</a><li><a href=2>And another</a></ul>",
    ],
)
def test_clutter_in_an_article_is_left_out(scanner: Scanner, clutter: str) -> None:
    """Behind the text, and in the middle of it."""
    assert main_text(scanner, f"<article>{ARTICLE}{clutter}</article>") == TEXT
    assert main_text(scanner, f"<article><p>{FIRST}</p>{clutter}<p>{SECOND}<p>{THIRD}</article>") == TEXT


@each_case("rest", ["<h2>See also</h2>", "<div>12:30</div>", "<div>Tags</div><div>News</div>"])
def test_short_rests_behind_an_article_are_left_out(scanner: Scanner, rest: str) -> None:
    """Headings without a text, dates, keywords; in the middle of a text they belong to it."""
    assert main_text(scanner, f"<article>{ARTICLE}{rest}</article>") == TEXT
    assert len(main_text(scanner, f"<article><p>{FIRST}</p>{rest}<p>{SECOND}</article>")) > len(f"{FIRST} {SECOND}")


@each_case(
    "part",
    [
        f"<p>{OTHER}",
        f"<div>{OTHER}</div>",
        f"<blockquote>{OTHER}</blockquote>",
        f"<ul><li>{OTHER}</ul>",
        f"<h2>{OTHER}</h2><p>{SECOND}",
        f"<table><tr><td>{OTHER}<td>42</table>",
        f"<pre>{OTHER}</pre>",
        f"<div class=sidebar><p>{OTHER}</div>",
        f"<section id=login><p>{OTHER}</section>",
        f"<div class=section id=share><p>{OTHER}</div>",
        f"<div class=sect2 id=TYPES-DATE><h3>Dates</h3><p>{OTHER}</div>",
        f"<div class=refsect1 id=FOR-UPDATE-SHARE><h2>Locks</h2><p>{OTHER}</div>",
    ],
)
def test_parts_of_an_article_are_kept(scanner: Scanner, part: str) -> None:
    """Also boxes that are called sidebars but read like text, and sections with a misleading id."""
    assert OTHER in main_text(scanner, f"<article>{ARTICLE}{part}<p>{THIRD}</article>")


@each_case("part", ["div id=DateInput", "div class=sidebar-menu", "div id=Hidden", "p id=comment class=footer", "ul"])
def test_code_is_kept_whole(scanner: Scanner, part: str) -> None:
    """Names in it are those of its functions and classes, and it may link all of its words."""
    name = part.partition(" ")[0]
    linked = f"<{part}><a href=1>class DateInput(Widget):</a> pass\n</{name}>"
    lines = f"import dates\n{linked}CODE = 'the last of its lines'"
    found = main_text(scanner, f"<article>{ARTICLE}<pre>{lines}</pre><p>{THIRD}</article>")
    assert found == f"{TEXT} import dates class DateInput(Widget): pass CODE = 'the last of its lines' {THIRD}"
    last = "<div>LAST = 1</div>"
    assert main_text(scanner, f"<article>{ARTICLE}<pre>{lines}{last}</pre></article>").endswith("lines' LAST = 1")


def test_a_part_of_code_is_not_the_container(scanner: Scanner) -> None:
    """A class that is most of a listing."""
    assert main_text(scanner, f"<div><pre>{OTHER}<div>{TEXT * 5}</div>{OTHER}</pre></div>").count(OTHER) == 2


def test_hidden_code_is_left_out(scanner: Scanner) -> None:
    """Line numbers that are for the eyes only, and code that is not shown."""
    code = f"<pre><div aria-hidden=true>1 2 3</div>{SECOND}</pre><pre hidden>{OTHER}</pre>"
    assert main_text(scanner, f"<article><p>{FIRST}{code}<p>{THIRD}</article>") == TEXT


def test_container_without_names(scanner: Scanner) -> None:
    """Where nothing is marked up, the text is where most of the prose is."""
    menu = "".join(f"<div><a href={number}>Section {number}</a></div>" for number in range(20))
    page = f"<div><div>{menu}</div><div>{ARTICLE}</div><div>Short words <a href=x>here</a></div></div>"
    assert main_text(scanner, page) == TEXT


def test_line_breaks_make_no_blocks(scanner: Scanner) -> None:
    """A text of lines is one block."""
    page = f"<table><tr><td><a href=1>Home</a><br><a href=2>News</a><td>{FIRST}<br><br>{SECOND}</table>"
    assert main_text(scanner, page) == f"{FIRST} {SECOND}"


def test_introduction_between_title_and_container(scanner: Scanner) -> None:
    """It often stands in the header of an article, beside dates and names."""
    header = f"<header><h1>Title</h1><p>{OTHER}<p>By Somebody, today</header>"
    assert main_text(scanner, f"<article>{header}<div>{ARTICLE}</div></article>") == f"{OTHER} {TEXT}"
    assert main_text(scanner, f"<div><p>{OTHER}</div><h1>Title</h1><div>{ARTICLE}</div>") == TEXT


def test_sections_stay_together(scanner: Scanner) -> None:
    """One long section of a manual is not the text alone, nor is the longest post of a thread."""
    short, long = f"<p>{OTHER}", ARTICLE * 5
    for tag in ("section", "div class=post"):
        name = tag.partition(" ")[0]
        page = f"<body><div><{tag}>{short}</{name}><{tag}>{long}</{name}><{tag}>{short}</{name}></div>"
        found = main_text(scanner, page)
        assert found.startswith(OTHER)
        assert found.endswith(OTHER)


def test_lists_are_judged_as_a_whole(scanner: Scanner) -> None:
    """Linked items of a list with other text are kept; a list of links is not."""
    mixed = f"<ul><li><a href=1>A link</a><li>{FIRST}<li>{SECOND}</ul>"
    assert main_text(scanner, f"<div>{ARTICLE}{mixed}</div>") == f"{TEXT} A link {FIRST} {SECOND}"
    links = "<ul><li><a href=1>A link</a><li><a href=2>Another link</a><li>All</ul>"
    assert main_text(scanner, f"<div>{ARTICLE}{links}<p>{OTHER}</div>") == f"{TEXT} {OTHER}"


def test_title_outweighs_names(scanner: Scanner) -> None:
    """What the page's title stands in is not clutter, whatever it is called."""
    page = f"<div class='sidebar-menu'><h1>The title</h1>{ARTICLE}</div><div><p>{OTHER}</div>"
    assert main_text(scanner, page) == f"The title {TEXT}"


def test_a_name_for_everything_means_nothing(scanner: Scanner) -> None:
    """If all prose is called the same, that is not believed."""
    page = "".join(f"<div class=teaser><p>{text}</div>" for text in (FIRST, SECOND, THIRD))
    assert main_text(scanner, f"<body><div>{page}</div>") == TEXT


def test_page_of_links(scanner: Scanner) -> None:
    """All of it but the clutter is main text, also beside some words of introduction."""
    index = "".join(f"<li><a href={number}>Entry number {number}</a>" for number in range(30))
    found = main_text(
        scanner, f"<nav><a href=0>Home</a></nav><p>An index of the entries that there are.<ul>{index}</ul>"
    )
    assert found.startswith("An index of the entries that there are. Entry number 0 Entry number 1")
    assert found.endswith("Entry number 29")


ENTRIES = "".join(f"<li><a href={number}>Entry number {number}</a>" for number in range(4))
LISTED = "Entry number 0 Entry number 1 Entry number 2 Entry number 3"
COPYRIGHT = f"\xa9 2001-2023, the authors of this manual. {OTHER} <a href=bugs>Found a bug?</a>"


@each_case(
    "footer",
    [
        "<footer>{}</footer>",
        "<div class=footer>{}</div>",
        "<div id=footer>{}</div>",
        "<div class=page-footer><div><p>{}</div></div>",
        "<div role=contentinfo><p>{}</div>",
        "<p class=copyright>{}</p>",
    ],
)
def test_a_footer_is_never_the_main_text(scanner: Scanner, footer: str) -> None:
    """However little else a page has, and though all of its prose is there."""
    written = footer.format(COPYRIGHT)
    assert main_text(scanner, f"<div><ul>{ENTRIES}</ul></div>{written}") == LISTED
    assert main_text(scanner, f"<nav><a href=1>One</a></nav><h1>Index</h1><a href=2>A</a>{written}") == "Index A"
    assert main_text(scanner, f"<div class=menu>{ENTRIES}</div>{written}") == LISTED
    assert main_text(scanner, f"<nav><a href=1>One</a></nav>{written}") == ""


def test_a_footer_does_not_begin_a_page(scanner: Scanner) -> None:
    """A wrapper may be called after the footer in it."""
    page = f"<div class=has-footer><p>{FIRST}<p>{SECOND}<p>{THIRD}</p><div class=footer>{COPYRIGHT}</div></div>"
    assert main_text(scanner, page) == TEXT


def test_nothing_but_clutter(scanner: Scanner) -> None:
    """Then what is only called so is main text; menus and asides that are marked up as such are not."""
    assert main_text(scanner, "<div class=menu><a href=1>One</a> <a href=2>Two</a></div>") == "One Two"
    assert main_text(scanner, "<nav><a href=1>One</a> <a href=2>Two</a></nav>") == ""
    assert main_text(scanner, "") == ""


@each_case(
    ("letter", "least"), [("x", 60), ("\u044f", 60), ("\u0e01", 60), ("\u8a9e", 30), ("\ud55c", 30), ("\u3042", 30)]
)
def test_sizes_are_in_characters(scanner: Scanner, letter: str, least: int) -> None:
    """Whatever the script: bytes would make some languages two or three times as long. Wide characters say more."""
    for count in (least - 1, least):
        found = main_text(scanner, f"<body><h1>Title</h1><div>{letter * count}</div><div>{ARTICLE}</div>")
        assert (letter in found.removesuffix(TEXT)) == (count == least)


@each_case(
    ("value", "kinds"),
    [
        (b"nav", hints.CLUTTER),
        (b"main-nav", hints.CLUTTER),
        (b"navigation", hints.CLUTTER),
        (b"subnav", hints.CLUTTER),
        (b"canvas", 0),
        (b"canAvX", 0),
        (b"xNavX", 0),  # capitals begin no words of three letters
        (b"ad", hints.CLUTTER),
        (b"ad-1", hints.CLUTTER),
        (b"a-d", 0),
        (b"header", 0),
        (b"side-bar", hints.SIDE),
        (b"leftSideBar", hints.SIDE),
        (b"Side__Bar", hints.SIDE),
        (b"related", hints.TEASER),
        (b"articleTags", hints.TEASER),
        (b"metastable", 0),
        (b"meta", hints.TEASER),
        (b"articleMeta", hints.TEASER),
        (b"hidden", hints.HIDDEN),
        (b"x hidden\ty", hints.HIDDEN),
        (b"label-hidden", 0),
        (b"sr-only", hints.HIDDEN),
        (b"sr_only", 0),
        (b"comment-form", hints.COMMENT),
        (b"caption credit", hints.CAPTION),
        (b"intro", hints.LEAD),
        (b"introduction", hints.LEAD),
        (b"siteFooter", hints.FOOTER),
        (b"football", 0),
        (b"imgcaption", hints.CAPTION | hints.PICTURE),
        (b"x" * 1021 + b" nav", 0),  # too far behind
        (b"n" * 2000, 0),
    ],
)
def test_class_names(value: bytes, kinds: int) -> None:
    """Words are found with hyphens and capitals, and not inside of other words where that misleads."""
    assert attribute_hints(b"class", value) & hints.BY_NAME == kinds
    assert attribute_hints(b"id", value) == kinds << hints.BY_ID


def test_other_attributes() -> None:
    """Standard words, of any case."""
    assert attribute_hints(b"role", b"Navigation") == hints.ASIDE
    assert attribute_hints(b"role", b"article") == 0
    assert attribute_hints(b"itemprop", b"name DatePublished") == hints.TEASER
    assert attribute_hints(b"style", b"Visibility:\nhidden") == hints.HIDDEN
    assert attribute_hints(b"style", b"display:block") == 0
    assert attribute_hints(b"aria-hidden", b"false") == 0
    assert attribute_hints(b"hidden", None) == hints.HIDDEN
    assert attribute_hints(b"title", b"nav") == attribute_hints(b"class", None) == 0


def test_vocabularies_are_the_same() -> None:
    """The names of the scanner in C, as its header has them."""
    if not HEADER.exists():
        pytest.skip("the sources of the native scanner are not here")
    source = HEADER.read_text()
    table = source[source.index("VOCABULARY[] = {") : source.index("};", source.index("VOCABULARY[] = {"))]
    rows = {
        getattr(hints, name): "".join(re.findall(r'"([^"]*)"', words)).split()
        for name, words in re.findall(r"\{LOOKS_(\w+),((?:\s*\"[^\"]*\")+)\}", table)
    }
    assert rows == {kind: words.split() for kind, words in hints.WORDS.items()}
