"""The world: every site, and what it says to a request at a moment."""

from __future__ import annotations

from .exchange import Answer, Request

DEFAULT_EPOCH = 1_767_571_200.0
"""Monday, 5 January 2026, midnight UTC: when a world's clock starts."""


class World:
    """A deterministic web: the same seed and the same request give the same bytes on any machine."""

    def __init__(self, seed: int = 7, sites: int = 200, *, epoch: float = DEFAULT_EPOCH) -> None:
        self.seed = seed
        self.epoch = epoch
        self.hosts = tuple(f"site{number}.lab.test" for number in range(sites))
        self._known = frozenset(self.hosts)

    def answer(self, request: Request) -> Answer:
        """What the world says to a request; an unknown host is a misdirected request."""
        html = (("content-type", "text/html; charset=utf-8"),)
        if request.host not in self._known:
            return Answer(421, html, b"<!doctype html><title>No such site</title>")
        if request.target != "/":
            return Answer(404, html, b"<!doctype html><title>Not here</title>")
        body = f"<!doctype html><title>{request.host}</title><p>Home of {request.host}.</p>"
        return Answer(200, html, body.encode())
