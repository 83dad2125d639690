"""A cluster of pages that say the same, and the URL by which to know it.

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
"""Members that a cluster knows by name."""


class Member(Struct, frozen=True, array_like=True, gc=False):
    """A page that may stand for its cluster. `names` is the URL by which it says it should be known."""

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
    """With this page; `is_new`: it was not counted yet. One that was there is known as what it claims to be now."""
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
    """What speaks for this page, if it is one of those that the cluster knows by name."""
    return next((each for each in cluster.members if each.url == url), None)


def canonical(cluster: Cluster) -> Url | None:
    """The URL by which to know the cluster; `None` where all that it knew by name have left."""
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
