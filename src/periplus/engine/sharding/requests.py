"""Requests of other threads to a running crawl: URLs to take, controls to follow, questions to answer.

Any thread puts a request and gets a future; the thread that runs the crawl takes requests between two steps. A future
of an announcement is done when its URLs are committed, one of controls when every shard follows them, and one of a
question when every shard has answered. Announcements that arrive within `ANNOUNCE_EVERY` are committed together, so
that a flood of pings does not become a flood of commits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any, Protocol

from msgspec import Struct

from periplus.model import CollectionError, Discovery, PeriplusError, Url

from ..shard import Controls, Shard, ShardQuestion, ShardView
from .messages import Reply

ANNOUNCE_EVERY = 0.25
"""Seconds between two commits for announcements, at least: four commits a second cost a few percent of a core."""
MAX_WAITING = 10_000
"""Requests that may wait, beyond which one is refused: a bound, far above what clients can have under way."""


class Announce(Struct, frozen=True):
    """URLs to be taken durably. `places` join the scope first."""

    discoveries: tuple[Discovery, ...]
    places: tuple[Url, ...] = ()


Request = Announce | Controls | ShardQuestion


class Team(Protocol):
    """The shards, as far as requests need them."""

    def announce(self, discoveries: Sequence[Discovery], /) -> int:
        """Send each to the shard that has its site; the number of the announcement."""

    def has_kept(self, number: int, /) -> bool:
        """Whether every shard has committed this announcement and all before it."""

    def extend_scope(self, places: Sequence[Url], /) -> None:
        """Take these places into the scope of every shard."""

    def control(self, controls: Controls, /) -> None:
        """Send these controls to every shard."""

    @property
    def follows_controls(self) -> bool:
        """Whether every shard follows the last controls."""

    def ask(self, number: int, question: ShardQuestion, /) -> int:
        """Send a question to all shards; how many will answer."""

    def replies(self) -> list[Reply]:
        """The replies since this was last called."""


class Requests:
    """The requests that wait. `wake` lets the crawl look at once."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Request, Future[Any]]] = SimpleQueue()
        self._announcements: list[tuple[Announce, Future[Any]]] = []
        self._announce_at = 0.0
        self._is_closed = False
        self.wake: Callable[[], None] = lambda: None

    def put(self, request: Request) -> Future[Any]:
        """Ask; the result is for the caller's thread to wait for."""
        future: Future[Any] = Future()
        if self._is_closed or self._waiting.qsize() >= MAX_WAITING:
            future.set_exception(_ended() if self._is_closed else _busy())
            return future
        self._waiting.put((request, future))
        self.wake()
        return future

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return self._waiting.empty() and not self._announcements

    def take(self) -> list[tuple[Request, Future[Any]]]:
        """Take the requests to handle now; announcements that came soon after others wait a moment."""
        taken: list[tuple[Request, Future[Any]]] = []
        while not self._waiting.empty():
            request, future = self._waiting.get()
            if isinstance(request, Announce):
                self._announcements.append((request, future))
            else:
                taken.append((request, future))
        now = time.monotonic()
        if self._announcements and now >= self._announce_at:
            self._announce_at = now + ANNOUNCE_EVERY
            taken += self._announcements
            self._announcements = []
        return taken

    def take_controls(self) -> list[tuple[Request, Future[Any]]]:
        """Take the controls only, which hold from the first request on if the crawl has not begun."""
        waiting = [self._waiting.get() for _ in range(self._waiting.qsize())]
        for each in waiting:
            if not isinstance(each[0], Controls):
                self._waiting.put(each)
        return [each for each in waiting if isinstance(each[0], Controls)]

    def close(self) -> None:
        """The crawl has ended: what waits fails, and so does what is asked from now on."""
        self._is_closed = True
        while not self._waiting.empty():
            self._waiting.get()[1].set_exception(_ended())
        for _, future in self._announcements:
            future.set_exception(_ended())
        self._announcements.clear()


def answer_alone(shard: Shard, taken: Sequence[tuple[Request, Future[Any]]]) -> None:
    """Do what was asked of a crawl that is one shard, in this process."""
    announced: list[tuple[Announce, Future[Any]]] = []
    for request, future in taken:
        match request:
            case Announce():
                announced.append((request, future))
            case Controls():
                _run(future, partial(shard.set_controls, request))
            case ShardQuestion():
                _run(future, partial(_views, shard, request))
    if announced:
        places = [place for request, _ in announced for place in request.places]
        if places:
            shard.extend_scope(places)
        shard.discover([each for request, _ in announced for each in request.discoveries])
        for _, future in announced:
            future.set_result(None)


def _views(shard: Shard, question: ShardQuestion) -> list[ShardView]:
    return [shard.view(question)]


def _run(future: Future[Any], work: Callable[[], object]) -> None:
    """Our own errors are the caller's to handle; all others end the crawl."""
    try:
        future.set_result(work())
    except PeriplusError as error:
        future.set_exception(error)


class TeamRequests:
    """The requests to a crawl of several shards that are not done yet."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._announced: list[tuple[int, Future[Any]]] = []
        self._controlled: list[Future[Any]] = []
        self._asked: dict[int, tuple[int, list[ShardView], Future[Any]]] = {}
        self._last = 0

    def begin(self, taken: Sequence[tuple[Request, Future[Any]]]) -> None:
        """Send what was asked to the shards."""
        for request, future in taken:
            try:
                self._begin(request, future)
            except PeriplusError as error:
                future.set_exception(error)

    def _begin(self, request: Request, future: Future[Any]) -> None:
        match request:
            case Announce(discoveries=discoveries, places=places):
                if places:
                    self._team.extend_scope(places)
                self._announced.append((self._team.announce(discoveries), future))
            case Controls():
                self._team.control(request)
                self._controlled.append(future)
            case ShardQuestion():
                self._last += 1
                shards = self._team.ask(self._last, request)
                self._asked = dict(list(self._asked.items())[-MAX_WAITING:])
                self._asked[self._last] = shards, [], future
                self._settle_question(self._last)

    def settle(self) -> None:
        """Resolve what the shards have done by now."""
        kept = [(number, future) for number, future in self._announced if self._team.has_kept(number)]
        for number, future in kept:
            future.set_result(None)
            self._announced.remove((number, future))
        if self._controlled and self._team.follows_controls:
            for future in self._controlled:
                future.set_result(None)
            self._controlled = []
        for reply in self._team.replies():
            if reply.number in self._asked:
                self._asked[reply.number][1].append(reply.view)
                self._settle_question(reply.number)

    def _settle_question(self, number: int) -> None:
        shards, views, future = self._asked[number]
        if len(views) >= shards:
            del self._asked[number]
            future.set_result(views)

    def close(self) -> None:
        """The crawl has ended. What was announced is kept by the shards, which commit before they end."""
        self.settle()
        waiting = [*(future for _, future in self._announced), *self._controlled]
        for future in [*waiting, *(asked[2] for asked in self._asked.values())]:
            future.set_exception(_ended())
        self._announced, self._controlled, self._asked = [], [], {}


def _ended() -> CollectionError:
    return CollectionError("the crawl has ended", hint="run the same command again: it continues")


def _busy() -> CollectionError:
    return CollectionError("too many requests wait for this crawl", hint="ask again in a moment")
