"""Which URLs of a world show what others show, and why (Broder et al., "Syntactic clustering of the web", 1997).

Exact: a page under a parameter that changes nothing, a home page under its index name, every page of a twin or mirror.
Nearly: a printable version, a listing in another order.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from .paths import with_parameter
from .residence import Residence
from .sites import Host
from .slots import has_exact_alias, has_print_version


class Duplicate(Struct, frozen=True):
    """A URL that shows what another shows: byte by byte, or nearly."""

    url: str
    of: str
    is_exact: bool
    why: str


def copies(residence: Residence, host: Host, tick: int) -> Iterator[Duplicate]:
    """Every page of a site, under another of its host names."""
    for url in residence.urls(tick):
        yield Duplicate(url.replace(residence.site.host, host.name, 1), url, True, host.kind)


def aliases(residence: Residence, tick: int) -> Iterator[Duplicate]:
    """Second spellings and printable versions of a site's articles, and its listings in another order."""
    live, host = residence.live, f"http://{residence.site.host}"
    census = live.census(tick)
    columns = (census.slots, census.keys, census.generations, census.born)
    for slot, key, number, born in zip(*(column.tolist() for column in columns), strict=True):
        if live.slots.is_orphan(slot):
            continue
        if has_exact_alias(key):
            path = live.paths.article(slot, key, number, born)
            alias = with_parameter(path, residence.site.alias.encode())
            yield Duplicate(host + alias.decode(), host + path.decode(), True, "parameter")
        elif has_print_version(key):
            path = live.paths.article(slot, key, number, born)
            yield Duplicate(f"{host}/print{path.decode()}", host + path.decode(), False, "print")
    if residence.site.names_index:
        yield Duplicate(f"{host}/index.html", f"{host}/", True, "index")
    if residence.site.alias.startswith("sort="):
        for slot in range(residence.site.first_listing, residence.site.first_article):
            path = live.paths.fixed(slot)
            yield Duplicate(f"{host}{path.decode()}?{residence.site.alias}", host + path.decode(), False, "order")
