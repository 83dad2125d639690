"""A watch as a program runs it: it visits pages again within its budget, and the program iterates over the changes.

Changes are looked for in the tables when shards have committed, at most every `LEAST_PAUSE` seconds, and not more often
than a tenth of the time allows. A visit counts as new if it was committed after the last look, as in an export of what
changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, Self

from periplus.apps.changes import changes_since, detail_of
from periplus.apps.export.changed import first_unseen
from periplus.collection.collection import CollectionSetup
from periplus.collection.progress import Progress
from periplus.collection.summary import Summary
from periplus.engine.plugins import OwnParts
from periplus.model import UsageError
from periplus.store.export.captures import Positions, ends
from periplus.store.tables import Spooled

from .crawling import Crawl, Extract
from .extracting import Extraction
from .page_change import PageChange

LEAST_PAUSE: Final = 1.0
"""Seconds between two looks for changes, at least."""
_SHARE: Final = 10.0
"""A look is followed by a pause of this many times its duration."""


class Watch:
    """A watch that was planned and begins with the block: `with docs.watch() as watch: for change in watch: ...`.

    Leaving the block stops it gracefully, as does `stop`; everything is kept. `summary` is there after the block.
    """

    def __init__(
        self, saved: CollectionSetup, now: CollectionSetup, parts: OwnParts, *, extract: Extract | None, diff: bool
    ) -> None:
        self._saved = saved
        self._layout = now.layout
        self._crawl = Crawl(now, parts, watches=True)
        self._extract = extract
        self._extraction: Extraction | None = None
        self._diff = diff
        self._positions: Positions = {}
        self._seen: set[tuple[str, float]] = set()

    def __enter__(self) -> Self:
        """Begin, or continue."""
        spooled = self._layout.spooled
        self._positions = ends(spooled)
        if self._extract is not None:
            self._extraction = Extraction(self._layout, self._extract)
        self._crawl.__enter__()
        try:
            self._saved.save()
        except BaseException as error:
            self._crawl.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop gracefully if it is not over, and keep everything. An error of the watch itself is raised here."""
        self._crawl.__exit__(kind, error, trace)
        if self._extraction is not None and error is None:
            self._extraction.finish()

    def stop(self) -> None:
        """Stop soon: no new requests, those under way end. Any thread may call this."""
        self._crawl.stop()

    def run(self, tell: Callable[[PageChange], None]) -> Summary:
        """Watch to the end, and call a function with each change."""
        with self:
            for change in self:
                tell(change)
        return self.summary

    @property
    def summary(self) -> Summary:
        """What was done, after the block."""
        return self._crawl.summary

    @property
    def progress(self) -> Progress:
        """How far the watch is, with the freshness of the collection."""
        return self._crawl.progress

    def __iter__(self) -> Iterator[PageChange]:
        """What appeared, changed and vanished, as it is found, until the watch is over."""
        if not self._crawl.has_begun:
            raise UsageError("the watch has not begun", hint="with docs.watch() as watch: for change in watch: ...")
        next_at, spooled = 0.0, None
        for spooled in self._crawl.commits():
            if self._extraction is not None:
                self._extraction.take(spooled)
            if time.monotonic() >= next_at:
                began = time.monotonic()
                yield from self._changes(spooled)
                took = time.monotonic() - began
                next_at = time.monotonic() + max(LEAST_PAUSE, _SHARE * took)
        if spooled is not None:
            yield from self._changes(spooled)

    def _changes(self, spooled: tuple[Spooled, ...]) -> list[PageChange]:
        """The changes that were committed since the last look."""
        since = first_unseen(self._layout.tables, self._positions, spooled)
        self._positions = ends(spooled)
        if since is None:
            return []
        found = list(changes_since(self._layout.folder, since, spooled=spooled))
        seen, self._seen = self._seen, {(change.url, change.seen_at) for change in found}
        return [
            PageChange(change, detail_of(self._layout.folder, change) if self._diff else None)
            for change in found
            if (change.url, change.seen_at) not in seen
        ]
