"""One kind of spam or nuisance of the hostile web: the interface that its parts implement.

A part has hosts of its own, or adds something to the pages of honest sites, or both; and it answers for the truth about
what it does. All methods have defaults, so a part implements only what it is about.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from msgspec import Struct

from ..exchange import Answer, Request
from ..sites import Site


class Honest(Protocol):
    """The web without the hostile parts."""

    seed: int
    epoch: float

    def sites(self) -> tuple[Site, ...]:
        """Every honest site, the largest first."""

    def honest_answer(self, request: Request) -> Answer:
        """The answer of an honest site, before anything is added."""


class Mirror(Struct, frozen=True, order=True):
    """Two hosts with the same pages below a path: `host` repeats `original`."""

    host: str
    original: str
    prefix: str = "/"


class Renaming(Struct, frozen=True, order=True):
    """A true DUST rule of a site: `kind` is the kind of rule (`drop-param`, ...), `argument` its parameter."""

    host: str
    kind: str
    argument: str = ""


class Part:
    """A part of the hostile web. `world` is the honest web that it lives in."""

    hosts: tuple[str, ...] = ()
    """Host names of the part."""
    wildcards: tuple[str, ...] = ()
    """Patterns such as `*.a.lab.test`: every name that matches is a host of the part, too."""

    def __init__(self, world: Honest) -> None:
        self.world = world

    def has(self, host: str) -> bool:
        """Whether a host is one of the part's own."""
        return host in self.hosts

    def answer(self, request: Request) -> Answer | None:  # noqa: ARG002 - a default
        """The answer of one of its hosts. Also asked for honest hosts: `None` leaves the request to them."""
        return None

    def address(self, host: str) -> str | None:  # noqa: ARG002 - a default
        """The address of one of its hosts, in 127.0.0.0/8."""
        return None

    def added(self, request: Request, body: bytes) -> bytes:  # noqa: ARG002 - a default
        """The page of an honest site with what the part adds to it."""
        return body

    # -- the truth

    def is_spam(self, host: str) -> bool:  # noqa: ARG002 - a default
        """Whether a host exists only to influence search engines."""
        return False

    def is_cloaked(self, url: str) -> bool:  # noqa: ARG002 - a default
        """Whether a URL shows crawlers something else than people, with bad intent."""
        return False

    def is_error(self, url: str) -> bool:  # noqa: ARG002 - a default
        """Whether a URL answers with status 200 or a redirect, but the page it names does not exist."""
        return False

    def mirrors(self) -> Iterator[Mirror]:
        """Every pair of mirrored hosts."""
        return iter(())

    def renames(self) -> Iterator[Renaming]:
        """Every true DUST rule."""
        return iter(())
