"""A cluster of near-duplicate pages, and its canonical URL.

A cluster is kept in a bounded form: how many pages are in it, and the `MAX_KEPT` members that have the best claim to
stand for it. The first page is compared with, so that its site is kept too; what it said is kept beside (`store`).

The canonical URL is, in this order: one that its site lists in a sitemap (Schonfeld & Shivakumar 2009); one that
another member names by `rel=canonical`, which is believed here because both are of one cluster (see `hints`); the one
that links make worth most; the shortest; the first in the order of the alphabet.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import Site, Sketched, Url

MAX_KEPT: Final = 8
"""Maximum number of members whose URLs a cluster stores."""


class Member(Struct, frozen=True, array_like=True, gc=False):
    """A page that may represent its cluster. `names` is the canonical URL it declares."""

    url: Url
    is_listed: bool = False
    worth: float = 0.0
    names: Url | None = None
    is_named: bool = False


class Cluster(Struct, frozen=True, array_like=True):
    """Pages that say the same. `has_first`: one of them counts as the original, and the others as its copies.

    `site` and `links` are those of the page that it began with.
    """

    site: Site
    size: int
    has_first: bool
    members: tuple[Member, ...]
    links: int = 0


def founded(page: Sketched, site: Site) -> Cluster:
    """A cluster of one."""
    return Cluster(site, 1, True, (_member(page),), page.links)


def joined(cluster: Cluster, page: Sketched, *, is_new: bool) -> Cluster:
    """The cluster with this page; `is_new`: it was not counted yet. A known page is updated."""
    was = known_as(cluster, page.url)
    member = replace(_member(page), is_named=was is not None and was.is_named)
    return replace(_with(cluster, member), size=cluster.size + is_new)


def listed(cluster: Cluster, url: Url) -> Cluster:
    """The same, now that the site of this page lists it. It must have been counted."""
    return _with(cluster, replace(known_as(cluster, url) or Member(url), is_listed=True))


def left(cluster: Cluster, url: Url, *, was_first: bool) -> Cluster:
    """Without this page, which must have been counted."""
    members = tuple([each for each in cluster.members if each.url != url])
    return replace(cluster, size=cluster.size - 1, has_first=cluster.has_first and not was_first, members=members)


def known_as(cluster: Cluster, url: Url) -> Member | None:
    """The stored claims of this page, if the cluster has its URL."""
    return next((each for each in cluster.members if each.url == url), None)


def canonical(cluster: Cluster) -> Url | None:
    """The canonical URL of the cluster; `None` if no stored member is left."""
    return min(cluster.members, key=_claim).url if cluster.members else None


def _member(page: Sketched) -> Member:
    return Member(page.url, page.is_listed, page.worth, page.canonical)


def _with(cluster: Cluster, member: Member) -> Cluster:
    members = _with_names([*[each for each in cluster.members if each.url != member.url], member])
    if len(members) > MAX_KEPT:
        members = sorted(members, key=_claim)[:MAX_KEPT]
    return replace(cluster, members=tuple(members))


def _with_names(members: list[Member]) -> list[Member]:
    """Mark the members that others name, which holds when those are forgotten. One that names itself does not count."""
    named = {each.names for each in members if each.names not in (None, each.url)}
    return [replace(each, is_named=True) if each.url in named and not each.is_named else each for each in members]


def _claim(member: Member) -> tuple[bool, bool, float, int, Url]:
    """The smaller, the better."""
    return not member.is_listed, not member.is_named, -member.worth, len(member.url), member.url
