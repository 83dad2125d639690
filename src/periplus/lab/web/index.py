"""The page that a person sees first: what sites there are, and how to point a browser or a crawler at them.

A browser cannot resolve `*.lab.test`, so every host can also be visited under a path, `/~host/...`: the answer is the
host's own, with the links of its pages led back through such paths. The other paths are for programs: `seeds.txt`,
`hosts.txt` (for /etc/hosts), `visits.jsonl` (the log), `clock`, and `ca.pem` where there is TLS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from periplus.model import Clock

from .exchange import Answer, Request
from .hosts import Reply
from .log import RequestLog
from .world import World


class Lab(Protocol):
    """What the index tells about."""

    world: World
    clock: Clock
    log: RequestLog
    port: int
    tls_port: int | None
    authority_pem: bytes


class Index:
    """Answers for the machine itself."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def answer(self, request: Request, ask: Callable[[Request], Reply]) -> Reply:
        """The index page."""
        del request, ask
        return Answer(200, (("Content-Type", "text/html; charset=utf-8"),), b"<!doctype html><title>Lab</title>")
