"""How the parts of a page are written: inline text with its styles, headings, code, tables; in Markdown or plain.

Inline text is a list of runs, each with the styles that were open when it was read. Marks are written where styles
change between runs, not where tags stand: so they are always balanced, and white space stays outside of them.

A table is written by the position of each cell, since cells may span several columns and rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from .layout import DIGITS

MAX_COLSPAN: Final = 50
"""Cells written for one that spans columns."""
MAX_ROWSPAN: Final = 1000
"""Rows below a cell that keep its column free."""
MAX_SPANNED_COLUMNS: Final = 100
"""Columns that cells may keep free below; with the rows it bounds what a short table writes."""


class RowSpans:
    """The columns of the present row that are taken by cells of the rows above (HTML Standard, 4.9.12)."""

    def __init__(self) -> None:
        self._left: dict[int, int] = {}
        self._taken: frozenset[int] = frozenset()

    def begin_rows(self) -> None:
        """A table or a group of rows begins: no cell reaches into it."""
        self._left, self._taken = {}, frozenset()

    def begin_row(self) -> None:
        """The next row begins."""
        self._taken = frozenset(self._left)
        self._left = {column: rows - 1 for column, rows in self._left.items() if rows > 1}

    def free_column(self, column: int) -> int:
        """The first column from this one on that no cell above takes."""
        while column in self._taken:
            column += 1
        return column

    def place(self, column: int, colspan: str | None, rowspan: str | None) -> int:
        """Put a cell into a column; returns how many further columns it spans."""
        width = min(_number(colspan), MAX_COLSPAN)
        below = min(_number(rowspan), MAX_ROWSPAN) - 1
        if below > 0:
            end = min(column + max(width, 1), MAX_SPANNED_COLUMNS)
            self._left.update(dict.fromkeys(range(column, end), below))
        return max(width - 1, 0)


def _number(span: str | None) -> int:
    """The value of an attribute; 1 if it is not a number."""
    return int(span) if span is not None and DIGITS.fullmatch(span) else 1


MAX_TIMES_OPENED: Final = 50
"""Maximum number of times that a link around many blocks is written. Bounds the output, because a URL may be long."""

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x9f]")
_INVISIBLE: Final = re.compile("[\u00ad\u200b\u2060\ufeff]+")
"""Soft hyphens, zero-width spaces, word joiners and byte order marks, which only control line breaks."""
_MARKS: Final = (
    r"`|\*(?!(?<=\s\*)\s)|\\(?=[!-/:-@\[-`{-~]|\Z)|(?<!\w)_++|(?<!_)_++(?!\w)|<(?=[a-zA-Z/!?])"
    r"|&(?=#?\w{1,32};)|~(?=~)"
)
"""Characters that Markdown would read as markup; not the asterisks and underscores that it ignores."""
_MAYBE_SPECIAL: Final = re.compile(r"[`*\\_<&~\[\]]")
_SPECIAL: Final = re.compile(rf"{_MARKS}|\](?=[(:])")
_SPECIAL_IN_LINK: Final = re.compile(rf"{_MARKS}|[\[\]]")
_AT_START: Final = re.compile(r"\A(?:#{1,6}(?=\s|\Z)|>|[-+*](?=\s|\Z)|(?:=+|-+)\Z|(\d{1,9})(?=[.)](?:\s|\Z)))")
_HASHES_AT_END: Final = re.compile(r"(?<=\s)(?=#+\Z)")
_FLANKED: Final = frozenset({"*", "**", "~~"})
"""Marks whose meaning depends on the characters on both sides."""
_CODE_SPAN: Final = re.compile(r"`[^`]*+`")
_TICKS: Final = re.compile(r"`+")


class Link:
    """A link around runs of text. `is_own`: to a place on its own page; `is_permalink`: named so by its class."""

    def __init__(self, url: str, *, is_own: bool, is_permalink: bool) -> None:
        self.url = url
        self.is_own = is_own
        self.is_permalink = is_permalink
        self.times_opened = 0


class Style(Enum):
    """A style of inline text, with what Markdown writes before and behind it."""

    EMPHASIS = ("*", "*")
    STRONG = ("**", "**")
    DELETED = ("~~", "~~")
    QUOTED = ("\u201c", "\u201d")
    RAISED = ("<sup>", "</sup>")
    LOWERED = ("<sub>", "</sub>")
    CODE = ("", "")


Styles = tuple[Style | Link, ...]
"""What is open around a text, from the outside in; code is the last."""


class RunKind(Enum):
    """What a run is: text of the page, text that is written already (an image), or a line break."""

    TEXT = 0
    WRITTEN = 1
    BREAK = 2


class Run(NamedTuple):
    """A piece of inline text."""

    text: str
    styles: Styles
    kind: RunKind = RunKind.TEXT


class Row(NamedTuple):
    """A row of a table."""

    cells: list[str]
    is_header: bool


def folded(text: str) -> str:
    """The words of a text, with a space between them."""
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
    return " ".join(_CONTROLS.sub(" ", text).split())


class _Open(NamedTuple):
    """A style that is open: where its mark is in the line, and whether Markdown sees it there."""

    style: Style | Link
    place: int
    is_seen: bool


class _Line:
    """Inline text on its way: marks are closed and opened where styles differ from one text to the next.

    Markdown overlooks a mark of emphasis between a letter outside and a sign inside (CommonMark, 6.2): there the text
    has to do without it.
    """

    def __init__(self, marks: Plain) -> None:
        self._marks = marks
        self._out: list[str] = []
        self._open: list[_Open] = []

    def add(self, words: str, styles: Styles, gap: str) -> None:
        """Add words; the white space before them is outside of what ends or begins there."""
        same = 0
        while same < min(len(self._open), len(styles)) and self._open[same].style is styles[same]:
            same += 1
        pieces = [self._marks.mark(style, 0) for style in styles[same:]] + [words]
        self._close(same, [gap, *pieces])
        ended = next(filter(None, reversed(self._out)), "")
        if not gap and "".join(pieces).startswith("`") and ended.endswith("`"):
            gap = " "
        if gap and ended:
            self._out.append(gap)
        if pieces[0] == "[" and self._out and self._out[-1].endswith("!"):
            self._out[-1] = f"{self._out[-1][:-1]}\\!"
        for number, style in enumerate(styles[same:]):
            mark = pieces[number]
            is_seen = _is_seen(mark, _beside(mark, reversed(self._out), -1), _beside(mark, pieces[number:], 0))
            is_seen &= bool(gap) or mark not in _FLANKED or ended not in _FLANKED or ended[0] != mark[0]
            self._open.append(_Open(style, len(self._out), is_seen))
            self._out.append(mark if is_seen else "")
        self._out.append(words)

    def end(self) -> str:
        """The whole."""
        self._close(0, [])
        return "".join(self._out)

    def _close(self, same: int, following: list[str]) -> None:
        while len(self._open) > same:
            style, place, is_seen = self._open.pop()
            mark = self._marks.mark(style, 1)
            if is_seen and _is_seen(mark, _beside(mark, following, 0), _beside(mark, reversed(self._out), -1)):
                self._out.append(mark)
            else:
                self._out[place] = ""


def _beside(mark: str, pieces: Iterable[str], side: int) -> str:
    """The nearest character (the first or last one of a piece) that is not of the same kind of mark."""
    return next((piece[side] for piece in pieces if piece and not (piece in _FLANKED and piece[0] == mark[:1])), "")


def _is_seen(mark: str, outside: str, inside: str) -> bool:
    """Whether Markdown sees a mark between these characters."""
    return mark not in _FLANKED or inside.isalnum() or not outside.isalnum()


class Plain:
    """Text with lines, and no marks but those of lists."""

    quote = ""
    rule = ""
    line_end = ""
    """What is written before a line break inside a paragraph."""
    needs_words = True
    """Whether images without any words beside them are left out."""
    has_links = False
    """Whether it says where links lead. If not, only those within the page matter: permalinks are left out."""

    def inline(self, runs: Sequence[Run]) -> str:
        """A block of text; the lines that the page asks for are separated by line breaks."""
        if self.needs_words and not any(run.kind is RunKind.TEXT and not run.text.isspace() for run in runs):
            return ""
        line = _Line(self)
        gap = ""
        for (styles, kind), group in groupby(runs, key=itemgetter(1, 2)):
            if kind is RunKind.BREAK:
                gap = f"{self.line_end}\n"
                continue
            text = "".join([run.text for run in group])
            words = folded(text)
            gap = gap or (" " if text[:1].isspace() else "")
            if words:
                line.add(self.words(words, styles) if kind is RunKind.TEXT else words, styles, gap)
                gap = " " if text[-1].isspace() else ""
        return line.end()

    def mark(self, style: Style | Link, side: int, /) -> str:
        """What is written before (0) or behind (1) a text of a style."""
        return style.value[side] if style is Style.QUOTED else ""

    def words(self, text: str, _styles: Styles, /) -> str:
        """A text of the page, white space folded."""
        return text

    def image(self, alt: str, _url: str | None, /) -> str:
        """An image."""
        return f" {alt} "

    def paragraph(self, text: str, /) -> list[str]:
        """The lines of a paragraph."""
        return text.split("\n")

    def heading(self, text: str, _level: int, /) -> str:
        """A heading, in one line."""
        return " ".join(text.split())

    def term(self, text: str, /) -> str:
        """The term of a definition, in one line."""
        return " ".join(text.split())

    def code(self, lines: list[str], _language: str, /) -> list[str]:
        """A block of code."""
        return lines

    def cell(self, text: str, /) -> str:
        """A cell of a table, in one line."""
        return " ".join(text.split())

    def table(self, rows: Sequence[Row], /) -> list[str]:
        """A table, given its cells."""
        return [" \u00b7 ".join(filter(None, row.cells)) for row in rows]


class Markdown(Plain):
    """CommonMark, with the tables and deletions of GitHub."""

    quote = "> "
    rule = "---"
    line_end = "  "
    needs_words = False
    has_links = True

    def mark(self, style: Style | Link, side: int, /) -> str:
        """Marks around a text; a link that was written too often has none."""
        if isinstance(style, Style):
            return style.value[side]
        style.times_opened += side == 0
        if style.times_opened > MAX_TIMES_OPENED:
            return ""
        return f"]({style.url})" if side else "["

    def words(self, text: str, styles: Styles, /) -> str:
        """A text of the page, so that nothing in it is taken for a mark."""
        if Style.CODE in styles:
            ticks = _fence(text, 1)
            pad = " " if text.startswith("`") or text.endswith("`") else ""
            return f"{ticks}{pad}{text}{pad}{ticks}"
        if not _MAYBE_SPECIAL.search(text):
            return text
        return escaped_words(text, any(isinstance(style, Link) for style in styles))

    def image(self, alt: str, url: str | None, /) -> str:
        """An image with its alternative text; nothing if it has no address (a script may load it)."""
        return f"![{_SPECIAL_IN_LINK.sub(_escaped, alt)}]({url})" if url else ""

    def paragraph(self, text: str, /) -> list[str]:
        """The lines of a paragraph, none of which looks like the beginning of another block."""
        return list(map(escaped_start, text.split("\n")))

    def heading(self, text: str, level: int, /) -> str:
        """A heading with its level."""
        text = _HASHES_AT_END.sub(r"\\", super().heading(text, level))
        return f"{'#' * level} {text}"

    def term(self, text: str, /) -> str:
        """The term of a definition in bold, unless it has styles of its own."""
        text = super().term(text)
        return text if "*" in _CODE_SPAN.sub("", text) else f"**{text}**"

    def code(self, lines: list[str], language: str, /) -> list[str]:
        """A block of code between fences that are longer than any inside."""
        fence = _fence("\n".join(lines), 3)
        return [fence + language, *lines, fence]

    def cell(self, text: str, /) -> str:
        """A cell in one line, its own bars escaped."""
        return "<br>".join(line.strip() for line in text.replace("|", "\\|").split("\n"))

    def table(self, rows: Sequence[Row], /) -> list[str]:
        """A table with a header, which is empty if the table has none. It is as wide as the widest row."""
        width = max(len(row.cells) for row in rows)
        header = rows[0].cells if rows[0].is_header else []
        body = rows[1:] if rows[0].is_header else rows
        header = header + [""] * (width - len(header))
        lines = [header, ["---"] * width, *(row.cells for row in body)]
        return [f"| {' | '.join(cells)} |" for cells in lines]


def escaped_words(text: str, is_in_link: bool) -> str:
    """A text so that nothing in it is taken for a mark."""
    return (_SPECIAL_IN_LINK if is_in_link else _SPECIAL).sub(_escaped, text)


def escaped_start(line: str) -> str:
    """A line so that it does not look like the beginning of another block."""
    return _AT_START.sub(_escaped_start, line)


def _escaped(found: re.Match[str]) -> str:
    return found[0].replace("_", "\\_") if found[0].startswith("_") else f"\\{found[0]}"


def _escaped_start(found: re.Match[str]) -> str:
    """A number keeps its digits: only signs can be escaped."""
    return f"{found[0]}\\" if found[1] else f"\\{found[0]}"


def _fence(code: str, least: int) -> str:
    """Longer than any run of the same character in the code."""
    return "`" * max(least, 1 + max(map(len, _TICKS.findall(code)), default=0))
