"""Scrapy's downloader in place of the crawl's wire, and a durable store of the requests of spiders.

In `ScrapyWire`, tasks wait until Scrapy takes them, and outcomes until the engine takes them. `Requests` keeps one
request for each URL as JSON on disk; requests without a JSON form (`encoded`) stay in memory and are lost with the
process.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import lmdb
from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict
from xxhash import xxh3_128_digest

from periplus.model import Clock, Excluded, Failed, FetchOutcome, FetchTask, Located, Purpose, Url
from periplus.urls import host_of

_NAME_LIFETIME = 3600.0
"""Seconds for which a name stands for an address: Scrapy looks names up itself."""


class ScrapyWire:
    """Tasks out, outcomes in. Names stand for addresses."""

    def __init__(self, clock: Clock, max_transfers: int, on_end: Callable[[], None]) -> None:
        """`on_end` is called whenever a task has ended: its site may be asked again."""
        self._on_end = on_end
        self._clock = clock
        self._most = max_transfers
        self._done: list[FetchOutcome] = []
        self._heads: dict[Url, bytes] = {}
        self._held: dict[Url, FetchOutcome] = {}
        self.open: dict[Url, FetchTask] = {}
        self.pages: deque[FetchTask] = deque()
        self.files: deque[FetchTask] = deque()

    @property
    def free_slots(self) -> int:
        """How many more tasks may be started now."""
        return max(0, self._most - len(self.open))

    @property
    def under_way(self) -> int:
        """How many tasks were started and have not ended."""
        return len(self.open)

    @property
    def has_ended(self) -> bool:
        """Whether the engine has outcomes to take."""
        return bool(self._done)

    def start(self, task: FetchTask) -> None:
        """Queue a task for Scrapy; one that needs only an address is answered at once."""
        if task.ip is None:
            self._done.append(Located(task, host_of(task.url), self._clock.now() + _NAME_LIFETIME))
            return
        self.open[task.url] = task
        (self.pages if task.purpose is Purpose.PAGE else self.files).append(task)

    def finished(self, timeout: float) -> list[FetchOutcome]:  # noqa: ARG002
        """What has ended; it never waits."""
        done, self._done = self._done, []
        return done

    def request_bytes(self, task: FetchTask) -> bytes:
        """The head of the request as Scrapy sent it."""
        return self._heads.pop(task.url, b"")

    def hold(self, outcome: FetchOutcome, head: bytes) -> None:
        """Keep an outcome until the spider is done with the response."""
        self._held[outcome.task.url] = outcome
        self._heads[outcome.task.url] = head

    def release(self, url: Url) -> None:
        """The spider is done with the response to a URL: its outcome counts."""
        outcome = self._held.pop(url, None)
        if outcome is not None:
            self.end(outcome)

    def end(self, outcome: FetchOutcome) -> None:
        """A task has ended."""
        if self.open.pop(outcome.task.url, None) is not None:
            self._done.append(outcome)
            self._on_end()

    def refuse(self, task: FetchTask, reason: str) -> None:
        """End a task as excluded, without a request of Scrapy."""
        self.end(Excluded(task, reason))

    def cancel_all(self) -> None:
        """Cancel everything; the outcomes are `cancelled`."""
        now = self._clock.now()
        self._done += [Failed(task, "cancelled", now, 0.0) for task in self.open.values()]
        for waiting in (self.open, self.pages, self.files, self._held, self._heads):
            waiting.clear()

    def wake(self) -> None:
        """Do nothing: nothing ever waits here."""

    def close(self) -> None:
        """Scrapy closes its own connections."""


MAX_REQUEST = 16 * 1024
"""Bytes of a request as JSON; larger ones stay in memory."""
_MAP_SIZE = 1 << 40
"""Bytes of address space, not of memory or disk: more than any frontier has requests."""
_KEY = 480
"""Bytes of a key: LMDB takes 511."""


class Requests:
    """Requests by URL, durable against the death of the process as soon as `put` returns."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._env = lmdb.open(str(folder), map_size=_MAP_SIZE, sync=False, max_spare_txns=2)
        self.in_memory: deque[Request] = deque()

    def put(self, requests: Iterable[tuple[Url, bytes]]) -> None:
        """Keep requests; of one URL the first counts."""
        with self._env.begin(write=True) as transaction:
            for url, body in requests:
                transaction.put(_key(url), body, overwrite=False)

    def get(self, url: Url, spider: Spider) -> Request | None:
        """The request for a URL, with callback and errback of the spider."""
        with self._env.begin(buffers=False) as transaction:
            body = transaction.get(_key(url))
        return None if body is None else request_from_dict(_restored(json.loads(body)), spider=spider)

    def raw(self, url: Url) -> bytes | None:
        """The same as it is kept."""
        with self._env.begin() as transaction:
            found: bytes | None = transaction.get(_key(url))
            return found

    def __contains__(self, url: Url) -> bool:
        return self.raw(url) is not None

    def close(self) -> None:
        """Write everything to the disk, and close."""
        self._env.sync(True)
        self._env.close()


def encoded(request: Request, spider: Spider) -> bytes | None:
    """A request as JSON; `None` if it has a callback without a name, or values that are not JSON, or is too large."""
    try:
        fields: dict[str, Any] = {name: getattr(request, name) for name in request.attributes}
        fields["callback"] = _method_name(spider, request.callback)
        fields["errback"] = _method_name(spider, request.errback)
        fields["body"] = request.body.decode("latin-1")
        fields["headers"] = {
            name.decode("latin-1"): [value.decode("latin-1") for value in values]
            for name, values in request.headers.items()
        }
        if type(request) is not Request:
            fields["_class"] = f"{type(request).__module__}.{type(request).__name__}"
        body = json.dumps(fields, ensure_ascii=False).encode()  # takes subclasses of str, too
    except (TypeError, ValueError, AttributeError):
        return None
    return body if len(body) <= MAX_REQUEST else None


def _method_name(spider: Spider, method: Any) -> str | None:
    """The name of a spider's method. Scrapy's own search looks at every attribute of the spider for each request."""
    if method is None:
        return None
    name: str = method.__name__
    if getattr(spider, name, None) != method:
        raise ValueError(f"{name} is not a method of the spider")
    return name


def _restored(fields: dict[str, Any]) -> dict[str, Any]:
    fields["body"] = fields["body"].encode("latin-1")
    fields["headers"] = {
        name.encode("latin-1"): [value.encode("latin-1") for value in values]
        for name, values in fields["headers"].items()
    }
    return fields


def _key(url: Url) -> bytes:
    data = url.encode()
    return data if len(data) <= _KEY else data[: _KEY - 16] + xxh3_128_digest(data)
