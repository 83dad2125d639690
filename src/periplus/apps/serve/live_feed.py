"""Streams the status of a crawl to any number of browsers, with one query to the crawl a second for all of them.

A view is one flat value, from the status of a running crawl or from the files of the collection. A feed keeps the
newest view and the last few notes. Each listener remembers the view it was sent last, and gets only the fields that
differ from the newest. A slow listener thus skips views, and memory does not grow with time.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from periplus.collection.control import ControlClient, NoCrawlRuns
from periplus.collection.facts.lookup import CollectionFacts, collection_facts
from periplus.model import Freshness, PeriplusError

from .served import Served, ServedCollection

View = dict[str, Any]
"""Fields by name. Numbers and texts, tables as `{reason: count}`, sites as a list."""
_REASONS = 20
"""Reasons of a table: the most frequent."""
TABLES = ("errors", "excluded", "refused", "sources", "types")


def view_of_status(status: dict[str, Any]) -> View:
    """The view of a crawl that runs. `status` is a `LiveStatus`, decoded."""
    progress, controls = status["progress"], status["controls"]
    tally, fresh = progress["tally"], progress["freshness"]
    state = "stopping" if status["is_stopping"] else "paused" if controls["is_paused"] else "running"
    if state == "running" and progress["cut_off"]:
        state = f"cut off: no server can be reached ({progress['cut_off']['reason']})"
    return {
        "state": state,
        "kind": status["kind"],
        **_counts(tally),
        "rate": round(progress["rate"], 1),
        "known": progress["known"],
        "queued": progress["queued"] - progress["queued_files"],
        "hosts": progress["sites"],
        "ready": progress["ready"] + progress["visited"],
        "resting": progress["resting"] - progress["backing_off"],
        "backing_off": progress["backing_off"],
        "elapsed": round(progress["elapsed"]),
        "left": status["time_left"],
        "limit": progress["limit"],
        "fresh": round(fresh["fresh"], 4) if fresh and fresh["checked"] and Freshness(**fresh).is_narrow else None,
        "pace": controls["rate"],
        "patterns_excluded": status["excluded"],
        "patterns_preferred": status["preferred"],
        "sites": [
            {name: site[name] for name in ("site", "stage", "queued", "pages", "bytes", "failures", "retired")}
            for site in status["sites"]
        ],
        "at": round(status["at"]),
    }


def view_of_facts(facts: CollectionFacts) -> View:
    """The view of a collection of which no crawl runs, as of its last commit."""
    fresh = facts.freshness
    return {
        "state": "no crawl runs",
        "kind": "",
        **_counts(msgspec.to_builtins(facts.tally)),
        "rate": 0.0,
        "known": facts.known,
        "queued": facts.queued,
        "hosts": facts.sites,
        "ready": 0,
        "resting": 0,
        "backing_off": 0,
        "elapsed": None,
        "left": "",
        "limit": 0,
        "fresh": round(fresh.fresh, 4) if fresh is not None and fresh.is_narrow else None,
        "pace": None,
        "patterns_excluded": [],
        "patterns_preferred": [],
        "sites": [
            {
                "site": line.site,
                "stage": "",
                "queued": line.queued,
                "pages": line.pages,
                "bytes": line.bytes,
                "failures": line.failures,
                "retired": line.retired,
            }
            for line in facts.largest
        ],
        "at": round(time.time()),
    }


def _counts(tally: dict[str, Any]) -> View:
    numbers = ("pages", "new", "changed", "same", "copies", "redirects", "fetches", "robots", "files")
    return {
        **{name: tally[name] for name in numbers},
        "bytes": tally["downloaded"],
        "error_count": sum(tally["errors"].values()),
        **{name: _most(tally[name]) for name in TABLES},
    }


def _most(counts: dict[str, int]) -> dict[str, int]:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[:_REASONS])


def changed_fields(before: View, now: View) -> View:
    """The fields that differ."""
    return {name: value for name, value in now.items() if name not in before or before[name] != value}


MAX_LISTENERS = 100
"""Browsers that listen at the same time, to all collections together."""
EVERY = 1.0
"""Seconds between two looks at a crawl that runs."""
EVERY_AT_REST = 10.0
"""Seconds between two looks at the files of a collection, which take longer than a question to a crawl."""
HEARTBEAT = 15.0
"""Seconds after which a comment is sent if nothing has changed: proxies close silent connections after 30 s or more."""
_NOTES = 50
"""Notes that are kept for slow listeners."""
_HISTORY = 300
"""Looks that a timeline shows: five minutes."""
_TIMELINES = 20
"""Sites whose requests and rests are shown over time: those with the longest queues."""
_STATES = {"resting": "r", "ready": "w", "busy": "b", "held": "h"}
"""The sign of a site's stage on its timeline; `x` is a rest after a failure, `-` that nothing is known."""
_CLIENT_TIMEOUT = 10.0
"""Seconds to wait for a crawl that is busy."""


class Timeline:
    """What a site did in each of the last looks: a sign for its stage, and a digit for its requests since the last."""

    def __init__(self) -> None:
        self._marks: deque[str] = deque(maxlen=_HISTORY)
        self._pages: int | None = None

    def add(self, site: dict[str, Any]) -> None:
        """Add the state of the site now."""
        state = "x" if site["stage"] == "resting" and site["failures"] else _STATES.get(site["stage"], "-")
        requests = 0 if self._pages is None else site["pages"] - self._pages
        self._pages = site["pages"]
        self._marks.append(f"{state}{min(max(requests, 0), 9)}")

    def __str__(self) -> str:
        return "".join(self._marks)


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
        self.rates: list[float] = []
        self.timelines: dict[str, Timeline] = {}

    async def current(self) -> View:
        """The newest view, at most a second old; ten seconds, if no crawl runs."""
        async with self._asking:
            age = time.monotonic() - self._looked_at
            if age >= (EVERY_AT_REST if self.view.get("kind") == "" else EVERY) * 0.9:
                view, setbacks, self.rates = await asyncio.to_thread(self._look)
                self._looked_at = time.monotonic()
                self._take(view, setbacks)
        return self.view

    def forget(self) -> None:
        """Discard the cached view, because something was changed: the next one is read again."""
        self._looked_at = -EVERY_AT_REST

    def _look(self) -> tuple[View, list[dict[str, Any]], list[float]]:
        try:
            status = self._client.ask("status")
            return view_of_status(status), status["progress"]["setbacks"], status["rates"]
        except (NoCrawlRuns, PeriplusError):
            return view_of_facts(collection_facts(self._collection.collection)), [], []

    def _take(self, view: View, setbacks: list[dict[str, Any]]) -> None:
        difference = changed_fields(self.view, view)
        self._step = encoded("status", difference)
        self.version += 1
        self.view = view
        self._draw_timelines(view)
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

    def _draw_timelines(self, view: View) -> None:
        """Continue the timelines of the sites that are shown, and drop those of others."""
        shown = view["sites"][:_TIMELINES] if view["kind"] else []
        self.timelines = {each["site"]: self.timelines.get(each["site"]) or Timeline() for each in shown}
        for each in shown:
            self.timelines[each["site"]].add(each)

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
