"""The wire itself: libcurl's multi interface behind the port `Wire`, one thread, no asyncio.

Tasks without an address are looked up (`Located`), tasks with one are fetched from exactly there. What was started ends
in exactly one outcome, whatever happens: an answer, a limit, a cancellation, the end of the wire.

A sitemap, a feed or an archive can be read while it arrives: `arrived` has what came of it. That is a preview. What the
answer is worth is known from its outcome, which has the whole body: a transfer that breaks in the middle is `Failed`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import pycurl

from periplus.model import Clock, Excluded, Failed, FetchOutcome, FetchTask, InvariantError, Located
from periplus.urls import host_of

from .addresses import AddressGuard
from .dns import Answer, NoAddress, Resolver
from .head import WantedTypes
from .identity import Identity
from .limits import WireSettings
from .poller import Poller
from .reasons import PRIVATE_ADDRESS
from .request import Requests
from .transfer import Buffers, Transfer

_NAME_LIFETIME: Final = 3600.0


class CurlWire:
    """Fetches many tasks at once. Used from one thread, but for `wake`."""

    def __init__(
        self,
        settings: WireSettings | None = None,
        *,
        identity: Identity,
        clock: Clock,
        resolver: Resolver,
        guard: AddressGuard,
    ) -> None:
        self._settings = settings or WireSettings()
        self._clock = clock
        self._resolver = resolver
        self._guard = guard
        self._requests = Requests(identity, self._settings.accept_language)
        self._wanted = WantedTypes(self._settings.accept_types)
        self._buffers = Buffers(self._settings.max_buffered_bytes)
        self._idle = [self._make()]  # one beforehand, so that wrong settings are known now
        self._active: dict[Any, Transfer] = {}
        self._locating: dict[str, list[tuple[FetchTask, float]]] = {}
        self._lookups = 0
        self._done: list[FetchOutcome] = []
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, self._settings.max_idle_connections)
        self._poller = Poller(self._multi)
        self._is_closed = False
        resolver.on_answer = self._poller.wake

    @property
    def under_way(self) -> int:
        """Tasks that were started and have no outcome yet."""
        return len(self._active) + self._lookups

    @property
    def free_slots(self) -> int:
        """How many more tasks may be started now; none while memory is short."""
        if self._is_closed or self._buffers.held * 2 > self._buffers.most:
            return 0
        return max(0, self._settings.max_transfers - self.under_way)

    @property
    def buffered_bytes(self) -> int:
        """How much of unfinished bodies is in memory."""
        return self._buffers.held

    def request_bytes(self, task: FetchTask) -> bytes:
        """The request as it was or will be sent, for the archive."""
        return self._requests.head(task)

    def start(self, task: FetchTask) -> None:
        """Begin. The outcome comes from `finished`."""
        if self._is_closed or self.under_way >= self._settings.max_transfers:
            raise InvariantError("a task was started that there is no room for", hint="Ask free_slots first")
        if task.ip is None:
            self._locate(task)
        elif not self._settings.proxy and not self._guard.allows(task.ip):
            self._done.append(Excluded(task, PRIVATE_ADDRESS, task.ip))
        else:
            self._fetch(task)

    def finished(self, timeout: float) -> list[FetchOutcome]:
        """Wait at most `timeout` seconds for something to end, or to have `arrived`, or for somebody to call `wake`."""
        until = time.monotonic() + timeout
        arrived = self._buffers.arrived
        is_over = bool(self._done or arrived)
        while not self._is_closed:
            deadline = self._resolver.next_deadline()
            latest = until if deadline is None else min(until, deadline)
            woken = self._poller.turn(0.0 if is_over else latest)
            self._collect()
            is_over = bool(self._done or arrived) or woken or time.monotonic() >= until
            if is_over:
                break
        done, self._done = self._done, []
        return done

    def arrived(self) -> list[tuple[FetchTask, bytes]]:
        """What came since this was last asked of bodies that are read while they arrive, in order.

        That is of sitemaps, feeds and archives that were answered with 200, not encoded or gzipped. Ask after every
        `finished`, before its outcomes are looked at: then an outcome comes after all that arrived of it.
        """
        buffers = self._buffers
        if not buffers.arrived:
            return []
        parts, buffers.arrived, buffers.unasked = buffers.arrived, [], 0
        return parts

    def wake(self) -> None:
        """Let `finished` return at once. May be called from any thread and any signal handler."""
        if not self._is_closed:
            self._poller.wake()

    def cancel_all(self) -> None:
        """End everything that is under way, as `cancelled`; the outcomes come from `finished`."""
        for handle, transfer in self._active.items():
            self._multi.remove_handle(handle)
            transfer.ended_at = self._clock.now()
            self._done.append(transfer.failed("cancelled"))
            transfer.release()
            self._idle.append(transfer)
        self._active.clear()
        for waiting in self._locating.values():
            self._done += [Failed(task, "cancelled", started_at, 0.0) for task, started_at in waiting]
        self._locating.clear()
        self._lookups = 0

    def close(self) -> None:
        """Cancel everything and close every connection and the resolver; `finished` still gives the last outcomes."""
        if self._is_closed:
            return
        self.cancel_all()
        self._is_closed = True
        self._resolver.close()
        for transfer in self._idle:
            transfer.handle.close()
        self._idle.clear()
        self._multi.close()
        self._poller.close()

    # Finding out where.

    def _locate(self, task: FetchTask) -> None:
        host = host_of(task.url)
        now = self._clock.now()
        answer = self._resolver.known(host)
        if answer is not None:
            self._done.append(self._placed(task, answer, now))
        elif self._settings.proxy:
            # The proxy looks names up, and nobody tells us the address: the name stands for it.
            self._done.append(Located(task, host, now + _NAME_LIFETIME))
        else:
            self._locating.setdefault(host, []).append((task, now))
            self._lookups += 1
            self._resolver.ask(host)

    def _placed(self, task: FetchTask, answer: Answer, started_at: float) -> FetchOutcome:
        if isinstance(answer, NoAddress):
            took = max(0.0, self._clock.now() - started_at)
            return Failed(task, answer.reason, started_at, took, detail=answer.detail)
        if not self._guard.allows(answer.ip):
            return Excluded(task, PRIVATE_ADDRESS, answer.ip)
        return Located(task, answer.ip, answer.expires_at)

    # Fetching.

    def _fetch(self, task: FetchTask) -> None:
        transfer = self._idle.pop() if self._idle else self._make()
        transfer.begin(task, self._clock.now())
        self._active[transfer.handle] = transfer
        self._multi.add_handle(transfer.handle)

    def _make(self) -> Transfer:
        return Transfer(self._settings, self._requests, self._guard, self._wanted, self._buffers)

    def _collect(self) -> None:
        """Take what has ended from libcurl and from the resolver."""
        more = 1 if self._active else 0
        while more:
            more, well, badly = self._multi.info_read()
            for handle in well:
                self._end(handle, 0, "")
            for handle, code, message in badly:
                self._end(handle, code, message)
        if answers := self._resolver.answered():
            self._take_answers(answers)

    def _end(self, handle: Any, code: int, message: str) -> None:
        transfer = self._active.pop(handle)
        self._multi.remove_handle(handle)
        self._done.append(transfer.end(code, message, self._clock.now()))
        self._idle.append(transfer)

    def _take_answers(self, answers: Sequence[tuple[str, Answer]]) -> None:
        for host, answer in answers:
            waiting = self._locating.pop(host, ())
            self._lookups -= len(waiting)
            self._done += [self._placed(task, answer, started_at) for task, started_at in waiting]
