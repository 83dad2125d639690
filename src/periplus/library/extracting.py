"""Extractors: functions that make items of pages, called with every page once, while it is stored or later.

A loop over a crawl calls its extractor itself (`crawling`). `Extraction` does the same for a crawl without a loop, such
as that of the command line; both remember in the collection which pages were handled.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from periplus.engine.plugins import EXTRACTORS, load_plugin
from periplus.model import ConfigError, UsageError
from periplus.store.export.captures import Arrivals, Capture, find_original
from periplus.store.items import ItemWriter
from periplus.store.layout import Layout
from periplus.store.tables import Spooled

from .crawling import Handover, items_of
from .page import Page

if TYPE_CHECKING:
    from periplus.engine.shard import ShardStatus

    from .crawling import Extract


def load_extractor(name: str) -> Extract:
    """The function `module:function`, whose module may be in the current folder. Raises `ConfigError`.

    A name without a colon is an entry point in the group `periplus.extractors`.
    """
    module, colon, function = name.partition(":")
    if not colon:
        return cast("Extract", load_plugin(EXTRACTORS, name))
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = import_module(module)
        for part in function.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever the module raises while it is imported
        raise ConfigError(
            f"--extract {name[:100]}: {type(error).__name__}: {error}",
            hint="name a function as module:function, of an installed package or of a file in this folder",
        ) from error
    if not callable(found):
        raise ConfigError(f"--extract {name[:100]} is not a function", hint="name a function of one argument, the page")
    return cast("Callable[[Page], Any]", found)


class Extraction:
    """Calls a function with every page that a crawl stores, and writes what it returns into the table `items`."""

    def __init__(self, layout: Layout, extract: Extract) -> None:
        self._layout = layout
        self._extract = extract
        self._spooled: tuple[Spooled, ...] = layout.spooled
        self._handover = Handover(layout, self._spooled, extracts=True)
        self._items = ItemWriter(layout.tables)
        self._arrivals = Arrivals(layout.tables, self._handover.positions)
        self._handover.save()

    def follow(self, statuses: Sequence[ShardStatus]) -> None:
        """Handle what the shards have committed since the last call. Raises `UsageError` if the function fails."""
        marks = {shard.shard: shard for shard in self._spooled}
        for status in statuses:
            marks[status.shard] = Spooled(status.shard, self._layout.spool(status.shard), status.tables)
        self._take(tuple(marks[number] for number in sorted(marks)))

    def finish(self) -> None:
        """Handle the rest, after the last shard has closed."""
        self._take(self._layout.spooled)
        self.save()

    def save(self) -> None:
        """Items first: their file has the positions, too, so a crash in between extracts no page twice."""
        self._items.flush(self._handover.positions)
        self._handover.save()

    def _take(self, spooled: tuple[Spooled, ...]) -> None:
        self._spooled = spooled
        try:
            for arrival in self._arrivals.take(spooled):
                page = Page(arrival.capture, self._layout.warc, self._with_body)
                self._items.add(arrival.capture.url, page.fetched_at, items_of(self._extract, page), time.time())
                self._handover.handled(arrival.shard, arrival.position)
                if self._items.is_full or self._handover.is_due:
                    self.save()
        except UsageError:
            self.save()
            raise

    def _with_body(self, capture: Capture) -> Capture:
        return find_original(self._layout.tables, self._spooled, capture)
