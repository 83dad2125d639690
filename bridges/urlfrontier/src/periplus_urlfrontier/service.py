"""Translates the calls of the URLFrontier API into those of `client_frontier`, which makes all decisions.

URLs that are never accepted are SKIPPED: not http, too long, with spaces, or with too much metadata. FAIL means that
the disk is full or the server stops: the client may send the same again. The metadata of a URL is stored as the bytes
of a `URLInfo` that has nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any, Final

from periplus.model import Clock, CollectionError
from periplus.urls import canonical
from periplus_urlfrontier.client_frontier import (
    MAX_GRANTED,
    MAX_GRANTED_BYTES,
    ClientFrontier,
    GrantedUrl,
    KnownUrl,
    SentUrl,
    size_of,
)
from periplus_urlfrontier.client_queues import ClientUrl

from .crawls import DEFAULT, Crawls
from .messages import FAIL, MESSAGES, OK, SKIPPED
from .worker import Closing, Refusal, Worker

DEFAULT_LEASE: Final = 30.0
"""Seconds for which a URL is hidden after `GetURLs` if the client does not say."""
MAX_URL: Final = 2_000
"""Characters of a URL; longer ones are SKIPPED."""
MAX_KEY: Final = 255
"""Characters of the key of a queue: more than a host name has."""
MAX_METADATA_KEYS: Final = 64
"""Keys of the metadata of a URL."""
MAX_METADATA: Final = 16 * 1024
"""Bytes of the metadata of a URL, keys and values together."""
MAX_BATCH: Final = 10_000
"""URLs of one `DiscoveredBatch`."""
MAX_GATHERED: Final = 2 * 2**20
"""Bytes of messages of one stream that wait for a commit; no further message is read until they are durable."""
_SLICE: Final = 2_000
"""URLs that are listed, counted or deleted in one step, during which other clients wait."""
_QUEUES: Final = 100
"""Queues of a list if the client does not say how many, as the API has it."""
_MAX_QUEUES: Final = 10_000
"""Queues of one list."""
_DAY: Final = 86_400.0
_LEVELS: Final = (logging.DEBUG, logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)

_SHAPE: Final = re.compile(
    r"https?://(?:[^/?#@\s]*@)?(\[[0-9a-f:.]+\]|[^/?#:@\s\x00-\x1f\x7f\[\]]+)(?::\d{0,5})?(?:[/?#][^\x00-\x20\x7f]*)?",
    re.IGNORECASE,
)
"""An http URL without spaces and control characters; its group is the host."""

_Info, _Item, _Known = MESSAGES["URLInfo"], MESSAGES["URLItem"], MESSAGES["KnownURLItem"]
_Ack, _BatchAck, _Long, _Empty = MESSAGES["AckMessage"], MESSAGES["BatchAck"], MESSAGES["Long"], MESSAGES["Empty"]


class Unknown(Refusal):
    """A call names something that does not exist."""


class TooMuch(Refusal):
    """A message exceeds a bound."""


class Service:
    """One method for each call, named after it; those of streams yield messages in bytes."""

    def __init__(self, crawls: Crawls, worker: Worker, clock: Clock, *, node: str, is_canonical: bool = False) -> None:
        self._crawls, self._worker, self._clock = crawls, worker, clock
        self._node, self._is_canonical = node, is_canonical
        self._is_active = True
        self._turn = 0

    # URLs in

    def put_urls(self, requests: AsyncIterator[Any]) -> AsyncIterator[bytes]:
        """PutURLs: an acknowledgement for each item, in order."""
        return self._acknowledged(requests, self._put_items, lambda item: _Ack(ID=_id_of(item), status=FAIL))

    def put_discovered(self, requests: AsyncIterator[Any]) -> AsyncIterator[bytes]:
        """PutDiscovered: an acknowledgement for each batch, in order, with a status for each of its URLs."""
        return self._acknowledged(
            requests, self._put_batches, lambda batch: _BatchAck(ID=batch.ID, statuses=[FAIL] * len(batch.items))
        )

    async def _acknowledged(
        self, requests: AsyncIterator[Any], put: Callable[[list[Any]], list[bytes]], refused: Callable[[Any], Any]
    ) -> AsyncIterator[bytes]:
        """Put what a client sends while it goes on sending: all that came during one commit is in the next."""
        inbox = _Inbox()
        reader = asyncio.create_task(inbox.read(requests))
        try:
            while messages := await inbox.next():
                try:
                    answers = await self._worker.do(partial(put, messages), durable=True)
                except (CollectionError, Closing):
                    answers = [refused(message).SerializeToString() for message in messages]
                for answer in answers:
                    yield answer
            await reader
        finally:
            reader.cancel()

    def _put_items(self, items: list[Any]) -> list[bytes]:
        now = self._clock.now()
        answers = []
        discovered: dict[str, list[SentUrl]] = {}
        for item in items:
            kind = item.WhichOneof("item")
            info = item.known.info if kind == "known" else item.discovered.info
            crawl = info.crawlID
            found = self._found(info) if kind else None
            answers.append(_Ack(ID=item.ID or info.url, status=SKIPPED if found is None else OK).SerializeToString())
            if found is None:
                continue
            if kind == "known":
                frontier = self._crawls.frontier(crawl)
                frontier.discover(discovered.pop(crawl, ()), now)  # this URL may be among them
                frontier.report(found, float(item.known.refetchable_from_date), now)
            else:
                discovered.setdefault(crawl, []).append(found)
        for crawl, urls in discovered.items():
            self._crawls.frontier(crawl).discover(urls, now)
        return answers

    def _put_batches(self, batches: list[Any]) -> list[bytes]:
        now = self._clock.now()
        answers = []
        discovered: dict[str, list[SentUrl]] = {}
        for batch in batches:
            statuses = []
            for info in batch.items:
                found = self._found(info)
                statuses.append(SKIPPED if found is None else OK)
                if found is not None:
                    discovered.setdefault(info.crawlID, []).append(found)
            answers.append(_BatchAck(ID=batch.ID, statuses=statuses).SerializeToString())
        for crawl, urls in discovered.items():
            self._crawls.frontier(crawl).discover(urls, now)
        return answers

    def _found(self, info: Any) -> SentUrl | None:
        """A URL that can be taken; `None`: it never can."""
        url, host = info.url, _host_of(info.url)
        key = info.key or host
        if not host or len(key) > MAX_KEY:
            return None
        note = b""
        if info.metadata:
            if len(info.metadata) > MAX_METADATA_KEYS:
                return None
            kept = _Info()
            kept.CopyFrom(info)
            for field in ("url", "key", "crawlID"):
                kept.ClearField(field)
            note = kept.SerializeToString()
            if len(note) > MAX_METADATA:
                return None
        return SentUrl(key, url, self._identity(url), note) if self._crawls.admits(info.crawlID) else None

    def _identity(self, url: str) -> str:
        return (canonical(url) or url) if self._is_canonical else url

    # URLs out

    async def get_urls(self, params: Any) -> AsyncIterator[bytes]:
        """GetURLs: those that are due now; it does not wait for more."""
        granted = await self._worker.do(partial(self._take, params), durable=False)
        for crawl, each in granted:
            info = _Info.FromString(each.note)
            info.url, info.key, info.crawlID = each.url, each.key, crawl
            yield info.SerializeToString()

    def _take(self, params: Any) -> list[tuple[str, GrantedUrl]]:
        if not self._is_active:
            return []
        crawls = [params.crawlID or DEFAULT]
        if params.HasField("anyCrawlID"):
            names = self._crawls.names
            self._turn += 1
            crawls = [names[(self._turn + each) % len(names)] for each in range(len(names))]
        lease = float(params.delay_requestable) or DEFAULT_LEASE
        now, granted = self._clock.now(), list[tuple[str, GrantedUrl]]()
        queues = params.max_queues
        for crawl in crawls:
            frontier = self._crawls.existing(crawl)
            if frontier is None:
                continue
            left = queues - len({(crawl, each.key) for crawl, each in granted}) if queues else 0
            if queues and left <= 0:
                break
            room = MAX_GRANTED - len(granted)
            some = frontier.take(left, params.max_urls_per_queue, params.key, lease, now, room)
            granted += [(crawl, each) for each in some]
            if len(granted) >= MAX_GRANTED or size_of(each for _, each in granted) >= MAX_GRANTED_BYTES:
                break
        return granted

    # queues

    async def block_queue_until(self, params: Any) -> Any:
        """BlockQueueUntil."""
        return await self._set(params.crawlID, lambda frontier: frontier.block(_key_of(params), float(params.time)))

    async def set_delay(self, params: Any) -> Any:
        """SetDelay."""
        if len(params.key) > MAX_KEY:
            raise TooMuch(f"the key has more than {MAX_KEY} characters")
        delay = float(params.delay_requestable)
        return await self._set(params.crawlID, lambda frontier: frontier.set_delay(params.key, delay))

    async def set_crawl_limit(self, params: Any) -> Any:
        """SetCrawlLimit."""
        if not await self._worker.do(partial(self._set_limit, params), durable=True):
            raise Unknown(f"no queue {params.key!r}")
        return _Empty()

    def _set_limit(self, params: Any) -> bool:
        frontier = self._crawls.existing(params.crawlID)
        return frontier is not None and frontier.set_limit(params.key, params.limit)

    async def _set(self, crawl: str, change: Callable[[ClientFrontier], None]) -> Any:
        def step() -> None:
            if not self._crawls.admits(crawl):
                raise TooMuch("the crawl ID is too long, or there are too many crawls")
            change(self._crawls.frontier(crawl))

        await self._worker.do(step, durable=True)
        return _Empty()

    async def list_queues(self, params: Any) -> Any:
        """ListQueues."""
        size = min(params.size or _QUEUES, _MAX_QUEUES)

        def listed(frontier: ClientFrontier) -> tuple[list[str], int]:
            return frontier.list_queues(params.start, size, self._clock.now(), is_any=params.include_inactive)

        names, total = await self._ask(params.crawlID, listed, ([], 0))
        crawl = params.crawlID or DEFAULT
        return MESSAGES["QueueList"](values=names, total=total, start=params.start, size=len(names), crawlID=crawl)

    async def get_stats(self, params: Any) -> Any:
        """GetStats: of a queue, or of a crawl."""
        totals = await self._ask(params.crawlID, lambda frontier: frontier.totals(params.key, self._clock.now()), None)
        stats = MESSAGES["Stats"](crawlID=params.crawlID or DEFAULT)
        if totals is not None:
            stats.size, stats.inProcess, stats.numberOfQueues = totals.waiting, totals.out, totals.queues
            stats.counts["completed"], stats.counts["active_queues"] = totals.done, totals.active_queues
        return stats

    async def delete_queue(self, params: Any) -> Any:
        """DeleteQueue, in slices."""
        total, removed = 0, _SLICE
        while removed == _SLICE:
            removed = await self._ask(
                params.crawlID, lambda frontier: frontier.delete_some(params.key, _SLICE), 0, durable=True
            )
            total += removed
        return _Long(value=total)

    # stored URLs

    async def get_url_status(self, params: Any) -> Any:
        """GetURLStatus."""
        key = params.key or _host_of(params.url)
        identity = self._identity(params.url)
        row = await self._ask(params.crawlID, lambda frontier: frontier.status(key, identity), None)
        if row is None:
            raise Unknown(f"{params.url[:MAX_URL]} is not known")
        return _item(params.crawlID or DEFAULT, key, row)

    async def list_urls(self, params: Any) -> AsyncIterator[bytes]:
        """ListURLs: in the order of queues, not of granting."""
        skipped, left = 0, params.size or _QUEUES
        async for each in self._matching(params):
            if skipped < params.start:
                skipped += 1
                continue
            yield _item(params.crawlID or DEFAULT, each.key, each.row).SerializeToString()
            left -= 1
            if left == 0:
                return

    async def count_urls(self, params: Any) -> Any:
        """CountURLs."""
        if not params.filter:
            totals = await self._ask(
                params.crawlID, lambda frontier: frontier.totals(params.key, self._clock.now()), None
            )
            return _Long(value=0 if totals is None else totals.waiting + totals.done)
        count = 0
        async for _ in self._matching(params):
            count += 1
        return _Long(value=count)

    async def _matching(self, params: Any) -> AsyncIterator[KnownUrl]:
        """The URLs of a queue or a crawl that contain the filter."""
        wanted = params.filter.lower() if params.ignoreCase else params.filter
        after = b""
        while True:
            page: Sequence[KnownUrl] = await self._ask(params.crawlID, _pager(params.key, after), ())
            for each in page:
                url = each.row.url
                if wanted in (url.lower() if params.ignoreCase else url):
                    yield each
            if len(page) < _SLICE:
                return
            after = page[-1].place

    async def purge_urls(self, params: Any) -> Any:
        """PurgeURLs, in slices."""
        before = self._clock.now() - params.days * _DAY
        total, after, is_begun = 0, b"", False
        while after or not is_begun:
            is_begun = True
            removed, after = await self._ask(params.crawlID, _purger(params.key, before, after), (0, b""), durable=True)
            total += removed
        return _Long(value=total)

    async def _ask(
        self, crawl: str, question: Callable[[ClientFrontier], Any], otherwise: Any, *, durable: bool = False
    ) -> Any:
        """Ask the frontier of a crawl; `otherwise` if there is no such crawl, which is not begun."""

        def step() -> Any:
            frontier = self._crawls.existing(crawl)
            return otherwise if frontier is None else question(frontier)

        return await self._worker.do(step, durable=durable)

    # crawls and the server

    async def list_crawls(self, _params: Any) -> Any:
        """ListCrawls."""
        names = await self._worker.do(lambda: self._crawls.names, durable=False)
        return MESSAGES["StringList"](values=names)

    async def delete_crawl(self, params: Any) -> Any:
        """DeleteCrawl."""
        return _Long(value=await self._worker.do(lambda: self._crawls.delete(params.value), durable=True))

    async def list_nodes(self, _params: Any) -> Any:
        """ListNodes: this one."""
        return MESSAGES["StringList"](values=[self._node])

    async def set_active(self, params: Any) -> Any:
        """SetActive: of the server, until it is stopped."""
        self._is_active = params.state
        return _Empty()

    async def get_active(self, _params: Any) -> Any:
        """GetActive."""
        return MESSAGES["Boolean"](state=self._is_active)

    async def set_log_level(self, params: Any) -> Any:
        """SetLogLevel: of a logger that exists; of any other name, that of this bridge."""
        name = params.package if params.package in logging.root.manager.loggerDict else "periplus_urlfrontier"
        logging.getLogger(name).setLevel(_LEVELS[min(params.level, len(_LEVELS) - 1)])
        return _Empty()


class _Inbox:
    """Messages of a client that are not yet put, bounded by their size in bytes."""

    def __init__(self) -> None:
        self._messages: deque[Any] = deque()
        self._size = 0
        self._is_ended = False
        self._arrived, self._has_room = asyncio.Event(), asyncio.Event()

    async def read(self, requests: AsyncIterator[Any]) -> None:
        try:
            async for message in requests:
                if len(getattr(message, "items", ())) > MAX_BATCH:
                    raise TooMuch(f"a batch has more than {MAX_BATCH:,} URLs")
                self._messages.append(message)
                self._size += message.ByteSize()
                self._arrived.set()
                while self._size > MAX_GATHERED:
                    self._has_room.clear()
                    await self._has_room.wait()
        finally:
            self._is_ended = True
            self._arrived.set()

    async def next(self) -> list[Any]:
        """All messages that have arrived; empty: the stream has ended."""
        while not self._messages and not self._is_ended:
            self._arrived.clear()
            await self._arrived.wait()
        messages = list(self._messages)
        self._messages.clear()
        self._size = 0
        self._has_room.set()
        return messages


def _host_of(url: str) -> str:
    """The host of a URL that can be taken; empty for any other."""
    shape = _SHAPE.fullmatch(url) if len(url) <= MAX_URL else None
    return shape[1].lower() if shape else ""


def _pager(key: str, after: bytes) -> Callable[[ClientFrontier], list[KnownUrl]]:
    return lambda frontier: frontier.page(key, after, _SLICE)


def _purger(key: str, before: float, after: bytes) -> Callable[[ClientFrontier], tuple[int, bytes]]:
    return lambda frontier: frontier.purge_some(key, before, after, _SLICE)


def _key_of(params: Any) -> str:
    key: str = params.key
    if not key or len(key) > MAX_KEY:
        raise TooMuch(f"the key of a queue has 1 to {MAX_KEY} characters")
    return key


def _id_of(item: Any) -> str:
    """The id by which a client recognises the acknowledgement of an item."""
    return str(item.ID or (item.known if item.WhichOneof("item") == "known" else item.discovered).info.url)


def _item(crawl: str, key: str, row: ClientUrl) -> Any:
    """A stored URL as a message; the date is when it may be fetched, 0: it is done."""
    info = _Info.FromString(row.note)
    info.url, info.key, info.crawlID = row.url, key, crawl
    known = _Known(info=info, refetchable_from_date=int(row.due or 0))
    return _Item(known=known, creation_date=int(row.created))
