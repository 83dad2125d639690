"""Names to addresses: the system's resolver, asked in threads with a time limit, its answers kept for a while.

A site gets one address and keeps it while the answer holds, because politeness is reckoned by address: a name with
sixteen of them is still one server's worth of patience. IPv4 is taken where there is any. The system's resolver tells
no lifetime, so answers hold for a fixed time, and failures for a shorter one. On renewal the address stays if it is
still named.

Reasons of `NoAddress`:

- `dns-not-found`: the name does not exist, has no address, or cannot be a name.
- `dns-unavailable`: the name server failed, or could not be asked.
- `dns-timeout`: no answer within the time limit.

A fixed table goes before everything: `{"www.lab.test": "127.0.0.7", "*.lab.test": "127.0.0.1"}`.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from ipaddress import ip_address
from queue import SimpleQueue
from threading import Event, Thread
from typing import Final

from msgspec import Struct, field

from periplus.model import Clock, ConfigError

LookUp = Callable[[str], Sequence[str]]
"""All addresses of a name. Raises as `socket.getaddrinfo` does."""

_NOT_FOUND: Final = {
    getattr(socket, name) for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY") if hasattr(socket, name)
}


class ResolverSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How names are looked up and how long answers hold. Times are in seconds."""

    hosts: dict[str, str] = field(default_factory=dict)
    """Fixed addresses by name; `*.example.org` stands for every name below, the longest such entry wins."""
    timeout: float = 10.0
    """A lookup that takes longer has failed."""
    lifetime: float = 3600.0
    """How long an address holds."""
    not_found_lifetime: float = 300.0
    """How long it holds that a name does not exist."""
    failure_lifetime: float = 60.0
    """How long it holds that nobody could be asked."""
    max_names: int = 20_000
    """Answers kept; the least used go first."""
    threads: int = 16
    """Lookups under way at once."""

    def __post_init__(self) -> None:
        for name, address in self.hosts.items():
            if _literal(address) is None:
                raise ConfigError(f"hosts: {address!r} is no address", hint=f'Write "{name}" = "192.0.2.1"')


class Address(Struct, frozen=True, gc=False):
    """Where a host is, until when."""

    ip: str
    expires_at: float


class NoAddress(Struct, frozen=True, gc=False):
    """Why nobody knows where a host is, until when."""

    reason: str
    expires_at: float
    detail: str = ""


Answer = Address | NoAddress


def system_lookup(host: str) -> list[str]:
    """Ask the system (hosts file, name servers, whatever it is configured for)."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in sorted(found, key=lambda entry: entry[0] != socket.AF_INET)]


def _literal(host: str) -> str | None:
    """The address that a host is, if it is one; IPv6 without its brackets."""
    if not (host.endswith("]") or host.rpartition(".")[2].isdigit() or ":" in host):
        return None
    try:
        return str(ip_address(host.strip("[]")))
    except ValueError:
        return None


class Resolver:
    """A cache in front of threads. Used from one thread; `on_answer` is called from others when there is news."""

    def __init__(
        self, settings: ResolverSettings | None = None, *, clock: Clock, look_up: LookUp = system_lookup
    ) -> None:
        self._settings = settings or ResolverSettings()
        self._hosts = {name.lower().rstrip("."): ip for name, ip in self._settings.hosts.items()}
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
        """The answer, if it needs no waiting."""
        now = self._clock.now()
        fixed = _literal(host) or self._from_table(host)
        if fixed is not None:
            return Address(fixed, now + self._settings.lifetime)
        answer = self._answers.get(host)
        if answer is None or answer.expires_at <= now:
            return None
        self._answers.move_to_end(host)
        return answer

    def ask(self, host: str) -> None:
        """Begin a lookup; the answer comes from `answered`. A host that was asked for already is not asked again."""
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
        """What has been answered, or has taken too long, since this was last called."""
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
        """When, by `time.monotonic`, the oldest lookup will have taken too long."""
        while self._deadlines and self._asked.get(self._deadlines[0][1]) != self._deadlines[0][0]:
            self._deadlines.popleft()
        return self._deadlines[0][0] if self._deadlines else None

    def find_all(self, hosts: Iterable[str]) -> dict[str, Answer]:
        """The answers, with a wait for them: for seeds, before a crawl begins."""
        found: dict[str, Answer] = {}
        waiting = deque(dict.fromkeys(hosts))
        news = Event()
        told, self.on_answer = self.on_answer, news.set
        while waiting or self._asked:
            while waiting and len(self._asked) < self._settings.threads:  # more would time out in the queue
                host = waiting.popleft()
                if (answer := self.known(host)) is not None:
                    found[host] = answer
                else:
                    self.ask(host)
            if self._asked:
                news.wait(max(0.0, (self.next_deadline() or 0.0) - time.monotonic()))
                news.clear()
                found.update(self.answered())
        self.on_answer = told
        return found

    def find(self, host: str) -> Answer:
        """The answer for one host, with a wait for it."""
        return self.find_all([host])[host]

    def close(self) -> None:
        """Let the threads end; those that hang are left behind (they are daemons)."""
        for _ in self._threads:
            self._questions.put(None)
        self.on_answer = _nothing

    def _from_table(self, host: str) -> str | None:
        if not self._hosts:
            return None
        name = host.lower().rstrip(".")
        found = self._hosts.get(name)
        while found is None and "." in name:
            name = name.partition(".")[2]
            found = self._hosts.get(f"*.{name}")
        return found

    def _work(self) -> None:
        while (host := self._questions.get()) is not None:
            if host not in self._asked:  # it has waited too long for a free thread
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
        keeps = isinstance(before, Address) and before.ip in found
        ip = before.ip if keeps and isinstance(before, Address) else found[0]
        return Address(ip, self._clock.now() + self._settings.lifetime)

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
    """Nobody wants to know."""
