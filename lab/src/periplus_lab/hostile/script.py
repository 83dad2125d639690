"""How a hostile server is written down: as a script of what to send, when to wait and when to hang up.

A script is a pure, lazy stream of actions; a `Player` acts it out. So each hostile behaviour is a plain function that
can be tested without a socket, an endless one costs nothing until a client reads it, and none can harm the server: the
player bounds the time, and sends only as fast as the client reads.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import TypeVar

from msgspec import Struct

from periplus.formats.dates import write_http

from ..http import Answer, Request, write_head

DOMAIN = "hostile.lab.test"


class Wait(Struct, frozen=True):
    """Do nothing for some real seconds (the lab's `pace` scales them)."""

    seconds: float


class Reset(Struct, frozen=True):
    """Cut the connection with a TCP reset, as a crashed server or a firewall does."""


Action = bytes | Wait | Reset


class Script(Struct, frozen=True):
    """What to do on the wire instead of a well-formed answer. When it ends the connection is closed, if it `closes`.

    `status` is what the log shows; 0 when no status line is sent.
    """

    status: int
    actions: Iterator[Action]
    closes: bool = True


Behaviour = Callable[[Request], Answer | Script]
_Registered = TypeVar("_Registered", bound=Behaviour)


class Hostile(Struct, frozen=True):
    """A host that misbehaves: what it does, and what a good crawler does about it (both from the docstring)."""

    name: str
    does: str
    wants: str
    behaviour: Behaviour
    owns_robots: bool

    @property
    def host(self) -> str:
        """The URL of the host."""
        return f"{self.name}.{DOMAIN}"


REGISTRY: dict[str, Hostile] = {}
ALLOW_ALL = Answer(200, (("Content-Type", "text/plain; charset=utf-8"),), b"User-agent: *\nDisallow:\n")


def hostile(name: str, *, owns_robots: bool = False) -> Callable[[_Registered], _Registered]:
    """Register a behaviour under its host's name. Its docstring: what it does, an empty line, what a crawler should do.

    Unless it `owns_robots`, its robots.txt is kind and quick, so that an obedient crawler walks in.
    """

    def register(behaviour: _Registered) -> _Registered:
        does, _, wants = (inspect.getdoc(behaviour) or "").partition("\n\n")
        REGISTRY[name] = Hostile(name, " ".join(does.split()), " ".join(wants.split()), behaviour, owns_robots)
        return behaviour

    return register


def perform(request: Request) -> Answer | Script | None:
    """The behaviour of the hostile host of a request; `None` if there is no such host."""
    found = REGISTRY.get(request.host.removesuffix(f".{DOMAIN}").rpartition(".")[2])
    if found is None or not request.host.endswith(f".{DOMAIN}"):
        return None
    if request.target == "/robots.txt" and not found.owns_robots:
        return ALLOW_ALL
    return found.behaviour(request)


def head(request: Request, status: int, *fields: tuple[str, str], connection: str = "close") -> bytes:
    """The head of a scripted response: the date, the fields given, and the `Connection` field."""
    return write_head(status, (("Date", write_http(request.at)), *fields, ("Connection", connection)))


HTML = ("Content-Type", "text/html; charset=utf-8")
TEXT = ("Content-Type", "text/plain; charset=utf-8")
XML = ("Content-Type", "application/xml; charset=utf-8")


def page(title: str, body: str) -> bytes:
    """A small page that would be ordinary if it came in an ordinary way."""
    return f'<!doctype html><html lang="en"><title>{title}</title><h1>{title}</h1>\n{body}\n'.encode()


def answer_page(title: str, body: str, status: int = 200) -> Answer:
    """A small page, served as it should be."""
    return Answer(status, (HTML,), page(title, body))
