"""Names to addresses: the system's resolver, called in threads with a time limit, and a cache of its answers.

A site gets one address and keeps it while the answer is valid, because politeness is counted by address: a name with
sixteen addresses is still one server. IPv4 is preferred. The system's resolver does not report how long an answer is
valid, so addresses are kept for a fixed time and failures for a shorter one. On renewal the address stays the same if
it is still among the answers.

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

from periplus.model import Clock, ConfigError
from periplus.model.flags import HOW, PERSONAL, REQUESTS, Flag

from .addresses import NamePatterns, literal_address

LookUp = Callable[[str], Sequence[str]]
"""All addresses of a name. Raises as `socket.getaddrinfo` does."""

_NOT_FOUND: Final = {
    getattr(socket, name) for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY") if hasattr(socket, name)
}


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
    """How long an address is kept."""
    not_found_lifetime: float = 300.0
    """The same for a name that does not exist."""
    failure_lifetime: float = 60.0
    """The same for a lookup that failed."""
    max_names: int = 20_000
    """Maximum answers in the cache."""
    threads: int = 16
    """Maximum lookups at a time."""

    def __post_init__(self) -> None:
        for name, address in self.hosts.items():
            if literal_address(address) is None:
                raise ConfigError(f"hosts: {address!r} is not an address", hint=f'Write "{name}" = "192.0.2.1"')


class HostAddress(Struct, frozen=True, gc=False):
    """The address of a host, and until when it is valid."""

    ip: str
    expires_at: float


class NoAddress(Struct, frozen=True, gc=False):
    """Why a host has no address, and until when that is remembered."""

    reason: str
    expires_at: float
    detail: str = ""


Answer = HostAddress | NoAddress


def system_lookup(host: str) -> list[str]:
    """Query the system's resolver (hosts file, name servers), IPv4 addresses first."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in sorted(found, key=lambda entry: entry[0] != socket.AF_INET)]


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
        return answer

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
        keeps = isinstance(before, HostAddress) and before.ip in found
        ip = before.ip if keeps and isinstance(before, HostAddress) else found[0]
        return HostAddress(ip, self._clock.now() + self._settings.lifetime)

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
