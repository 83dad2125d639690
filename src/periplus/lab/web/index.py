"""The lab's own pages: the front page for people, a few lists for programs, and every host under a path.

`/seeds.txt` (the home page of every site, no trap), `/hosts.txt` (for /etc/hosts), `/visits.jsonl` (the log),
`/clock` (the virtual time, POSIX seconds), `/ca.pem` (where there is TLS), and `/~host/...` (see `through`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from periplus.model import Clock

from .exchange import Answer, Request
from .front_page import render
from .hostile import REGISTRY
from .hosts import Reply, is_local
from .log import RequestLog
from .through import lead_back, path_of, split
from .world import World

_TEXT = (("Content-Type", "text/plain; charset=utf-8"),)
_NOT_HERE = Answer(404, _TEXT, b"Not here. The front page is at /\n")
_HTML = (("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store"))


class Lab(Protocol):
    """The data of the index."""

    world: World
    clock: Clock
    log: RequestLog
    port: int
    tls_port: int | None
    authority_pem: bytes

    def address(self, host: str) -> str:
        """Where a host is to be found."""


class Index:
    """Answers for the machine itself."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def answer(self, request: Request, ask: Callable[[Request], Reply]) -> Reply:
        """The answer to a request for no host of the lab; `ask` requests answers of the others."""
        lab, path = self._lab, request.target.partition("?")[0]
        if path.startswith("/~"):
            return _under_path(request, ask)
        match path:
            case "/":
                page = render(lab.world, request.at, port=lab.port, tls_port=lab.tls_port, visits=lab.log.total)
                return Answer(200, _HTML, page.encode())
            case "/seeds.txt":
                return Answer(200, _TEXT, "".join(f"{site.url}\n" for site in lab.world.sites()).encode())
            case "/hosts.txt":
                return Answer(200, _TEXT, self._hosts().encode())
            case "/clock":
                return Answer(200, _TEXT, f"{request.at:.3f}\n".encode())
            case "/visits.jsonl":
                return Answer(200, (("Content-Type", "application/jsonl"),), self._visits())
            case "/ca.pem" if lab.authority_pem:
                return Answer(200, (("Content-Type", "application/x-pem-file"),), lab.authority_pem)
            case _:
                return _NOT_HERE

    def _hosts(self) -> str:
        names = [*self._lab.world.hosts, *(one.host for one in REGISTRY.values())]
        return "".join(f"{self._lab.address(name)}\t{name}\n" for name in names)

    def _visits(self) -> Iterator[bytes]:
        encode = msgspec.json.Encoder().encode
        return (encode(visit) + b"\n" for visit in self._lab.log.visits())


def _under_path(request: Request, ask: Callable[[Request], Reply]) -> Reply:
    """Request the host named in the path, and rewrite its links."""
    host, target = split(request.target)
    if is_local(host):
        return _NOT_HERE
    if not target:
        return Answer(308, (("Location", path_of(host)),), b"")
    reply = ask(Request(request.method, host, target, request.headers, request.at, request.ip))
    return lead_back(reply, host) if isinstance(reply, Answer) else reply
