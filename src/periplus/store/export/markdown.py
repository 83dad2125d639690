"""A page as Markdown, or as text with its lines: headings, paragraphs, lists, links, code, quotes and tables.

For people and for language models. Written is the main text of the page (see `content.scan`), in the order of the
document; navigation, buttons, line numbers beside code and permalinks of headings are left out. Links are absolute.

The scanner gives the layout of a page as events: block elements in balance, inline tags as they stand. Inline text is
collected until a block ends and is then written by `marks`, between the lists and quotes that `blocks` keeps. A frame
for each open element says what to go back to when it ends. Nothing is copied over and over, and nesting is bounded, so
that time and size are linear in the size of the page.

`content.scan.write_markdown` does the same in C, some ten times as fast, and leaves what is rare to functions here.
Text with lines is written here alone.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

from periplus.content.scan import scan, write_markdown
from periplus.content.scan.columns import Attributes, Event
from periplus.content.scan.tags import BLOCK, FLAGS, PUSH
from periplus.urls import whatwg

from .layout import (
    CLOSE,
    DIGITS,
    TEXT,
    Blocks,
    Container,
    are_numbers,
    is_clutter,
    is_permalink,
    language_of,
    shown_places,
    title_likeness,
    with_headings,
)
from .marks import (
    Link,
    Markdown,
    Plain,
    Row,
    RowSpans,
    Run,
    RunKind,
    Style,
    Styles,
    escaped_start,
    escaped_words,
    folded,
)

MAX_URL: Final = 2000
"""Characters of the address of a link or an image; longer ones (often data) are left out."""

_TERM: Final = 7
"""The kind of a block that is a term of a definition; headings have their level, and paragraphs 0."""
_LONGEST_SIGN: Final = 2
"""Characters of a link that is only a sign, perhaps with a variation selector."""
_SKIPPED: Final = frozenset({"nav", "button", "select", "option", "datalist", "textarea", "svg", "dialog"})
_LONG_WORD: Final = re.compile(r"(?<![\\])\b[^\W\d_]{3,}")
"""A word that says something; not a command of TeX, which texts of formulas are full of."""
_LISTS: Final = ("ul", "ol", "menu", "dir", "dl")
_LANGUAGE_LEVELS: Final = 5
"""Elements with classes that are asked for the language of code: the `<pre>`, and those around it."""
_NOT_IN_CODE: Final = dict.fromkeys((*range(9), *range(11, 32), 0x7F, 0x200B, 0xFEFF))
"""Control characters but for tabs and line feeds, and characters without width."""
_NOT_IN_URLS: Final = str.maketrans({sign: f"%{ord(sign):02X}" for sign in "()\\ <>"})
"""What would end the address of a link early."""
_SCHEMES: Final = ("http://", "https://", "mailto:", "ftp://")


def to_markdown(html: bytes, url: str, *, base: str = "", encoding: str = "utf-8", title: str = "") -> str:
    """The main text of a page in Markdown. `html` is in UTF-8.

    Links are resolved against `base`, if it is not that of the URL; `encoding` is what the page was in before. The
    `title` of the page is written above a text that neither begins with it nor has a heading for it: one that is like
    it, or the only one of the first level.
    """
    text, blocks = written(html, url, base or url, encoding)
    headings = [block for block in blocks if block.kind is WrittenKind.HEADING]
    if not blocks or not title or sum(block.level == 1 for block in headings) == 1:
        return text
    if any(title_likeness(title, each) for each in (blocks[0].text, *[block.title for block in headings])):
        return text
    return f"{Markdown().heading(escaped_words(title, is_in_link=False), 1)}\n\n{text}"


def to_blocks(html: bytes, url: str, *, base: str = "", encoding: str = "utf-8") -> list[WrittenBlock]:
    """The same in blocks, with what leads to its headings and terms."""
    return written(html, url, base or url, encoding)[1]


def written(html: bytes, url: str, base: str, encoding: str) -> tuple[str, list[WrittenBlock]]:
    """The Markdown of a page, and its blocks: by the compiled writer, if there is one, else by `_Writer`."""
    found = write_markdown(html, url, base, hooks_of(url, base, encoding))
    return written_in_python(html, url, base, encoding) if found is None else (found[0], list(map(_BLOCK, found[1])))


def hooks_of(url: str, base: str, encoding: str) -> tuple[Any, ...]:
    """What the compiled writer leaves to Python, in the order of `native/markdown.h`."""
    return _Writer(Markdown(), url, base, encoding).hooks()


def written_in_python(html: bytes, url: str, base: str, encoding: str) -> tuple[str, list[WrittenBlock]]:
    """The Markdown of a page, and its blocks, by `_Writer`."""
    writer = _Writer(Markdown(), url, base, encoding)
    return writer.write(_events_of(html, url)), writer.written


class WrittenKind(Enum):
    """What a block is."""

    TEXT = 0
    HEADING = 1
    TERM = 2
    CODE = 3
    TABLE = 4


class WrittenBlock(NamedTuple):
    """A block of Markdown, with the marks of the lists and quotes around it; code is without them.

    `gap` is what stands between it and the block before it: one line break or two. `level` is 1 to 6 for headings, 7
    for terms, else 0; `anchor` and `title` are theirs.
    """

    text: str
    kind: WrittenKind
    gap: str = "\n\n"
    level: int = 0
    anchor: str = ""
    title: str = ""


_BLOCK: Final = partial(tuple.__new__, WrittenBlock)
"""`WrittenBlock._make` without a call in Python."""


def to_text(html: bytes, url: str, most: int = sys.maxsize) -> str:
    """The main text of a page: a line for each item and row, an empty one between paragraphs. `html` is in UTF-8.

    What is written ends with the first block beyond `most` characters.
    """
    return _Writer(Plain(), url, url, "utf-8").write(_events_of(html, url), most)


def _events_of(html: bytes, url: str) -> Sequence[Event]:
    columns = scan(html, url, wants_events=True)
    return with_headings(columns.events, columns.title)


_PARAGRAPH, _CODE, _TABLE = (WrittenBlock("", kind) for kind in (WrittenKind.TEXT, WrittenKind.CODE, WrittenKind.TABLE))


class _Frame(NamedTuple):
    """An open element, and what else was open when it began."""

    tag: str
    classes: str
    containers: int
    lists: int
    styles: int
    block: int


class _Region:
    """An element in which tags have another meaning: code, or what is left out."""

    def __init__(self, tag: str, level: int) -> None:
        self.tag = tag
        self.level = level
        """Frames while it is open."""
        self.depth = 1
        """Open elements of the same tag, if that is inline and has no frames."""
        self.texts: list[str] = []
        self.languages: list[str] = []
        """Of code, as the elements in it and around it give them."""


class _Writer:
    """One page on its way to text."""

    def __init__(self, marks: Plain, url: str, base: str, encoding: str) -> None:
        self._marks = marks
        self._url = url
        self._base = base
        self._encoding = encoding
        self._blocks = Blocks()
        self._room = sys.maxsize
        """Characters that may still be written."""
        self._events: Sequence[Event] = ()
        self._words: frozenset[str] | None = None
        """Those that visitors see, once they are asked for."""
        self.written: list[WrittenBlock] = []
        self._before = ""
        """The last anchor, if there is no text behind it."""
        self._anchor = ""
        """That of the heading or term that is open."""
        self._has_own_anchor = False
        """Whether that is its own, or inside of it."""
        self._frames: list[_Frame] = []
        self._styles: list[Style | Link] = []
        self._nested = Counter[Style]()
        """How often each style was opened again inside itself."""
        self._has_own_links = False
        """Whether there were links to the page itself since the last block."""
        self._runs: list[Run] = []
        self._block = 0
        self._has_rule = False
        """Whether a horizontal rule goes before the next block."""
        self._skipped: _Region | None = None
        self._code: _Region | None = None
        self._rows: list[Row] | None = None
        """Of the table that is open, if it holds data."""
        self._cells: list[str] = []
        self._spanned = 0
        self._row_spans = RowSpans()
        """Cells that the last one spans beside its own."""
        self._is_header = True
        self._is_in_cell = False

    def hooks(self) -> tuple[Any, ...]:
        """See `hooks_of`."""
        return (
            title_likeness,
            self._resolved,
            is_clutter,
            is_permalink,
            language_of,
            escaped_words,
            escaped_start,
            self._marks.term,
            self._image,
            _are_numbers,
            _KINDS,
        )

    def write(self, events: Sequence[Event], most: int = sys.maxsize) -> str:
        """Write all of it, or what begins in the first `most` characters."""
        self._events = events
        self._room = most
        shown = shown_places(events)
        for place, (kind, value, attributes, is_main) in enumerate(events):
            if self._room < 0:
                break
            if kind == TEXT:
                self._read(value, is_main)
            elif kind == CLOSE:
                self._close(value)
            else:
                self._open(value, attributes or {}, place in shown)
        while self._frames:  # cut short here, or by the scanner
            self._close(self._frames[-1].tag)
        self._end_block()
        return "\n".join(self._blocks.lines)

    def _read(self, text: str, is_main: bool) -> None:
        is_space = text.isspace()
        if not is_space:
            self._before = ""
        if self._skipped:
            return
        if not is_main and not is_space:
            self._has_rule = False
        elif self._code:
            self._code.texts.append(text)
        elif self._runs or not is_space:
            self._runs.append(Run(text, self._styles_here()))

    def _open(self, tag: str, attributes: Attributes, is_shown: bool) -> None:
        flags = FLAGS[tag]
        classes = attributes.get("class") or ""
        if flags & BLOCK:
            self._end_block()
        if flags & PUSH:
            blocks = self._blocks
            here = (len(blocks.containers), len(blocks.lists), len(self._styles), self._block)
            self._frames.append(_Frame(tag, classes, *here))
        anchor = attributes.get("id") or (attributes.get("name") if tag == "a" else None)
        if anchor:
            self._before = anchor
            if self._block and not self._has_own_anchor:
                self._anchor, self._has_own_anchor = anchor, True
        if self._skipped:
            self._skipped.depth += tag == self._skipped.tag
        elif tag in _SKIPPED or (classes and is_clutter(tag, classes)):
            self._skipped = _Region(tag, len(self._frames))
        elif self._code:
            self._open_in_code(self._code, tag, classes)
        elif tag in _OPENERS:
            _OPENERS[tag](self, tag, attributes)
        elif is_shown:
            _SHOWN_OPENERS[tag](self, tag, attributes)

    def _close(self, tag: str) -> None:
        flags = FLAGS[tag]
        if flags & BLOCK:
            self._end_block()
        frame = self._frames.pop() if flags & PUSH else None
        if self._skipped:
            if self._ends(self._skipped, tag):
                self._skipped = None
        elif self._code:
            if self._ends(self._code, tag):
                code, self._code = self._code, None
                self._write_code(code)
        elif tag in _CLOSERS:
            _CLOSERS[tag](self, tag)
        if frame:
            self._blocks.go_back(frame.containers, frame.lists)
            del self._styles[frame.styles :]
            self._block = frame.block

    def _ends(self, region: _Region, tag: str) -> bool:
        """Whether the end of an element is that of a region."""
        if tag == region.tag and not FLAGS[tag] & PUSH:
            region.depth -= 1
        return not region.depth or len(self._frames) < region.level

    def _end_block(self) -> None:
        """Write the text that was collected; in code and in cells, only its line ends."""
        if self._skipped:
            return
        if self._code:
            texts = self._code.texts
            if texts and not texts[-1].endswith("\n"):
                texts.append("\n")
        elif self._is_in_cell:
            self._runs.append(Run("", (), RunKind.BREAK))
        elif self._runs:
            runs, self._runs = self._runs, []
            runs = self._without_permalinks(runs)
            text = self._marks.inline(runs)
            if text and self._block:
                kind = WrittenKind.TERM if self._block == _TERM else WrittenKind.HEADING
                title = folded("".join([run.text for run in runs if run.kind is not RunKind.WRITTEN]))
                self._add(self._lines(text), WrittenBlock("", kind, "", self._block, self._anchor, title))
            elif text:
                self._add(self._lines(text), _PARAGRAPH)

    def _lines(self, text: str) -> list[str]:
        if self._block == _TERM:
            return [self._marks.term(text)]
        return [self._marks.heading(text, self._block)] if self._block else self._marks.paragraph(text)

    def _add(self, lines: list[str], block: WrittenBlock) -> None:
        if self._has_rule:
            self._blocks.add([self._marks.rule])
            self._has_rule = False
        written = self._blocks.lines
        end = len(written)
        start = self._blocks.add(lines)
        text = "\n".join(lines if block.kind is WrittenKind.CODE else written[start:])
        self._room -= len(text)
        self.written.append(block._replace(text=text, gap="\n" if start == end else "\n\n"))

    def _without_permalinks(self, runs: list[Run]) -> list[Run]:
        """A block without links that are only there to be copied; a heading without links to its own page."""
        if not self._has_own_links:
            return runs
        self._has_own_links = _own_link(self._styles) is not None
        texts: dict[Link | None, str] = {}
        for run in runs:
            if text := run.text.strip():
                link = _own_link(run.styles)
                texts[link] = (texts.get(link, "") + text)[: _LONGEST_SIGN + 1]
        dropped = {link for link, text in texts.items() if link and self._is_dropped(link, text, texts)}
        kept = [run for run in runs if _own_link(run.styles) not in dropped] if dropped else runs
        return [run._replace(styles=_unlinked(run.styles)) for run in kept] if 0 < self._block < _TERM else kept

    def _is_dropped(self, link: Link, text: str, texts: Iterable[Link | None]) -> bool:
        is_sign = len(text) <= _LONGEST_SIGN and not any(map(str.isalnum, text))
        if not self._block:
            return is_sign and link.is_permalink
        return is_sign or (link.is_permalink and None in texts)

    def _open_heading(self, tag: str, attributes: Attributes) -> None:
        self._block = int(tag[1])
        self._open_section(attributes)

    def _open_section(self, attributes: Attributes) -> None:
        """A heading or term begins: it has its own anchor, or the last one before it."""
        self._anchor, self._has_own_anchor = self._before, bool(attributes.get("id"))

    def _open_quote(self, _: str, __: Attributes) -> None:
        self._blocks.contain(Container(self._marks.quote, self._marks.quote))

    def _open_list(self, tag: str, attributes: Attributes) -> None:
        start = attributes.get("start") or ""
        first = int(start) if DIGITS.fullmatch(start) else 1
        is_in_list = len(self._frames) > 1 and self._frames[-2].tag in _LISTS
        self._blocks.open_list(first if tag == "ol" else None, is_in_list=is_in_list)

    def _open_item(self, tag: str, attributes: Attributes) -> None:
        marker = self._blocks.open_item()
        if self._is_in_cell:
            self._runs.append(Run(marker, (), RunKind.WRITTEN))
        if tag == "dt":
            self._block = _TERM
            self._open_section(attributes)

    def _open_definition(self, _: str, __: Attributes) -> None:
        self._blocks.continue_item()

    def _open_classifier(self, _: str, attributes: Attributes) -> None:
        """The type of a parameter in manuals of Python, which styles separate from its name."""
        if self._runs and attributes.get("class") == "classifier":
            self._runs.append(Run(" : ", ()))

    def _open_line(self, _: str, attributes: Attributes) -> None:
        """A line of code as Doxygen writes it, in a `<div class="fragment">`."""
        around = self._frames[-2] if len(self._frames) > 1 else None
        if around and around.classes == "fragment" and attributes.get("class") == "line":
            self._code = _Region(around.tag, len(self._frames) - 1)

    def _open_code(self, tag: str, _: Attributes) -> None:
        self._code = _Region(tag, len(self._frames))
        around = islice((frame.classes for frame in reversed(self._frames) if frame.classes), _LANGUAGE_LEVELS)
        self._code.languages = [language_of(classes) for classes in around]

    def _open_in_code(self, code: _Region, tag: str, classes: str) -> None:
        if tag == "br":
            code.texts.append("\n")
        elif tag == "code" and classes:
            code.languages.insert(0, language_of(classes))

    def _write_code(self, code: _Region) -> None:
        text = "".join(code.texts).replace("\r\n", "\n").replace("\r", "\n").translate(_NOT_IN_CODE)
        lines = text.split("\n")
        full = [place for place, line in enumerate(lines) if line.strip()]
        lines = lines[full[0] : full[-1] + 1] if full else []
        if not lines or (are_numbers(lines) and any(frame.tag == "td" for frame in self._frames[-3:])):
            return
        if self._is_in_cell:
            self._runs.append(Run(" ".join(lines), (Style.CODE,)))
        else:
            self._add(self._marks.code(lines, next(filter(None, code.languages), "")), _CODE)

    def _break_line(self, _: str, __: Attributes) -> None:
        """A line break; two of them end a paragraph."""
        last = next(
            (run for run in reversed(self._runs) if run.kind is not RunKind.TEXT or not run.text.isspace()), None
        )
        if not last:
            self._runs = []
        elif last.kind is RunKind.BREAK and not self._is_in_cell:
            self._end_block()
        else:
            self._runs.append(Run("", (), RunKind.BREAK))

    def _open_rule(self, _: str, __: Attributes) -> None:
        self._has_rule = bool(self._blocks.lines and self._marks.rule)

    def _open_image(self, _: str, attributes: Attributes) -> None:
        """An image that has a text; others are decoration, or cannot be described. Not an arrow to the top."""
        alt = attributes.get("alt") or ""
        if alt and not _own_link(self._styles):
            seen = (
                " ".join([value for kind, value, _, _ in self._events if kind == TEXT]) if self._words is None else ""
            )
            written = self._image(alt, attributes.get("src"), seen)
            if written is not None:
                self._runs.append(Run(written, self._styles_here(), RunKind.WRITTEN))

    def _image(self, alt: str, src: str | None, seen: str) -> str | None:
        """What is written for an image; nothing if it has no text. `seen` are all texts of the page."""
        alt = folded(alt)
        if not alt:
            return None
        source = self._resolved(src)
        return self._marks.image(alt if self._says(alt, source, seen) else "", source)

    def _says(self, alt: str, source: str | None, seen: str) -> bool:
        """Whether the page, or the address of an image, has the words of its text, which visitors do not see."""
        words = {word.lower() for word in _LONG_WORD.findall(alt)}
        if self._words is None:
            self._words = frozenset(map(str.lower, _LONG_WORD.findall(seen)))
        return words <= self._words or words <= {*self._words, *map(str.lower, _LONG_WORD.findall(source or ""))}

    def _open_table(self, _: str, __: Attributes) -> None:
        self._rows, self._cells = [], []
        self._row_spans.begin_rows()

    def _open_rows(self, _: str, __: Attributes) -> None:
        self._row_spans.begin_rows()

    def _open_row(self, _: str, __: Attributes) -> None:
        self._cells, self._spanned, self._is_header = [], 0, True
        self._row_spans.begin_row()

    def _open_cell(self, tag: str, attributes: Attributes) -> None:
        if self._rows is None:
            return
        self._is_in_cell = True
        self._is_header &= tag == "th" or any(frame.tag == "thead" for frame in self._frames[-3:])
        column = self._row_spans.free_column(len(self._cells) + self._spanned)
        self._cells += [""] * (column - len(self._cells))
        self._spanned = self._row_spans.place(column, attributes.get("colspan"), attributes.get("rowspan"))

    def _close_cell(self, _: str) -> None:
        if self._is_in_cell:
            runs, self._runs = self._runs, []
            self._cells.append(self._marks.cell(self._marks.inline(self._without_permalinks(runs))))
            self._is_in_cell = False

    def _close_row(self, _: str) -> None:
        cells, self._cells = self._cells, []
        while cells and not cells[-1]:
            cells.pop()
        if self._rows is not None and cells:
            self._rows.append(Row(cells, self._is_header))

    def _close_table(self, tag: str) -> None:
        self._close_row(tag)
        if self._rows:
            self._add(self._marks.table(self._rows), _TABLE)
        self._rows = None

    def _styles_here(self) -> Styles:
        """What is open, less what would be too much: bold in headings, raised footnotes that are links."""
        if not self._styles:
            return ()
        excess = {Style.STRONG} if self._block else set()
        if any(isinstance(style, Link) for style in self._styles):
            excess |= {Style.RAISED, Style.LOWERED}
        return tuple([style for style in self._styles if style not in excess])

    def _open_style(self, tag: str, _: Attributes) -> None:
        """A style; there are none in code."""
        style = _STYLES[tag]
        if style in self._styles:
            self._nested[style] += 1
        elif Style.CODE not in self._styles:
            self._nested[style] = 0
            self._styles.append(style)

    def _close_style(self, tag: str) -> None:
        style = _STYLES[tag]
        if style in self._styles and self._nested[style]:
            self._nested[style] -= 1
        elif style in self._styles:
            self._styles.remove(style)

    def _open_link(self, tag: str, attributes: Attributes) -> None:
        """A link. It ends the one before it, and is outside of code."""
        self._close_link(tag)
        href = attributes.get("href")
        if not self._marks.has_links and "#" not in (href or ""):
            return
        url = self._resolved(href)
        if url:
            is_own = "#" in url and url.partition("#")[0] == self._url
            self._has_own_links |= is_own
            link = Link(url, is_own=is_own, is_permalink=is_permalink(attributes.get("class") or ""))
            self._styles.insert(len(self._styles) - (Style.CODE in self._styles), link)

    def _close_link(self, _: str) -> None:
        self._styles = [style for style in self._styles if not isinstance(style, Link)]

    def _resolved(self, href: str | None) -> str | None:
        """An absolute URL with its fragment; `None` if a reader cannot use it."""
        if href is None or len(href) > MAX_URL:
            return None
        url = whatwg(href, self._base, self._encoding)
        if url is None or not url.startswith(_SCHEMES) or len(url) > MAX_URL:
            return None
        return url.translate(_NOT_IN_URLS)


def _own_link(styles: Iterable[Style | Link]) -> Link | None:
    """The link around a text, if its target is on the same page."""
    return next((style for style in styles if isinstance(style, Link) and style.is_own), None)


def _unlinked(styles: Styles) -> Styles:
    """Styles without links to the same page."""
    return tuple([style for style in styles if not (isinstance(style, Link) and style.is_own)])


def _are_numbers(text: str) -> bool:
    return are_numbers(text.split("\n"))


_KINDS: Final = tuple(WrittenKind)
_STYLES: Final = {
    **dict.fromkeys(("em", "i", "var", "cite", "dfn"), Style.EMPHASIS),
    **dict.fromkeys(("strong", "b"), Style.STRONG),
    **dict.fromkeys(("del", "s", "strike"), Style.DELETED),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), Style.CODE),
    "q": Style.QUOTED,
    "sup": Style.RAISED,
    "sub": Style.LOWERED,
}
_OPENERS: Final[dict[str, Callable[[_Writer, str, Attributes], None]]] = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), _Writer._open_heading),
    **dict.fromkeys(_LISTS, _Writer._open_list),
    **dict.fromkeys(("li", "dt"), _Writer._open_item),
    **dict.fromkeys(("pre", "listing", "xmp"), _Writer._open_code),
    **dict.fromkeys(("td", "th"), _Writer._open_cell),
    **dict.fromkeys(("thead", "tbody", "tfoot"), _Writer._open_rows),
    **dict.fromkeys(_STYLES, _Writer._open_style),
    "a": _Writer._open_link,
    "blockquote": _Writer._open_quote,
    "br": _Writer._break_line,
    "dd": _Writer._open_definition,
    "div": _Writer._open_line,
    "hr": _Writer._open_rule,
    "span": _Writer._open_classifier,
    "tr": _Writer._open_row,
}
_SHOWN_OPENERS: Final = {"img": _Writer._open_image, "table": _Writer._open_table}
_CLOSERS: Final[dict[str, Callable[[_Writer, str], None]]] = {
    **dict.fromkeys(_STYLES, _Writer._close_style),
    **dict.fromkeys(("td", "th"), _Writer._close_cell),
    "a": _Writer._close_link,
    "table": _Writer._close_table,
    "tr": _Writer._close_row,
}
