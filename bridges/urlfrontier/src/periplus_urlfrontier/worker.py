"""The thread that works on the frontiers: steps one after another, and one commit for all that wait for it.

LMDB's writer belongs to one thread. While a commit waits for the disk, steps of other clients gather, and share the
next commit. A step that only grants URLs is answered without a commit: if the process ends before the next one, the
leases are lost, and the URLs are granted again.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from periplus.model import CollectionError

from .crawls import Crawls

_STEPS: Final = 512
"""Steps between two commits, at most."""
_INTERVAL: Final = 1.0
"""Seconds between two commits of changes that no client waits for."""

_log = logging.getLogger(__name__)

T = TypeVar("T")

_Step = tuple[Callable[[], Any], "asyncio.Future[Any]", bool]


class Refusal(Exception):  # noqa: N818 - reads as what is the case
    """A request of a client cannot be done; the text gives the reason."""


class Closing(Refusal):
    """The server stops and accepts nothing more."""


class Worker:
    """Runs steps in a thread of its own, in the order in which they came."""

    def __init__(self, crawls: Crawls) -> None:
        """Must be made in the event loop whose clients are answered."""
        self._crawls = crawls
        self._loop = asyncio.get_running_loop()
        self._steps: queue.SimpleQueue[_Step | None] = queue.SimpleQueue()
        self._is_closing = False
        self._committed_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="frontier")
        self._thread.start()

    async def do(self, step: Callable[[], T], *, durable: bool) -> T:
        """Run a step; with `durable` return after the commit. Raises what the step or the commit raises."""
        if self._is_closing:
            raise Closing("the server stops")
        future: asyncio.Future[T] = self._loop.create_future()
        self._steps.put((step, future, durable))
        return await future

    async def close(self) -> None:
        """Finish the steps that wait, commit, and end the thread."""
        self._is_closing = True
        self._steps.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        is_open = True
        while is_open:
            steps, is_open = self._next_steps()
            answers, waiting = self._do_all(steps)
            self._send(answers)
            if waiting or not steps or time.monotonic() >= self._committed_at + _INTERVAL:
                self._commit(waiting)
        self._crawls.close()

    def _next_steps(self) -> tuple[list[_Step], bool]:
        """The steps that wait, or none after a while; and whether there may be more."""
        steps: list[_Step] = []
        try:
            step = self._steps.get(timeout=_INTERVAL)
            while step is not None:
                steps.append(step)
                if len(steps) >= _STEPS:
                    return steps, True
                step = self._steps.get_nowait()
        except queue.Empty:
            return steps, True
        if steps:
            self._steps.put(None)  # for the round after this one, which commits
        return steps, bool(steps)

    def _do_all(self, steps: list[_Step]) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]:
        """The answers to send now, and those to send after a commit."""
        answers: list[tuple[Any, Any]] = []
        waiting: list[tuple[Any, Any]] = []
        for step, future, durable in steps:
            try:
                (waiting if durable else answers).append((future, step()))
            except CollectionError as error:
                _log.error("%s", error)
                self._crawls.drop_all()
                waiting = [(each, error) for each, _ in waiting]
                answers.append((future, error))
            except Refusal as error:
                answers.append((future, error))
            except Exception as error:  # a bug in one step must not end the thread
                _log.exception("a call failed")
                answers.append((future, error))
        return answers, waiting

    def _commit(self, waiting: list[tuple[Any, Any]]) -> None:
        try:
            self._crawls.commit()
        except CollectionError as error:
            _log.error("%s", error)
            waiting = [(future, error) for future, _ in waiting]
        except Exception as error:  # clients would wait forever for a thread that has ended
            _log.exception("a commit failed")
            waiting = [(future, error) for future, _ in waiting]
        self._committed_at = time.monotonic()
        self._send(waiting)

    def _send(self, answers: list[tuple[Any, Any]]) -> None:
        if answers:
            self._loop.call_soon_threadsafe(_resolve, answers)


def _resolve(answers: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, answer in answers:
        if future.done():  # its client has gone
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
