"""The server's log of requests: politeness and needless fetches are counted here, on the server's side.

Every request becomes one `Visit` with its times, virtual and real. The log keeps the latest `capacity` of them in
memory (it must not grow with requests) and, where asked, writes all of them to a file as JSON lines. A visit is noted
before its last byte leaves, so that a client that has its answer finds itself in the log.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from periplus.model import UsageError

from .http import Fields

DEFAULT_CAPACITY = 100_000


class Visit(Struct, frozen=True, gc=False):
    """One request and its result.

    `started_at` and `ended_at` are virtual; `real_started_at` and `real_ended_at` are the wall clock's. `sent` counts
    the bytes of the response as they went over HTTP (head and body, after any coding, before TLS). `is_complete` is
    false when the client left or the server cut the answer off. `address` is the server's, which a client connected to;
    `fields` are those of the request, their names in lower case.
    """

    connection: int
    ip: str
    method: str
    host: str
    target: str
    agent: str
    status: int
    sent: int
    started_at: float
    ended_at: float
    real_started_at: float
    real_ended_at: float
    is_complete: bool = True
    is_secure: bool = False
    address: str = ""
    fields: Fields = ()

    def field(self, name: str) -> str:
        """The first value of a field of the request, by its name in lower case; empty if it has none."""
        return next((value for key, value in self.fields if key == name), "")

    @property
    def url(self) -> str:
        """The requested URL, as the world spells it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_secure else 'http'}://{host}{self.target}"


class RequestLog:
    """The latest visits, oldest first. Written by the server's thread alone; read from any."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY, path: Path | None = None) -> None:
        self._visits: deque[Visit] = deque(maxlen=capacity)
        self._encoder = msgspec.json.Encoder()
        self._file = _open(path) if path else None
        self.total = 0

    def note(self, visit: Visit) -> None:
        """Keep a visit; the oldest makes room."""
        self._visits.append(visit)
        self.total += 1
        if self._file:
            self._file.write(self._encoder.encode(visit) + b"\n")

    def close(self) -> None:
        """End the file, if there is one. What is in memory stays."""
        if self._file:
            self._file.close()
            self._file = None

    def clear(self) -> None:
        """Clear the log in memory, so that a test counts only what follows."""
        self._visits.clear()
        self.total = 0

    def __len__(self) -> int:
        """How many visits are in memory; `total` is how many there were."""
        return len(self._visits)

    def visits(self, *hosts: str, agent: str = "") -> list[Visit]:
        """The visits in memory, of some hosts (all, if none is named), by agents whose name holds `agent`.

        Name every host at an address to see the visits of that machine.
        """
        # `list` of a deque is one step for the interpreter, so the server's thread cannot append in between.
        return [visit for visit in list(self._visits) if (not hosts or visit.host in hosts) and agent in visit.agent]

    def hosts(self) -> list[str]:
        """Every host visited, in order of first visit."""
        return list(dict.fromkeys(visit.host for visit in list(self._visits)))

    def wait_for(self, count: int, *hosts: str, timeout: float = 5.0) -> list[Visit]:
        """The visits of some hosts once there are `count`: a stream is noted when it ends, which no client can see."""
        deadline = time.monotonic() + timeout
        while len(found := self.visits(*hosts)) < count and time.monotonic() < deadline:
            time.sleep(0.005)
        return found

    def most_at_once(self, *hosts: str) -> int:
        """The most requests of some hosts that were being answered at the same (real) moment."""
        edges = []
        for visit in self.visits(*hosts):
            edges += [(visit.real_started_at, 1), (visit.real_ended_at, -1)]
        busy = most = 0
        for _, step in sorted(edges):
            busy += step
            most = max(most, busy)
        return most

    def gaps(self, *hosts: str) -> list[float]:
        """Real seconds from the end of each visit of some hosts to the start of the next; below 0: they overlap."""
        found = sorted(self.visits(*hosts), key=lambda visit: visit.real_started_at)
        return [later.real_started_at - earlier.real_ended_at for earlier, later in pairwise(found)]

    def needless(self, changed_between: Callable[[str, float, float], bool]) -> list[Visit]:
        """Full answers (200) for a URL that had not changed since its last full answer to the same agent.

        The definition of Brandman et al. 2000: what metadata would have spared. `changed_between(url, t0, t1)` is the
        world's truth, in virtual time.
        """
        return list(_needless(self.visits(), changed_between))


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("ab")
    except OSError as error:
        raise UsageError(f"cannot write the log to {path}: {error.strerror}") from error


def _needless(visits: Iterable[Visit], changed_between: Callable[[str, float, float], bool]) -> Iterable[Visit]:
    last: dict[tuple[str, str], float] = {}
    for visit in visits:
        if visit.status != 200 or visit.method != "GET":
            continue
        key = (visit.agent, visit.url)
        before = last.get(key)
        last[key] = visit.started_at
        if before is not None and not changed_between(visit.url, before, visit.started_at):
            yield visit
