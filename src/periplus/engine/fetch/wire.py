"""The wire itself: libcurl's multi interface behind the port `Wire`, one thread, no asyncio.

Tasks without an address are looked up (`Located`), tasks with one are fetched from exactly that address. If no
connection to it can be made and the host has another one, the outcome is `Located`, too: politeness is to be applied
to that one before it is asked. Every task that was started ends in exactly one outcome: an answer, a limit, a
cancellation, or the closing of the wire.

The address is checked for the site of the task's URL (`AddressGuard`) when a task is looked up, when it is started, and
when the connection is opened. The URL decides, not `task.site`: a robots.txt that another site redirected to is fetched
on behalf of one site from the address of the other.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import pycurl
from msgspec.structs import replace

from periplus.model import (
    Clock,
    Excluded,
    Failed,
    Fetched,
    FetchOutcome,
    FetchTask,
    InvariantError,
    Located,
    Redirected,
)
from periplus.urls import host_of, site_of

from ..frontier.politeness import NO_CONNECTION
from .addresses import AddressGuard, has_bad_port, special_block
from .connections import Connections
from .dns import Answer, HostAddress, NoAddress, Resolver
from .head import WantedTypes
from .http3 import Http3, is_supported
from .limits import WireSettings
from .poller import Poller
from .proxies import MOST_TRIED, Proxies, Proxy
from .reasons import PRIVATE_ADDRESS, TIMED_OUT, TOO_SLOW
from .request import NO_CREDENTIALS, CrawlerIdentity, Credentials, HeaderFields, Requests, RequestSigner
from .transfer import LARGE, BrokenHttp2, Buffers, Transfer

if TYPE_CHECKING:
    from .session import Session

_NAME_LIFETIME: Final = 3600.0
"""Seconds for which a name stands for the address of its site behind a proxy: as long as a resolved address is kept."""


_MAX_SIGNATURES: Final = 10_000
"""Signatures that wait for their requests to be archived: far more than a wire has answers at a time."""

_NOTICED: Final = 0.1
"""Seconds of work on a large answer after which others come first, for as long as it took."""

_LOOK_EVERY: Final = 1.0
"""Seconds between two looks at how fast answers come. Longer ones, when we were busy, count as one second."""


class CurlWire:
    """Fetches many tasks at once. Used from one thread, but for `wake`."""

    def __init__(
        self,
        settings: WireSettings | None = None,
        *,
        identity: CrawlerIdentity,
        clock: Clock,
        resolver: Resolver,
        guard: AddressGuard,
        credentials: Credentials = NO_CREDENTIALS,
        browser: str = "",
        session: Session | None = None,
        signer: RequestSigner | None = None,
    ) -> None:
        """`browser` is the `User-Agent` of probes that compare what browsers get."""
        self._signer = signer
        self._signatures: dict[int, tuple[FetchTask, HeaderFields]] = {}
        self._settings = settings or WireSettings()
        self._clock = clock
        self._resolver = resolver
        self._guard = guard
        self._requests = Requests(identity, self._settings.accept_language, credentials, browser, session)
        self._proxies = Proxies(self._settings, credentials.proxy)
        self._ways: dict[Transfer, list[Proxy]] = {}  # those that were tried for a task, the current one last
        self._wanted = WantedTypes(self._settings.accept_types)
        self._buffers = Buffers(self._settings.max_buffered_bytes)
        self._broken_http2 = BrokenHttp2()
        self._connections = Connections()
        wants_http3 = self._settings.http3 == "advertised" and not self._settings.is_proxied and is_supported()
        self._http3 = Http3() if wants_http3 else None
        self._ended = self._taken = 0  # bytes of small bodies that ended, and of those that `finished` returned last
        self._read = 0  # bytes of the large one that it returned
        self._returned_at = self._large_at = 0.0  # when that was, and when the next large one may be returned
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, self._settings.max_idle_connections)
        self._poller = Poller(self._multi, self._collect)
        self._idle = [self._make()]  # made now, so that wrong settings are reported now
        self._active: dict[Any, Transfer] = {}
        self._locating: dict[str, list[tuple[FetchTask, float]]] = {}
        self._lookups = 0
        self._looked_at = 0.0
        self._done: list[FetchOutcome] = []
        self._large: deque[Fetched | Redirected] = deque()
        self._is_closed = False
        resolver.on_answer = self._poller.wake

    @property
    def under_way(self) -> int:
        """Number of tasks that were started and have no outcome yet."""
        return len(self._active) + self._lookups + len(self._large)

    @property
    def free_slots(self) -> int:
        """How many more tasks may be started now; 0 while most of `max_buffered_bytes` is in use."""
        if self._is_closed or self._buffers.held * 8 > self._buffers.most * 7:
            return 0
        return max(0, self._settings.max_transfers - self.under_way)

    @property
    def buffered_bytes(self) -> int:
        """Bytes of bodies in memory: unfinished ones, and those of outcomes until the next call of `finished`."""
        return self._buffers.held

    def request_bytes(self, task: FetchTask) -> bytes:
        """The request as it is sent, without credentials, for the archive."""
        sent, signature = self._signatures.pop(id(task), (task, ())) if self._signatures else (task, ())
        return self._requests.head(task, signature if sent is task else ())

    def start(self, task: FetchTask) -> None:
        """Start a task. `finished` returns its outcome."""
        if self._is_closed or self.under_way >= self._settings.max_transfers:
            raise InvariantError("a task was started without a free slot", hint="Ask free_slots first")
        if task.ip is None:
            self._locate(task)
        elif not self._may_connect(task, task.ip):
            self._done.append(Excluded(task, PRIVATE_ADDRESS, task.ip))
        elif self._resolver.failed_until(task.ip) and (located := self._elsewhere(task, task.ip)):
            self._done.append(located)
        else:
            self._fetch(task)

    def finished(self, timeout: float) -> list[FetchOutcome]:
        """Wait at most `timeout` seconds until a task ends or `wake` is called. Of large answers one is returned.

        The caller is done with what the last call returned: its bodies count as held until now.
        """
        self._buffers.held -= self._taken
        self._buffers.free(self._read)
        now = time.monotonic()
        if self._read and now - self._returned_at > _NOTICED:
            self._large_at = now + (now - self._returned_at)
        self._read = 0
        until = time.monotonic() + timeout
        is_over = bool(self._done) or self._is_large_due()
        while not self._is_closed:
            deadline = self._resolver.next_deadline()
            latest = until if deadline is None else min(until, deadline)
            latest = min(latest, self._large_at) if self._large else latest
            latest = min(latest, self._looked_at + _LOOK_EVERY) if self._active else latest
            woken = self._poller.turn(0.0 if is_over else latest)
            if answers := self._resolver.answered():
                self._take_answers(answers)
            self._end_slow()
            is_over = bool(self._done) or self._is_large_due() or woken or time.monotonic() >= until
            if is_over:
                break
        if self._is_large_due():
            outcome = self._large.popleft()
            self._read = len(outcome.body)
            self._done.append(outcome)
        done, self._done = self._done, []
        self._taken, self._ended = self._ended, 0
        self._returned_at = time.monotonic()
        return done

    def _is_large_due(self) -> bool:
        """Whether a large answer may be returned: after the work on one, others come first for as long as it took."""
        return bool(self._large) and time.monotonic() >= self._large_at

    def wake(self) -> None:
        """Make `finished` return at once. May be called from any thread and any signal handler."""
        if not self._is_closed:
            self._poller.wake()

    def cancel_all(self) -> None:
        """End everything that is under way as `cancelled`; `finished` returns the outcomes."""
        for handle, transfer in self._active.items():
            self._multi.remove_handle(handle)
            transfer.ended_at = self._clock.now()
            self._done.append(transfer.failed("cancelled"))
            transfer.release()
            self._idle.append(transfer)
        self._active.clear()
        self._poller.transfers = 0
        self._ways.clear()
        for outcome in self._large:
            self._buffers.free(len(outcome.body))
            self._buffers.hold(len(outcome.body), 0)
            self._ended += len(outcome.body)
        self._done += self._large
        self._large.clear()
        for waiting in self._locating.values():
            self._done += [Failed(task, "cancelled", started_at, 0.0) for task, started_at in waiting]
        self._locating.clear()
        self._lookups = 0

    def close(self) -> None:
        """Cancel everything and close every connection and the resolver; `finished` still returns the last outcomes."""
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

    # Addresses.

    def _may_connect(self, task: FetchTask, ip: str) -> bool:
        """Whether a task may be fetched from an address; behind a proxy, a name may stand for it."""
        site = site_of(task.url)
        if self._proxies and not self._guard.allows_by_name(site):
            return False
        is_name = bool(self._proxies) and ip == host_of(task.url)
        return is_name or self._guard.allows(site, ip)

    def _locate(self, task: FetchTask) -> None:
        host = host_of(task.url)
        now = self._clock.now()
        answer = self._resolver.known(host)
        if answer is None and self._proxies:  # the proxy looks names up: the name stands for the address
            answer = HostAddress(host, now + _NAME_LIFETIME)
        if answer is not None:
            self._done.append(self._placed(task, answer, now))
        else:
            self._locating.setdefault(host, []).append((task, now))
            self._lookups += 1
            self._resolver.ask(host)

    def _placed(self, task: FetchTask, answer: Answer, started_at: float) -> FetchOutcome:
        if isinstance(answer, NoAddress):
            took = max(0.0, self._clock.now() - started_at)
            return Failed(task, answer.reason, started_at, took, detail=answer.detail)
        ip = next((ip for ip in answer.all if self._may_connect(task, ip)), None)
        if ip is None:
            return Excluded(task, PRIVATE_ADDRESS, answer.ip)
        if has_bad_port(site_of(task.url)) and special_block(ip) is None:  # a special one was opened for its port
            return Failed(task, "bad-url", started_at, 0.0, detail="the port belongs to another protocol")
        return Located(task, ip, answer.expires_at)

    def _elsewhere(self, task: FetchTask, failed: str) -> Located | None:
        """Another address of the host of a task, which has not failed since this one has."""
        host = host_of(task.url)
        answer = None if self._proxies else self._resolver.known(host)
        if isinstance(answer, HostAddress):
            latest = self._resolver.failed_until(failed)
            for ip in answer.all:
                if ip != failed and self._resolver.failed_until(ip) <= latest and self._may_connect(task, ip):
                    self._resolver.leave(host, failed)
                    return Located(task, ip, answer.expires_at)
        return None

    def moved(self, outcome: FetchOutcome) -> FetchOutcome:
        """The outcome; `Located` if no connection could be made and the host has another address to try.

        Without another one, the host is looked up again when it is needed next.
        """
        task = outcome.task
        if self._proxies or task.ip is None or not isinstance(outcome, Failed) or outcome.reason not in NO_CONNECTION:
            return outcome
        self._resolver.failed(task.ip)
        located = self._elsewhere(task, task.ip)
        if located is None:
            self._resolver.forget(host_of(task.url))
        return located or outcome

    # Fetching.

    def _fetch(self, task: FetchTask) -> None:
        now = self._clock.now()
        proxy = None
        if self._proxies:
            proxy = self._proxies.of(site_of(task.url), now)
            if proxy is None:
                self._done.append(Failed(task, "proxy", now, 0.0, detail=self._proxies.why_none(now)))
                return
        transfer = self._idle.pop() if self._idle else self._make()
        if proxy is not None:
            self._ways[transfer] = [proxy]
        self._begin(transfer, task, now, "" if proxy is None else proxy.url)

    def _begin(self, transfer: Transfer, task: FetchTask, now: float, proxy: str) -> None:
        transfer.begin(task, now, proxy)
        self._active[transfer.handle] = transfer
        self._multi.add_handle(transfer.handle)
        self._poller.transfers += 1

    def _make(self) -> Transfer:
        return Transfer(
            self._settings,
            self._requests,
            self._guard,
            self._wanted,
            self._buffers,
            self._broken_http2,
            self._connections,
            self._http3,
            self._signer,
            self._poller,
        )

    def _collect(self) -> None:
        """Collect the transfers that have ended."""
        more = 1 if self._active else 0
        while more:
            more, well, badly = self._multi.info_read()
            for handle in well:
                self._end(handle, 0, "")
            for handle, code, message in badly:
                self._end(handle, code, message)

    def _end_slow(self) -> None:
        """End the transfers whose answers come too slowly, if it is time to look."""
        now = time.monotonic()
        if now >= self._looked_at + _LOOK_EVERY:
            self._looked_at = now
            for handle in [one for one, transfer in self._active.items() if transfer.is_too_slow()]:
                self._end(handle, TIMED_OUT, TOO_SLOW)

    def _end(self, handle: Any, code: int, message: str) -> None:
        transfer = self._active.pop(handle)
        transfer.end_doubtful_connection()
        self._multi.remove_handle(handle)
        self._poller.transfers -= 1
        outcome = transfer.end(code, message, self._clock.now())
        if self._ways and self._goes_another_way(transfer):
            return
        self._idle.append(transfer)
        if self._signer is not None:
            if not transfer.signature and self._signer.is_asked(outcome):
                self._fetch(outcome.task)
                return
            outcome = self._signed(outcome, transfer.signature, self._signer.key)
        if not isinstance(outcome, Fetched | Redirected):
            self._done.append(self.moved(outcome) if isinstance(outcome, Failed) else outcome)
            return
        size = len(outcome.body)
        if size < LARGE:
            self._buffers.held += size
            self._ended += size
            self._done.append(outcome)
        else:
            self._buffers.hold(size, size)
            self._large.append(outcome)

    def _goes_another_way(self, transfer: Transfer) -> bool:
        """Whether a task whose proxy opened no connection is sent again through another one."""
        tried, now, task = self._ways.pop(transfer), self._clock.now(), transfer.task
        if not transfer.is_unproxied:
            self._proxies.worked(tried[-1])
            return False
        self._proxies.failed(tried[-1], now)
        proxy = self._proxies.of(site_of(task.url), now, tried) if len(tried) < MOST_TRIED else None
        if proxy is None:
            return False
        self._ways[transfer] = [*tried, proxy]
        self._begin(transfer, task, now, proxy.url)
        return True

    def _signed(self, outcome: FetchOutcome, signature: HeaderFields, key: str) -> FetchOutcome:
        """An outcome with the key that its request was signed with; the signature is kept for the archive."""
        if not signature or isinstance(outcome, Excluded | Located):
            return outcome
        if not isinstance(outcome, Failed):
            self._signatures[id(outcome.task)] = outcome.task, signature
            if len(self._signatures) > _MAX_SIGNATURES:  # of probes, which are not archived
                del self._signatures[next(iter(self._signatures))]
        return replace(outcome, signing_key=key)

    def _take_answers(self, answers: Sequence[tuple[str, Answer]]) -> None:
        for host, answer in answers:
            waiting = self._locating.pop(host, ())
            self._lookups -= len(waiting)
            self._done += [self._placed(task, answer, started_at) for task, started_at in waiting]
