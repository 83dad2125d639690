"""The hostile web: the honest sites of a world, and among them what wants to waste a crawler's time.

    world = HostileWorld(seed=7, sites=200)
    world.is_spam("any-name.pills-deals-000.lab.test")

Each kind of hostility is a `Nuisance`, listed in `PARTS`: it has hosts, or adds to the pages of honest sites, and
answers for the truth. `part` has the interface, `farm` the link farm, `dust` sites whose pages have many URLs and
calendars without an end, `judged_hosts` soft 404s, parked domains, cloakers and mirrors. Every name below `lab.test` is
a registrable domain here: crawl with `[scope] suffixes = ["lab.test"]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ..http import Answer, Request
from ..sites import Profile
from ..world import DEFAULT_EPOCH, World
from .dust import Calendars, Dust
from .farm import Farm
from .judged_hosts import AbsentPages, Cloakers, MirroringHosts, ParkedDomains
from .part import Honest, Mirror, Nuisance, Renaming

__all__ = [
    "PARTS",
    "AbsentPages",
    "Calendars",
    "Cloakers",
    "Dust",
    "Farm",
    "Honest",
    "HostileWorld",
    "Mirror",
    "MirroringHosts",
    "Nuisance",
    "ParkedDomains",
    "Renaming",
]

PARTS: tuple[type[Nuisance], ...] = (Farm, MirroringHosts, Cloakers, AbsentPages, ParkedDomains, Dust, Calendars)
"""The parts of the hostile web, in the order in which they are asked."""


class HostileWorld(World):
    """A world with all hostile parts, or only those given."""

    def __init__(
        self,
        seed: int = 7,
        sites: int = 200,
        *,
        pages: int | None = None,
        epoch: float = DEFAULT_EPOCH,
        profiles: Sequence[Profile] = (),
        parts: Sequence[type[Nuisance]] = PARTS,
    ) -> None:
        super().__init__(seed, sites, pages=pages, epoch=epoch, profiles=profiles)
        self._parts = [make(self) for make in parts]
        self.hosts = (*self.hosts, *(host for part in self._parts for host in part.hosts))
        self.wildcards = tuple(pattern for part in self._parts for pattern in part.wildcards)

    def honest_answer(self, request: Request) -> Answer:
        """The answer of an honest site, before anything is added."""
        return super().answer(request)

    def answer(self, request: Request) -> Answer:
        """The answer of the part that has the host; else of the honest site, with what parts add to its pages."""
        for part in self._parts:
            answer = part.answer(request)
            if answer is not None:
                return answer
        answer = self.honest_answer(request)
        if answer.status != 200 or not isinstance(answer.body, bytes):
            return answer
        body = answer.body
        for part in self._parts:
            body = part.added(request, body)
        return answer if body is answer.body else replace(answer, body=body)

    def address(self, host: str) -> str:
        """The address of a host, in 127.0.0.0/8."""
        addresses = (part.address(host) for part in self._parts)
        return next((address for address in addresses if address), None) or super().address(host)

    # -- the truth

    def is_spam(self, host: str) -> bool:
        """Whether a host exists only to influence search engines."""
        return any(part.is_spam(host) for part in self._parts)

    def is_cloaked(self, url: str) -> bool:
        """Whether a URL shows crawlers something else than people, with bad intent."""
        return any(part.is_cloaked(url) for part in self._parts)

    def is_error(self, url: str) -> bool:
        """Whether a URL answers with status 200 or a redirect, but the page it names does not exist."""
        return any(part.is_error(url) for part in self._parts)

    def mirrors(self) -> Iterator[Mirror]:
        """Every pair of mirrored hosts."""
        for part in self._parts:
            yield from part.mirrors()

    def renames(self) -> Iterator[Renaming]:
        """Every true DUST rule."""
        for part in self._parts:
            yield from part.renames()
