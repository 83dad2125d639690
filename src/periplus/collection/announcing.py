"""Sends what happened to a collection as a whole: a crawl ended, pages changed, an audit found faults."""

from __future__ import annotations

import time
from collections.abc import Mapping

from periplus.parts.forms.show import OpenWork, open_forms

from .collection import CollectionSetup, states
from .crawl_parts import setup_of

CRAWL_ENDED, PAGES_CHANGED, NEW_FAULTS = "crawl.ended", "pages.changed", "audit.new_faults"


def announce(collection: CollectionSetup, event: str, data: Mapping[str, object]) -> None:
    """Send webhooks, if a person named any. `data` has the facts; the collection is added."""
    if collection.config.webhooks.urls:
        from periplus.parts.webhooks.part import happened  # few collections have any

        happened(setup_of(collection), event, time.time(), {"collection": str(collection.folder), **data})


def open_work(collection: CollectionSetup) -> tuple[OpenWork, ...]:
    """What is left to do in a collection whose shards are closed, and no URL waits."""
    if not collection.config.forms.are_submitted:
        return ()
    with states(collection.layout) as opened:
        return open_forms(opened.values())
