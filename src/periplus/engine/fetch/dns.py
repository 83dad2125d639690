"""Names to addresses: the system's resolver, called in threads with a time limit, and a cache of its answers.

A site gets one address and keeps it while it works, because politeness is counted by address: a name with sixteen
addresses is still one server. Addresses that this machine has a route to come first, and IPv4 before IPv6. On renewal
the address stays the same if it is still among the answers. After a failed connection a name gets another address of
its answer, each once; with none left it is looked up again. For `failure_lifetime` an address that failed goes behind
the others of every name.

The system's resolver does not report how long an answer is valid, so answers are kept for a fixed time and failures
for a shorter one.

Reasons of `NoAddress`:

- `dns-not-found`: the name does not exist, has no address, or is not a valid name.
- `dns-unavailable`: the name server failed or could not be reached.
- `dns-timeout`: no answer within the time limit.

A fixed table goes before everything else: `{"www.lab.test": "127.0.0.7", "*.lab.test": "127.0.0.1"}`.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Annotated, Final

from msgspec import Struct, field
from msgspec.structs import replace

from periplus.model import Clock, ConfigError
from periplus.model.flags import HOW, PERSONAL, REQUESTS, Flag

from .addresses import NamePatterns, literal_address

LookUp = Callable[[str], Sequence[str]]
"""All addresses of a name. Raises as `socket.getaddrinfo` does."""

_NOT_FOUND: Final = {
    getattr(socket, name) for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY") if hasattr(socket, name)
}


_MAX_ADDRESSES: Final = 8
"""Addresses of a name that are kept: each may cost the time limit of a connection before a page has failed."""


class ResolverSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How names are looked up and how long answers are kept. Times are in seconds."""

    hosts: Annotated[
        dict[str, str],
        Flag(
            "--resolve",
            "Use this address for a host instead of DNS; *.NAME: all subdomains. May be repeated.",
            "NAME=IP",
            HOW,
            REQUESTS,
        ),
        PERSONAL,
    ] = field(default_factory=dict)
    """Fixed addresses by name, which may be private; `*.example.org` stands for every name below, and the longest
    entry wins."""
    timeout: float = 10.0
    """Time limit of a lookup."""
    lifetime: float = 3600.0
    """How long an address is kept, if connections to it can be made."""
    not_found_lifetime: float = 300.0
    """The same for a name that does not exist."""
    failure_lifetime: float = 60.0
    """The same for a lookup that failed. For as long, an address that failed is tried after others."""
    max_names: int = 20_000
    """Maximum answers in the cache."""
    threads: int = 16
    """Maximum lookups at a time."""

    def __post_init__(self) -> None:
        for name, address in self.hosts.items():
            if literal_address(address) is None:
                raise ConfigError(f"hosts: {address!r} is not an address", hint=f'Write "{name}" = "192.0.2.1"')


class HostAddress(Struct, frozen=True, gc=False):
    """The address of a host, until when it is valid, and the host's other addresses, the preferred ones first."""

    ip: str
    expires_at: float
    others: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every address, in the order in which they are to be tried."""
        return (self.ip, *self.others)


class NoAddress(Struct, frozen=True, gc=False):
    """Why a host has no address, and until when that is remembered."""

    reason: str
    expires_at: float
    detail: str = ""


Answer = HostAddress | NoAddress


def system_lookup(host: str) -> list[str]:
    """Query the system's resolver (hosts file, name servers). Addresses with a route come first, then those of IPv4."""
    found = [(entry[0], str(entry[4][0])) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    return [ip for _, ip in sorted(found, key=lambda each: (not _has_route(*each), each[0] != socket.AF_INET))]


def _has_route(family: int, ip: str) -> bool:
    """Whether this machine has a route to an address. Connecting a UDP socket looks for one, and sends nothing."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((ip, 9))
    except OSError:
        return False
    return True


class Resolver:
    """A cache in front of lookup threads. Used from one thread; lookup threads call `on_answer` when they are done."""

    def __init__(
        self, settings: ResolverSettings | None = None, *, clock: Clock, look_up: LookUp = system_lookup
    ) -> None:
        self._settings = settings or ResolverSettings()
        self._table = NamePatterns({name: ip.strip("[]") for name, ip in self._settings.hosts.items()})
        self._clock = clock
        self._look_up = look_up
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._failed: OrderedDict[str, float] = OrderedDict()  # until when each address goes behind others
        self._asked: dict[str, float] = {}
        self._deadlines: deque[tuple[float, str]] = deque()
        self._questions: SimpleQueue[str | None] = SimpleQueue()
        self._news: deque[tuple[str, Sequence[str] | Exception]] = deque()
        self._threads: list[Thread] = []
        self.on_answer: Callable[[], object] = _nothing

    def known(self, host: str) -> Answer | None:
        """The answer, if it is in the table or the cache."""
        now = self._clock.now()
        literal = literal_address(host)
        fixed = self._table.find(host) if literal is None else str(literal)
        if fixed is not None:
            return HostAddress(fixed, now + self._settings.lifetime)
        answer = self._answers.get(host)
        if answer is None or answer.expires_at <= now:
            return None
        self._answers.move_to_end(host)
        return self._ordered(answer) if self._failed and isinstance(answer, HostAddress) else answer

    def failed(self, ip: str) -> None:
        """Record that no connection to an address could be made."""
        self._failed[ip] = self._clock.now() + self._settings.failure_lifetime
        self._failed.move_to_end(ip)
        if len(self._failed) > self._settings.max_names:
            self._failed.popitem(last=False)

    def failed_until(self, ip: str) -> float:
        """Until when an address goes behind others, because no connection could be made; 0 if it does not."""
        until = self._failed.get(ip, 0.0)
        return until if until > self._clock.now() else 0.0

    def leave(self, host: str, ip: str) -> None:
        """Drop an address of a host, which has others, until the host is looked up again."""
        answer = self._answers.get(host)
        if isinstance(answer, HostAddress):
            first, *others = [other for other in answer.all if other != ip]
            self._answers[host] = HostAddress(first, answer.expires_at, tuple(others))

    def forget(self, host: str) -> None:
        """Look a host up again when it is needed next; its address is the same if it is among the answers."""
        answer = self._answers.get(host)
        if answer is not None:
            self._answers[host] = replace(answer, expires_at=0.0)

    def _ordered(self, answer: HostAddress) -> HostAddress:
        """The answer with addresses that have failed behind the others, the latest one last."""
        ip, *others = sorted(answer.all, key=self.failed_until)
        return HostAddress(ip, answer.expires_at, tuple(others))

    def ask(self, host: str) -> None:
        """Start a lookup; `answered` returns its answer. A lookup of the same host that is under way is shared."""
        if host in self._asked:
            return
        deadline = time.monotonic() + self._settings.timeout
        self._asked[host] = deadline
        self._deadlines.append((deadline, host))
        if len(self._threads) < min(self._settings.threads, len(self._asked)):
            self._threads.append(Thread(target=self._work, name="periplus-dns", daemon=True))
            self._threads[-1].start()
        self._questions.put(host)

    def answered(self) -> list[tuple[str, Answer]]:
        """Lookups that ended or timed out since the last call."""
        done: list[tuple[str, Answer]] = []
        while self._news:
            host, found = self._news.popleft()
            if self._asked.pop(host, None) is not None:  # else: too late
                done.append((host, self._remember(host, self._judge(host, found))))
        while self._deadlines and self._deadlines[0][0] <= time.monotonic():
            deadline, host = self._deadlines.popleft()
            if self._asked.get(host) == deadline:
                del self._asked[host]
                done.append((host, self._remember(host, self._no_address("dns-timeout"))))
        return done

    def next_deadline(self) -> float | None:
        """When the oldest lookup times out, by `time.monotonic`."""
        while self._deadlines and self._asked.get(self._deadlines[0][1]) != self._deadlines[0][0]:
            self._deadlines.popleft()
        return self._deadlines[0][0] if self._deadlines else None

    def close(self) -> None:
        """Let the threads end. Threads that hang in a lookup are left behind; they are daemons."""
        for _ in self._threads:
            self._questions.put(None)
        self.on_answer = _nothing

    def _work(self) -> None:
        while (host := self._questions.get()) is not None:
            if host not in self._asked:  # it timed out while it waited for a free thread
                continue
            found: Sequence[str] | Exception
            try:
                found = self._look_up(host)
            except Exception as error:
                found = error
            self._news.append((host, found))
            with contextlib.suppress(OSError):  # the wire may be gone by now
                self.on_answer()

    def _judge(self, host: str, found: Sequence[str] | Exception) -> Answer:
        if isinstance(found, Exception):
            is_missing = isinstance(found, UnicodeError) or getattr(found, "errno", None) in _NOT_FOUND
            return self._no_address("dns-not-found" if is_missing else "dns-unavailable", str(found)[:200])
        if not found:
            return self._no_address("dns-not-found")
        before = self._answers.get(host)
        present = before.ip if isinstance(before, HostAddress) else None
        ordered = dict.fromkeys(sorted(found, key=lambda ip: ip != present))
        ip, *others = list(ordered)[:_MAX_ADDRESSES]
        return self._ordered(HostAddress(ip, self._clock.now() + self._settings.lifetime, tuple(others)))

    def _no_address(self, reason: str, detail: str = "") -> NoAddress:
        chosen = self._settings
        lifetime = chosen.not_found_lifetime if reason == "dns-not-found" else chosen.failure_lifetime
        return NoAddress(reason, self._clock.now() + lifetime, detail)

    def _remember(self, host: str, answer: Answer) -> Answer:
        self._answers[host] = answer
        self._answers.move_to_end(host)
        if len(self._answers) > self._settings.max_names:
            self._answers.popitem(last=False)
        return answer


def _nothing() -> None:
    """Do nothing: the default of `on_answer`."""
