"""Reading a sitemap of any kind from bytes that are still arriving: the stages, and the one loop around them.

    chunks -> inflate -> charset -> windows of text -> sniff -> regular records | feeds | lists -> outbox -> values

Every stage is a pull, so a caller that stops asking stops the reading, and no stage holds more than a window. An empty
chunk means that nothing has arrived yet: it passes through every stage as an empty piece, and comes out as an empty
portion of values. So a caller that must not block reads by `portions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Protocol

from periplus.model import Lastmod, Problem

from .charset import decode
from .feeds import FeedItems, TextList
from .fields import Fields
from .inflate import inflate
from .outbox import Outbox, Part
from .regular import RegularRecords
from .sniff import Sniffed, sniff
from .values import Child, Entry, Kind, Limits

WINDOW = 128 * 1024
"""Characters that are read in one step, at most."""

DEFAULT_LIMITS = Limits()


class Reader(Protocol):
    """Reads the text of one kind of document."""

    @property
    def pending(self) -> int:
        """Characters that wait for what follows them."""

    def feed(self, text: str, *, is_last: bool = False) -> None:
        """Read more text."""


class ColumnReading:
    """One sitemap, read when asked for; and, as they become known, its kind and its own date.

    `portions` are what each chunk or window gives: nothing, where nothing has arrived yet. Where records are regular
    their entries come as `EntryColumns`, else one by one; which of them do depends on how the bytes arrive.
    """

    def __init__(self, chunks: Iterable[bytes], url: str, limits: Limits, *, by_columns: bool = True) -> None:
        self.kind: Kind | None = None
        self.length = 0
        """Characters that were read."""
        self._outbox = Outbox(limits)
        self._fields = Fields(url, self._outbox, limits)
        self._reader: Reader | None = None
        self._by_columns = by_columns
        self._head = ""
        self.portions: Iterator[Sequence[Part]] = self._read(chunks, limits)

    @property
    def lastmod(self) -> Lastmod | None:
        """The time of the last change by a feed's own date. Sitemaps have none; their index does."""
        return self._reader.lastmod if isinstance(self._reader, FeedItems) else None

    @property
    def gone(self) -> list[Entry]:
        """The pages that a feed reports as deleted, with the time of that; known at the end."""
        return self._reader.gone if isinstance(self._reader, FeedItems) else []

    def _read(self, chunks: Iterable[bytes], limits: Limits) -> Iterator[Sequence[Part]]:
        texts = decode(inflate(chunks, self._outbox, limits), self._outbox)
        for text, is_last in self._windows(texts):
            if text:
                self.length += len(text)
                self._feed(text)
            if is_last and not self._is_done:
                self._outbox.report_late()
                self._feed("", is_last=True)
            yield self._outbox.drain()
            if self._is_done:
                break
        yield self._outbox.summary()

    @property
    def _is_done(self) -> bool:
        """Whether nothing that follows matters."""
        return self._outbox.is_full or (self.kind is not None and self._reader is None)

    def _windows(self, texts: Iterator[str]) -> Iterator[tuple[str, bool]]:
        """Text as it arrives, but never less than what already waits: so nothing is looked at more than a few times.

        Where it is less, the window is empty.
        """
        waiting: list[str] = []
        size = 0
        for text in texts:
            if text:
                waiting.append(text)
                size += len(text)
            if size >= min(WINDOW, self._pending):
                yield "".join(waiting), False
                waiting, size = [], 0
            else:
                yield "", False
        yield "".join(waiting), True

    @property
    def _pending(self) -> int:
        return len(self._head) if self._reader is None else self._reader.pending

    def _feed(self, text: str, *, is_last: bool = False) -> None:
        if self._reader is not None:
            self._reader.feed(text, is_last=is_last)
            return
        self._head += text
        sniffed = sniff(self._head, is_last=is_last, complain=self._outbox.complain)
        if sniffed is None:
            return
        self.kind = sniffed.kind
        if "<!ENTITY" in self._head[: sniffed.start]:
            self._fields.refuse_entities()
        if sniffed.kind is not Kind.HTML and sniffed.start < len(self._head):
            self._reader = self._reader_of(sniffed)
            self._reader.feed(self._head[sniffed.start :], is_last=is_last)
        self._head = ""

    def _reader_of(self, sniffed: Sniffed) -> Reader:
        if sniffed.kind in (Kind.RSS, Kind.ATOM):
            return FeedItems(self._fields, self._outbox)
        if sniffed.kind is Kind.TEXT:
            return TextList(self._fields, self._outbox)
        return RegularRecords(sniffed.kind, sniffed.prefix, self._fields, self._outbox, by_columns=self._by_columns)


class Reading(ColumnReading, Iterator[Entry | Child | Problem]):
    """The values of one sitemap, each by itself. `portions` are the same in lists."""

    portions: Iterator[Sequence[Entry | Child | Problem]]

    def __init__(self, chunks: Iterable[bytes], url: str, limits: Limits) -> None:
        super().__init__(chunks, url, limits, by_columns=False)
        self._values = chain.from_iterable(self.portions)

    def __iter__(self) -> Iterator[Entry | Child | Problem]:
        return self._values

    def __next__(self) -> Entry | Child | Problem:
        return next(self._values)


def read(chunks: Iterable[bytes] | bytes, url: str = "", limits: Limits = DEFAULT_LIMITS) -> Reading:
    """Entries, children and problems of the sitemap at `url`, whatever its form, while its bytes arrive.

    Never raises for what the bytes are. Iterate over the result; its `kind` and `lastmod` are known afterwards.
    """
    return Reading((chunks,) if isinstance(chunks, bytes) else chunks, url, limits)


def read_columns(chunks: Iterable[bytes] | bytes, url: str = "", limits: Limits = DEFAULT_LIMITS) -> ColumnReading:
    """`read` with the values of regular records by columns, in the same order: in half the time, for many at once."""
    return ColumnReading((chunks,) if isinstance(chunks, bytes) else chunks, url, limits)
