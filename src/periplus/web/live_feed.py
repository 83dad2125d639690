"""The status of crawls, once a second to any number of browsers: one question to the crawl for all of them.

A feed is asked by its listeners, and asks the crawl at most once a second. It keeps the newest view and the last few
notes; each listener remembers which view it was sent last and gets the fields that differ from the newest one. So a
slow listener skips what it missed, and memory does not grow with listeners or time.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from periplus.assembly.control import ControlClient, NoCrawlRuns
from periplus.assembly.facts import collection_facts
from periplus.model import PeriplusError

from .live_view import View, changed_fields, view_of_facts, view_of_status
from .served import Served, ServedCollection

MAX_LISTENERS = 100
"""Browsers that listen at the same time, to all collections together."""
EVERY = 1.0
"""Seconds between two looks at a crawl that runs."""
EVERY_AT_REST = 10.0
"""Seconds between two looks at the files of a collection, which take longer than a question to a crawl."""
HEARTBEAT = 15.0
"""Seconds after which a comment is sent if nothing has changed: proxies close silent connections after 30 s or more."""
_NOTES = 50
"""Notes that are kept for listeners who were slow."""
_HISTORY = 300
"""Samples of pages and rate that a new page begins its curves with: five minutes."""
_CLIENT_TIMEOUT = 10.0
"""Seconds to wait for a crawl that is busy."""


class LiveFeed:
    """The views of one collection."""

    def __init__(self, collection: ServedCollection) -> None:
        self._collection = collection
        self._client = ControlClient(collection.folder, timeout=_CLIENT_TIMEOUT)
        self._asking = asyncio.Lock()
        self._looked_at = -EVERY_AT_REST
        self._step = b""
        self._setbacks: dict[str, str] = {}
        self.version = 0
        self.view: View = {}
        self.notes: deque[tuple[int, str]] = deque(maxlen=_NOTES)
        self.history: deque[tuple[int, int, float]] = deque(maxlen=_HISTORY)

    async def current(self) -> View:
        """The newest view, at most a second old; ten seconds, if no crawl runs."""
        async with self._asking:
            age = time.monotonic() - self._looked_at
            if age >= (EVERY_AT_REST if self.view.get("kind") == "" else EVERY) * 0.9:
                view, setbacks = await asyncio.to_thread(self._look)
                self._looked_at = time.monotonic()
                self._take(view, setbacks)
        return self.view

    def forget(self) -> None:
        """Something was changed: look again when the next view is asked for."""
        self._looked_at = -EVERY_AT_REST

    def _look(self) -> tuple[View, list[dict[str, Any]]]:
        try:
            status = self._client.ask("status")
            return view_of_status(status), status["progress"]["setbacks"]
        except (NoCrawlRuns, PeriplusError):
            return view_of_facts(collection_facts(self._collection.collection)), []

    def _take(self, view: View, setbacks: list[dict[str, Any]]) -> None:
        difference = changed_fields(self.view, view)
        self._step = encoded("status", difference)
        self.version += 1
        self.view = view
        self.history.append((view["at"], view["pages"], view["rate"]))
        reasons = {each["site"]: each["reason"] for each in setbacks}
        for site, reason in reasons.items():
            if self._setbacks.get(site) != reason:
                self._note(f"{site}: {reason}")
        for site in view["sites"]:
            if site["retired"] and f"retired {site['site']}" not in self._setbacks:
                reasons[f"retired {site['site']}"] = site["retired"]
                self._note(f"{site['site']} was given up: {site['retired']}")
        kept = {name: reason for name, reason in self._setbacks.items() if name.startswith("retired ")}
        self._setbacks = dict(list({**kept, **reasons}.items())[-1000:])

    def _note(self, text: str) -> None:
        self.notes.append((self._last_note + 1, text))

    async def listen(self, served: Served) -> AsyncIterator[bytes]:
        """What a listener is sent: first the whole view, then what changes."""
        sent: View = {}
        version, noted, quiet_since = -1, self._last_note, time.monotonic()
        while not served.stopping.is_set():
            await self.current()
            part = b""
            if version != self.version:
                part = self._step if version == self.version - 1 else encoded("status", changed_fields(sent, self.view))
                part += b"".join(encoded("note", {"text": text}) for number, text in self.notes if number > noted)
                version, sent, noted = self.version, self.view, self._last_note
            if not part and time.monotonic() - quiet_since >= HEARTBEAT:
                part = b": still here\n\n"
            if part:
                quiet_since = time.monotonic()
                yield part
            await asyncio.sleep(EVERY)

    @property
    def _last_note(self) -> int:
        return self.notes[-1][0] if self.notes else 0

    def close(self) -> None:
        """Close the connection to the crawl."""
        self._client.close()


def encoded(kind: str, fields: View) -> bytes:
    """A server-sent event; nothing, if there are no fields."""
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), msgspec.json.encode(fields)) if fields else b""


class Feeds:
    """The feeds of all collections of a server, and how many listen to them."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._feeds = {name: LiveFeed(collection) for name, collection in served.collections.items()}
        self.listeners = 0

    def of(self, collection: ServedCollection) -> LiveFeed:
        """The feed of a collection."""
        return self._feeds[collection.name]

    def close(self) -> None:
        """Close all connections."""
        for feed in self._feeds.values():
            feed.close()
