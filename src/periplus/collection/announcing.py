"""Tells the parts what happened to a collection as a whole: a crawl ended, pages changed, an audit found faults."""

from __future__ import annotations

import time
from collections.abc import Mapping

from periplus.engine.part import CollectionEvent, OpenWork, Part

from .collection import CollectionSetup, states
from .crawl_parts import part_kinds, setup_of

CRAWL_ENDED, PAGES_CHANGED, NEW_FAULTS = "crawl.ended", "pages.changed", "audit.new_faults"


def announce(collection: CollectionSetup, event: str, data: Mapping[str, object]) -> None:
    """Tell every part that takes events. `data` has the facts; the collection is added."""
    known = {"collection": str(collection.folder), **data}
    for kind in _overriding("happened"):
        kind.happened(setup_of(collection), CollectionEvent(event, time.time(), known))


def open_work(collection: CollectionSetup) -> tuple[OpenWork, ...]:
    """What parts have left to do in a collection whose shards are closed, and no URL waits."""
    with states(collection.layout) as opened:
        setup, some = setup_of(collection), tuple(opened.values())
        return tuple(work for kind in _overriding("open_work") for work in kind.open_work(setup, some))


def _overriding(hook: str) -> list[type[Part]]:
    own = getattr(Part, hook).__func__
    return [kind for kind in part_kinds() if getattr(kind, hook).__func__ is not own]
