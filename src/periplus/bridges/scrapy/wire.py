"""Scrapy's downloader as a wire: tasks wait here until Scrapy takes them, outcomes until the engine does."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

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
        """Queue a task for Scrapy; one that asks for an address is answered at once."""
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
        """A task that Scrapy is not asked for."""
        self.end(Excluded(task, reason))

    def cancel_all(self) -> None:
        """Cancel everything; the outcomes are `cancelled`."""
        now = self._clock.now()
        self._done += [Failed(task, "cancelled", now, 0.0) for task in self.open.values()]
        for waiting in (self.open, self.pages, self.files, self._held, self._heads):
            waiting.clear()

    def wake(self) -> None:
        """Nothing ever waits here."""

    def close(self) -> None:
        """Scrapy closes its own connections."""
