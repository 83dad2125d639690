"""Hosts that show the pages of other hosts: exactly, with 5 % missing, in another template, a part, a day late.

And innocents: a host with the same paths and other texts, as two shops of one program have.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from ..exchange import Answer, Request
from ..randomness import key_of
from ..sites import DOMAIN
from .part import Mirror, Part
from .small_site import DAY, SECTIONS, SmallSite, framed_style, notice, page, plain_style

KINDS = ("exact", "incomplete", "restyled", "part", "drifting")
PAIRS = 4
"""Pairs of each kind."""
SIZE = 120
_MISSING = 0.05
_DAILY = 0.04


class Copying(Struct, frozen=True):
    """A host, and the host whose pages it shows below the same root."""

    host: str
    original: str
    kind: str
    root: str = "/"


@cache
def copies() -> tuple[Copying, ...]:
    """Every true pair."""
    return tuple(
        Copying(
            f"{kind}-{number}.copies.{DOMAIN}",
            f"{kind}-{number}.first.{DOMAIN}",
            kind,
            f"/{SECTIONS[0]}/" if kind == "part" else "/",
        )
        for kind in KINDS
        for number in range(PAIRS)
    )


_LOOKALIKES = tuple(f"shop-{number}.same-program.{DOMAIN}" for number in range(4))


class Mirrors(Part):
    """The pairs, and the lookalikes."""

    hosts = (*(host for each in copies() for host in (each.original, each.host)), *_LOOKALIKES)

    def address(self, host: str) -> str | None:
        """Each on its own."""
        return f"127.240.0.{1 + self.hosts.index(host)}" if host in self.hosts else None

    def answer(self, request: Request) -> Answer | None:
        """The answer of a mirror, an original or a lookalike."""
        seed = self.world.seed
        if request.host in _LOOKALIKES:
            return _answer_lookalike(request, seed)
        pair = next((each for each in copies() if request.host in (each.host, each.original)), None)
        if pair is None:
            return None
        path = request.target.partition("?")[0]
        site = _original(pair, seed)
        if request.host == pair.original:
            found = page(site, path, request.at, plain_style)
        else:
            found = _copy(pair, site, path, request.at, seed)
        return found or notice(404, "Not found", "There is no such page.")

    def mirrors(self) -> Iterator[Mirror]:
        """Every pair."""
        for each in copies():
            yield Mirror(each.host, each.original, each.root)


def _copy(pair: Copying, site: SmallSite, path: str, moment: float, seed: int) -> Answer | None:
    if pair.kind == "incomplete" and site.number(path) is not None:
        is_missing = key_of(seed, pair.host, path) % 1000 < _MISSING * 1000
        return None if is_missing else page(site, path, moment, plain_style)
    if pair.kind == "part" and not path.startswith(pair.root):
        return page(SmallSite(pair.host, seed, SIZE), path, moment, plain_style, more=[pair.root])
    style = framed_style if pair.kind == "restyled" else plain_style
    return page(site, path, moment - DAY if pair.kind == "drifting" else moment, style)


def _answer_lookalike(request: Request, seed: int) -> Answer:
    """The paths of one program, and texts of its own: its articles are numbered and carry no words."""
    path = request.target.partition("?")[0]
    site = SmallSite("program", seed, SIZE)
    text = SmallSite(request.host, seed, SIZE)
    paths, own = site.paths(), text.paths()
    if path not in paths:
        return notice(404, "Not found", "There is no such page.")
    body = plain_style(text.title(own[paths.index(path)]), text.text(own[paths.index(path)]), site.links(path))
    return Answer(200, (("Content-Type", "text/html; charset=utf-8"),), body)


def _original(pair: Copying, seed: int) -> SmallSite:
    return SmallSite(pair.original, seed, SIZE, _DAILY if pair.kind == "drifting" else 0.0)
