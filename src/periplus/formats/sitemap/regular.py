r"""The fast reader of records that are as regular as a program writes them: nearly all of the web's.

Windows of records that all look alike are read by columns (`cells`). Where fields come and go, one pattern cuts the
window into records. What that does not know either it leaves in its last group: the gap up to the next record, which
the careful reader of `records` gets. So the three together read every character exactly once and in order, and whatever
is not certain to mean the same to all of them goes to the careful one.

`[^<]*+` costs a fifth of `[^<\s]*+`, which is why white space is looked for afterwards, in all URLs at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from .cells import Cells, ColumnCutter, Cut, Texts
from .extensions import NO_EXTENSIONS, EntryExtensions, PlainExtensions
from .fields import Fields, NotRegularError
from .outbox import Outbox
from .records import Records
from .values import Kind

_FIELDS = ("lastmod", "changefreq", "priority")
"""The fields that a record may have beside its URL; children of an index have only the first."""

_FIRST_FIELDS, _EXTENSIONS, _GAP = slice(4), 5, 6
"""The pattern's groups are the URL and these fields, and whatever follows them in the record; or, alone, a gap."""

_TAIL = 16 * 1024
"""Characters without the end of a record that wait for it before the careful reader gets them."""

_PATIENCE = 3
"""How many windows may turn out not to be uniform, or mostly not regular, before that is expected of all."""

_FEW = 16
"""Records with one that is not clean among them that all go to the careful reader: to look for it takes longer."""

_WORTH_COLUMNS = 4 * 1024
"""Characters below which setting up columns takes longer than it saves."""

_SECTION = "<![CDATA["
_PLAIN_SECTION = re.compile(r"(<[\w:]++>\s*+)<!\[CDATA\[([^<&\]\r]*+)\]\]>")


@lru_cache(maxsize=64)
def _pattern(prefix: str, record: str) -> re.Pattern[str]:
    """A regular record, or the gap up to the next that could be one."""
    p = re.escape(prefix)
    field = "|".join(f"{p}{name}>([^<]*+)</{p}{name}>" for name in _FIELDS)
    return re.compile(
        rf"\s*+<{p}{record}>\s*+<{p}loc>([^<]*+)</{p}loc>\s*+(?>(?:<(?:{field})\s*+){{0,8}})"
        rf"(?:</{p}{record}>|((?>(?:<(?!/?{p}{record}>)[^<]*+)+))</{p}{record}>)"
        rf"|((?s:.)[^<]*+(?>(?:<(?!{p}{record}>)[^<]*+)*))"
    )


class _Row(Struct, frozen=True, gc=False):
    """A record that has the right tags: as it was written, and its texts."""

    text: str
    fields: tuple[str, ...]
    extensions: EntryExtensions


class RegularRecords:
    """Reads one urlset or index, in portions of text, leaving to the careful reader what it must."""

    def __init__(self, kind: Kind, prefix: str, fields: Fields, outbox: Outbox, *, by_columns: bool = False) -> None:
        self._careful = Records(kind, fields, outbox)
        self._outbox = outbox
        self._is_index = kind is Kind.INDEX
        self._by_columns = by_columns
        prefix = f"{prefix}:" if prefix else ""
        record = "sitemap" if self._is_index else "url"
        self._begin = f"<{prefix}{record}>"
        self._end = f"</{prefix}{record}>"
        self._cutter = ColumnCutter(prefix, record, _FIELDS[:1] if self._is_index else _FIELDS)
        self._cells = Cells(fields.limits.text)
        self._extensions = PlainExtensions(fields)
        self._pattern = _pattern(prefix, record)
        self._loc_section = re.compile(rf"(<{re.escape(prefix)}loc>\s*+)<!\[CDATA\[([^<\]\r]*+)\]\]>")
        self._patience = self._steps_patience = _PATIENCE
        self._tail = ""

    @property
    def pending(self) -> int:
        """Characters that wait for what follows them."""
        return len(self._tail) + self._careful.pending

    def feed(self, text: str, *, is_last: bool = False) -> None:
        """Read more text."""
        text, self._tail = self._tail + text, ""
        start = self._catch_up(text)
        end = text.rfind(self._end, start)
        if end >= 0:
            end += len(self._end)
            self._read(text[start:end])
            start = end
        rest = text[start:]
        if is_last or len(rest) > _TAIL or not self._careful.is_between_records:
            self._careful.feed(rest, is_last=is_last)
        else:
            self._tail = rest

    def _catch_up(self, text: str) -> int:
        """Have the careful reader finish the record that it is in; returns where the next begins."""
        if self._careful.is_between_records:
            return 0
        end = text.find(self._end)
        stop = len(text) if end < 0 else end + len(self._end)
        if self._feed_careful(text[:stop], is_followed=False):
            return stop
        self._careful.feed(text[stop:])
        return len(text)

    def _feed_careful(self, text: str, *, is_followed: bool) -> bool:
        """Have the careful reader read on, perhaps up to a tag; returns whether it then is between records."""
        self._careful.feed(text, is_followed=is_followed)
        return self._careful.is_between_records

    def _read(self, window: str) -> None:
        """Read text that begins between records and ends with one."""
        if "!" in window and _SECTION in window:  # one character is looked for in no time
            window = self._without_sections(window)
        start = window.find(self._begin)
        if start < 0:
            self._careful.feed(window)
            return
        if window[:start].strip() and not self._feed_careful(window[:start], is_followed=True):
            self._careful.feed(window[start:])
            return
        window = window[start:]
        if not self._steps_patience:
            self._careful.feed(window)
        elif not self._read_uniform(window) and not self._read_varied(window):
            self._read_by_steps(window)

    def _without_sections(self, window: str) -> str:
        """The text with CDATA sections of URLs, and plain ones of others, written without them.

        Only if nothing else begins like a section: what looks like one in a comment, or in another, is none.
        """
        parts = self._loc_section.split(window)
        parts[2::3] = [url.replace("&", "&amp;") for url in parts[2::3]]
        plain = "".join(parts)
        if _SECTION in plain:
            plain = "".join(_PLAIN_SECTION.split(plain))
        return window if "<!" in plain or "<?" in plain else plain

    def _read_uniform(self, window: str) -> bool:
        if not self._patience or len(window) < _WORTH_COLUMNS:
            return False
        try:
            self._put(self._cutter.cut(window))
        except NotRegularError:
            self._patience -= 1
            return False
        return True

    def _read_varied(self, window: str) -> bool:
        rows = self._pattern.findall(window)
        try:
            *columns, extensions, gaps = zip(*rows, strict=True)
            if any(gaps):
                return False
            self._put_varied(columns, [self._extensions.read(text) for text in extensions] if any(extensions) else ())
        except NotRegularError:
            return False
        return True

    def _read_by_steps(self, window: str) -> None:
        """Read what is regular in runs, and what lies between them with care."""
        run: list[_Row] = []
        regular = 0
        for match in self._pattern.finditer(window):
            row = self._row(match)
            if row is not None:
                run.append(row)
                continue
            regular += self._read_run(run)
            run.clear()
            if not self._feed_careful(match[0], is_followed=True):
                self._careful.feed(window[match.end() :])
                break
        else:
            regular += self._read_run(run)
        if 2 * regular < len(window):
            self._steps_patience -= 1

    def _row(self, match: re.Match[str]) -> _Row | None:
        """A record that has the right tags; `None` for others, and for gaps."""
        if match.lastindex == _GAP:
            return None
        try:
            return _Row(match[0], match.groups("")[_FIRST_FIELDS], self._extensions.read(match[_EXTENSIONS] or ""))
        except NotRegularError:
            return None

    def _read_run(self, run: Sequence[_Row]) -> int:
        """Read records that have the right tags, but may have a value that is not clean: those with care.

        Returns how many characters were read without.
        """
        if not run:
            return 0
        try:
            columns = tuple(zip(*[row.fields for row in run], strict=True))
            self._put_varied(columns, [row.extensions for row in run])
        except NotRegularError:
            if len(run) <= _FEW:
                self._careful.feed("".join([row.text for row in run]))
                return 0
            half = len(run) // 2
            return self._read_run(run[:half]) + self._read_run(run[half:])
        return sum(len(row.text) for row in run)

    def _put_varied(self, columns: Sequence[tuple[str, ...]], extensions: Sequence[EntryExtensions]) -> None:
        urls, *fields = columns
        self._put(Cut(urls, dict(zip(_FIELDS, map(Texts, fields), strict=True))), extensions)

    def _put(self, cut: Cut, extensions: Sequence[EntryExtensions] = ()) -> None:
        if self._is_index:
            self._outbox.put_all(self._cells.children(cut))
        elif self._by_columns and not any(map(NO_EXTENSIONS.__ne__, extensions)):
            self._outbox.put_all(self._cells.columns(cut))
        else:
            self._outbox.put_all(self._cells.entries(cut, extensions))
