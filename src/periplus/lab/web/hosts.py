"""Who answers for a host name: a site of the world, a hostile host, or the lab's own index page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .exchange import Answer, Request
from .hostile import DOMAIN as HOSTILE
from .hostile import Script, perform
from .sites import DOMAIN as TOP
from .world import World

_PLAIN = (("Content-Type", "text/plain; charset=utf-8"),)

Reply = Answer | Script


def is_local(host: str) -> bool:
    """Whether a name means this machine: then it is the index page that is wanted."""
    return host in ("", "localhost", "::1") or host.startswith("127.")


class Front(Protocol):
    """What the machine itself shows. It may ask back for the answers of other hosts, to show them under a path."""

    def answer(self, request: Request, ask: Callable[[Request], Reply]) -> Reply:
        """The reply to a request for no host of the lab."""


class Hosts:
    """The switchboard between host names and those who answer for them."""

    def __init__(self, world: World, front: Front) -> None:
        self._world = world
        self._front = front

    def reply(self, request: Request, *, is_proxied: bool = False) -> Reply:
        """What the host of a request says (HEAD is asked as GET). To a proxy's client an unknown name is a 502."""
        if request.method != "GET":
            return Answer(405, (*_PLAIN, ("Allow", "GET, HEAD")), b"This web can only be read.\n")
        host = request.host
        if host.endswith(f".{HOSTILE}"):
            found = perform(request)
        elif host.endswith(f".{TOP}"):
            found = self._world.answer(request)
        else:
            found = self._front.answer(request, self.reply) if is_local(host) else None
        if found is not None and (not is_proxied or not isinstance(found, Answer) or found.status != 421):
            return found
        return Answer(502 if is_proxied else 421, _PLAIN, b"There is no such host in the lab.\n")
