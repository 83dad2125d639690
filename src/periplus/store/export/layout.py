"""Properties of the layout of a page that are needed before it is written, from its events and class names.

A page is written as blocks of text, one below the other, each with what the lists and quotes around it begin lines
with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from periplus.content.scan.columns import PERMALINK_CLASSES, Event, EventKind

MAX_NESTING: Final = 12
"""Maximum nesting of lists and quotes; deeper ones are written at the level of their parent."""

MOST_SKIPPED: Final = 100
"""Bytes of paragraphs between a heading and its main text: "Yes.", or where the source is."""
_MOST_LETTERS: Final = 1 << 12
"""Letters of a heading that are counted."""


class List:
    """An open list. `first` is the number of its first item, if it is an ordered one."""

    def __init__(self, first: int | None = None) -> None:
        self.first = first
        self.next = first
        self.last: Container | None = None
        """The last item."""
        self.written: Container | None = None
        """The last item for which something was written."""


class Container:
    """A quote or an item of a list: what its first line begins with, and what all the others do."""

    def __init__(self, marker: str, prefix: str, items: List | None = None) -> None:
        self.marker = marker
        self.prefix = prefix
        self.items = items
        self.is_started = False
        self.is_loose = False
        """Whether there are empty lines in it."""


class Blocks:
    """The lines written so far, and the lists and quotes that are open."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.containers: list[Container] = []
        self.lists = [List()]
        """The first is for items outside of any list."""

    def open_list(self, first: int | None, *, is_in_list: bool) -> None:
        """Open a list. One among the items of another list belongs to the item before it."""
        if is_in_list:
            self.continue_item()
        self.lists.append(List(first))

    def open_item(self) -> str:
        """Open an item of the innermost list, and return its marker."""
        items = self.lists[-1]
        marker = "- " if items.next is None else f"{items.next}. "
        if items.next is not None:
            items.next += 1
        items.last = Container(marker, " " * len(marker), items)
        self.contain(items.last)
        return marker

    def continue_item(self) -> None:
        """Open the last item of the innermost list again, if it is closed."""
        last = self.lists[-1].last
        if last and last not in self.containers:
            self.contain(last)

    def contain(self, container: Container) -> None:
        """Open a quote or an item."""
        if len(self.containers) < MAX_NESTING:
            self.containers.append(container)

    def go_back(self, containers: int, lists: int) -> None:
        """Close what is open, but for the first ones."""
        del self.containers[containers:], self.lists[lists:]

    def add(self, lines: list[str]) -> int:
        """Write a block. Returns the number of its first line."""
        containers = self.containers
        started = next((place for place, one in enumerate(containers) if not one.is_started), len(containers))
        if self.lines and self._needs_gap(started):
            self.lines.append("".join([one.prefix for one in containers[:started]]).rstrip())
            for one in containers[:started]:
                one.is_loose = True
        first = "".join([one.prefix if one.is_started else one.marker for one in containers])
        prefix = "".join([one.prefix for one in containers])
        for one in containers[started:]:
            one.is_started = True
            if one.items:
                one.items.written = one
        start = len(self.lines)
        self.lines.append(first + lines[0])
        self.lines.extend([prefix + line if line else prefix.rstrip() for line in lines[1:]])
        return start

    def _needs_gap(self, started: int) -> bool:
        """Whether an empty line goes before a block: not between short items, nor before a list in a short item."""
        items = self.containers[started].items if started < len(self.containers) else None
        if items is None:
            return True
        if items.written:
            return items.written.is_loose
        around = self.containers[started - 1] if started else None
        return around is None or around.items is None or around.is_loose or items.first not in (None, 1)


LONGEST_CELL: Final = 300
"""Characters of a cell in a table without header cells; one that has more lays out the page."""
OPEN, CLOSE, TEXT = map(int, EventKind)
"""Kinds of events as numbers, which are compared faster."""
_WORDS: Final = re.compile(r"\w+")
_BETWEEN_PARTS: Final = re.compile("\\s[-|\u2013\u2014\xb7\u2022\xbb]\\s")
"""Hyphen, bar, dashes, dots in the middle, guillemet."""
DIGITS: Final = re.compile(r"\s*\d{1,9}\s*")

_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_ASIDES: Final = ("nav", "aside", "footer")
_NEEDS_LINES: Final = frozenset((*_HEADINGS, "hr", "blockquote", "listing", "xmp"))
"""What cannot be written in a cell, beside tables and code of several lines: a table around it lays out the page."""
_SURVEYED: Final = frozenset((*_NEEDS_LINES, "a", "img", "pre", "table", "td", "th", "tr"))
_CLUTTER: Final = re.compile(
    r"(?:^|\s)(?:linenos?|linenumbers?|line-?number|linenodiv|(?:rouge-)?gutter|hljs-ln-numbers|lnt?|blob-num\S*"
    r"|mw-editsection)(?:\s|$)"
)
"""Classes of line numbers beside code, and of links that edit a section."""
_LANGUAGES: Final = tuple(
    re.compile(rf"(?:^|\s){before}([A-Za-z][\w+#.-]{{0,29}}){behind}")
    for before, behind in (
        ("lang(?:uage)?-", ""),
        (r"brush:\s*", ""),
        ("highlight-(?:source-|text-)?", ""),
        (r"(?:hljs|sourceCode|src|prettyprint)\s+(?:src-)?", ""),
        ("", r"\s+(?:hljs|rust-example-rendered)(?:\s|$)"),
    )
)
"""How classes name the language of code, the clearest first."""
_NO_LANGUAGES: Final = frozenset(
    {"none", "default", "plain", "auto", "undefined", "notranslate", "linenums", "highlight", "wrapper", "hljs"}
)
_SHORT_LANGUAGES: Final = frozenset(
    {"cs", "fs", "go", "hs", "js", "kt", "md", "ml", "pl", "ps", "py", "qt", "rb", "rs", "sh", "tf", "ts", "vb"}
)
"""Programming languages with a name of two letters; other names of two letters are natural languages."""


@lru_cache(maxsize=4096)
def language_of(classes: str) -> str:
    """The language that the classes of an element give for the code in it; empty if they do not."""
    for pattern in _LANGUAGES if classes else ():
        found = pattern.search(classes)
        name = found[1].lower() if found else ""
        is_natural = len(name) == 2 and name.isalpha() and name not in _SHORT_LANGUAGES
        if name and name not in _NO_LANGUAGES and not is_natural:
            return name
    return ""


@lru_cache(maxsize=4096)
def is_clutter(tag: str, classes: str) -> bool:
    """Whether an element holds line numbers, or links that edit a section."""
    return tag in ("td", "th", "div", "span", "a") and _CLUTTER.search(classes) is not None


@lru_cache(maxsize=4096)
def is_permalink(classes: str) -> bool:
    """Whether the classes of a link mark it as a permalink."""
    return not PERMALINK_CLASSES.isdisjoint(classes.split())


def are_numbers(lines: Sequence[str]) -> bool:
    """Whether lines count: 7, 8, 9."""
    first = lines[0] if lines else ""
    return DIGITS.fullmatch(first) is not None and all(
        line.strip() == str(number) for number, line in enumerate(lines, int(first))
    )


def with_headings(events: Sequence[Event], title: str) -> Sequence[Event]:
    """The events, with two kinds of headings as main text: those right before main text, and that of the page.

    The rule for main text takes them for navigation if they are links, or are apart from the text. Short paragraphs
    that are not main text may stand between a heading and its text. If there is no main text at all, everything is.
    """
    headings = _Headings(title)
    for place, (kind, value, _, is_main) in enumerate(events):
        if kind == TEXT:
            if not value.isspace():
                headings.read(value, is_main, place)
        elif value in _HEADINGS:
            headings.cross(is_open=kind == OPEN)
        elif value == "p":
            headings.is_in_paragraph = kind == OPEN
        elif value in _ASIDES:
            headings.asides += 1 if kind == OPEN else -1
    found = headings.found() if headings.last_main >= 0 else range(len(events))
    changed = list(events)
    for place in found:
        changed[place] = events[place]._replace(is_main=True)
    return changed


def title_likeness(title: str, heading: str) -> int:
    """How much of the title of its page a heading has; 0 if less than half of the heading's words are from there.

    It is decided by the letters of common words, and between equals by those of other words: the fewer, the better. It
    is odd if the heading is all of the title or a part of it, as "Ports" and "Guide" are of "Ports - Guide".
    """
    words = _WORDS.findall(heading.lower())
    own = _words_of(title)
    common = [word for word in words if word in own]
    if not common or 2 * len(common) < len(words):
        return 0
    letters = len("".join(common))
    others = len("".join(words)) - letters
    likeness = min(letters, _MOST_LETTERS) * _MOST_LETTERS - min(others, _MOST_LETTERS - 1)
    return likeness << 1 | (frozenset(words) in _parts_of(title))


@lru_cache(maxsize=64)
def _words_of(title: str) -> frozenset[str]:
    return frozenset(_WORDS.findall(title.lower()))


@lru_cache(maxsize=64)
def _parts_of(title: str) -> frozenset[frozenset[str]]:
    """The words of each part of a title: its subject, the chapter, the name of the site."""
    return frozenset(map(_words_of, _BETWEEN_PARTS.split(title)))


class _OwnHeading(NamedTuple):
    """A heading with half of its words from the title of its page. `places` are those of texts that are not main."""

    likeness: int
    start: int
    places: list[int]


class _Headings:
    """The headings of a page that are not main text but should be."""

    def __init__(self, title: str) -> None:
        self.is_in_paragraph = False
        self.asides = 0
        """Open elements with navigation and the like."""
        self.last_main = -1
        """The place of the last main text."""
        self._first_main = -1
        self._title = title
        self._found: list[int] = []
        self._waiting: list[int] = []
        """Texts of headings since the last text that is not in one, but for short paragraphs."""
        self._skipped = 0
        """Bytes of these paragraphs."""
        self._own: list[_OwnHeading] = []
        self._is_open = False
        self._start = 0
        """The place of the first text of the heading that is open."""
        self._places: list[int] = []
        self._texts: list[str] = []
        """Of the heading that is open: the places of what is not main text, and all texts."""

    def cross(self, *, is_open: bool) -> None:
        """A heading begins or ends."""
        likeness = title_likeness(self._title, "".join(self._texts))
        if likeness:
            self._own.append(_OwnHeading(likeness, self._start, self._places))
        if self._skipped:
            self._waiting, self._skipped = [], 0
        self._waiting += self._places
        self._places, self._texts, self._is_open = [], [], is_open

    def read(self, text: str, is_main: bool, place: int) -> None:
        """A text that is not only white space."""
        if self._is_open and not self.asides:
            self._start = self._start if self._texts else place
            self._texts.append(text)
        if is_main:
            self._first_main = place if self.last_main < 0 else self._first_main
            self._found += self._waiting + self._places
            self._places = []
            self.last_main = place
        elif self._is_open and not self.asides:
            self._places.append(place)
            return
        elif self.is_in_paragraph and not self.asides and self._waiting:
            self._skipped += len(text.encode("utf-8", "replace"))
            if self._skipped <= MOST_SKIPPED:
                return
        self._waiting, self._skipped = [], 0

    def found(self) -> list[int]:
        """The places of texts that should be main text.

        The heading of the page is the one most like its title. If that is a part of the title, as the name of the site
        is, then it is the last other part before main text, if there is one.
        """
        before_text = [own for own in self._own if max(own.places, default=-1) < self.last_main]
        if not before_text:
            return self._found
        best = max(before_text, key=lambda own: (own.likeness, not own.places, own.start))
        for own in before_text if best.likeness & 1 else ():
            if own.likeness & 1 and best.start < own.start <= self._first_main:
                best = own
        return self._found + best.places


def shown_places(events: Iterable[Event]) -> frozenset[int]:
    """The places of tables that hold data, and of images in the main text.

    Those are the images that have main text on one side, and somewhere on the other; at its ends, those that are not
    links, as logos and buttons are.
    """
    survey = _Survey()
    for place, (kind, value, _, is_main) in enumerate(events):
        if kind == TEXT:
            if not value.isspace():
                survey.read(value, is_main)
        elif value not in _SURVEYED:
            continue
        elif kind == OPEN:
            survey.open(value, place)
        else:
            survey.close(value)
    return survey.end()


class _Survey:
    """A first pass over the events of a page."""

    def __init__(self) -> None:
        self._shown: list[int] = []
        self._images: list[int] = []
        """Those behind the last text."""
        self._linked: set[int] = set()
        self._doubtful: list[int] = []
        """Those between main text and other text, perhaps a caption."""
        self._tables: list[_Table] = []
        self._was_main = True
        self._has_main = False
        self._is_in_code = False
        self._is_in_link = False

    def open(self, tag: str, place: int) -> None:
        """An element begins."""
        if tag == "img":
            self._images.append(place)
            if self._is_in_link:
                self._linked.add(place)
        elif tag == "a":
            self._is_in_link = True
        elif tag == "pre":
            self._is_in_code = True
        elif tag == "table":
            self._tables.append(_Table(place))
        elif self._tables:
            self._tables[-1].has_header |= tag == "th"
            self._tables[-1].needs_lines |= tag in _NEEDS_LINES

    def close(self, tag: str) -> None:
        """An element ends."""
        if tag == "a":
            self._is_in_link = False
        elif tag == "pre":
            self._is_in_code = False
        elif not self._tables:
            return
        elif tag in ("td", "th"):
            self._tables[-1].end_cell()
        elif tag == "tr":
            self._tables[-1].end_row()
        elif tag == "table":
            table = self._tables.pop()
            if table.holds_data:
                self._shown.append(table.place)
            if self._tables:
                self._tables[-1].needs_lines = True

    def read(self, text: str, is_main: bool) -> None:
        """A text that is not only white space."""
        if is_main and self._has_main:
            self._shown += self._doubtful + self._images
            self._doubtful = []
        elif is_main:
            self._end_images()
        elif self._has_main and self._was_main:
            self._doubtful += self._images
        self._images = []
        self._has_main |= is_main
        self._was_main = is_main
        if is_main and self._tables:
            self._tables[-1].size += len(text)
            self._tables[-1].needs_lines |= self._is_in_code and "\n" in text.strip()

    def end(self) -> frozenset[int]:
        """What was found."""
        self._end_images()
        return frozenset(self._shown)

    def _end_images(self) -> None:
        """At the beginning or end of the page."""
        if self._was_main:
            self._shown += [place for place in self._images if place not in self._linked]


class _Table:
    """What decides whether a table holds data or lays out the page. Cells and rows without main text do not count."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.has_header = False
        self.needs_lines = False
        self.size = 0
        """Characters in the cell that is open."""
        self._cells = 0
        self._rows = 0
        self._widest = 0
        self._longest = 0

    def end_cell(self) -> None:
        """A cell ends."""
        self._cells += self.size > 0
        self._longest = max(self._longest, self.size)
        self.size = 0

    def end_row(self) -> None:
        """A row ends."""
        self._rows += self._cells > 0
        self._widest = max(self._widest, self._cells)
        self._cells = 0

    @property
    def holds_data(self) -> bool:
        """Whether it has several rows of several cells or a header, and short cells or a header."""
        is_grid = self._rows > 1 and (self._widest > 1 or (self.has_header and self._rows > 2))
        return is_grid and not self.needs_lines and (self.has_header or self._longest <= LONGEST_CELL)
