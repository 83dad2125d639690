"""Other results of visits, besides whether a page changed: new URLs, the share replaced, cheap answers.

Kept for a page (12 bytes, for most pages none): how many new URLs it linked to on revisits, in how many days, and how
much of it is replaced when it changes; for the few that link to new URLs also the targets of their links, four bytes
each, so that new links are recognised. Kept for a site: how often first visits returned a page that was unique and may
be indexed, separately for linked and for listed URLs (the utility of Schonfeld & Shivakumar 2009; `policy.balance`
samples only the last pages of sites that have both sources, which is not the same); how often revisits were answered
with 304; and how well its `Last-Modified` agrees with the contents of its pages.

All of these counts decay. When a page is due is decided in `page_value`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from periplus.model import CollectionDamaged

from .signals import KindEvidence
from .weights import Yield

MOST_SPAWNED = 1000
"""New URLs of one visit that count, at most: a page that makes up URLs does not gain by it."""
MOST_LINKS = 250
"""Links of a page that are remembered: a kilobyte."""
_SPAWN_MEMORY = 60.0
"""Days after which new URLs count half."""
_SPAWN_PRIOR = 1.0
"""Days without a new URL that every page is taken to have had: one link more after an hour makes no hub."""
_LEAST_SPAWNED = 0.05
"""Counts of new URLs below this are dropped: what is left of one after more than four half-lives."""
_NEWEST = 0.3
"""Weight of the last change in the mean share of a page that a change replaces."""
_KEEP = 0.5 ** (1.0 / 200.0)
"""Decay of a site's counts for each visit: after 200 visits a count is halved."""
_LEAST_SHARE = 0.05
"""The least share of a page that counts as replaced in a change: links and titles are part of it, too."""

_PAGE = struct.Struct("<fff")


class PageGains(Struct, frozen=True, gc=False):
    """Of a page: `spawned` new URLs in `days`, and the share of it that is `replaced` in a change (0: never seen).

    `links` are short fingerprints of its links at its last visit, if it has ever linked to a new URL.
    """

    spawned: float = 0.0
    days: float = 0.0
    replaced: float = 0.0
    links: bytes = b""

    def pack(self) -> bytes:
        """12 bytes and the links; empty if there were no gains."""
        if not self.spawned and not self.replaced:
            return b""
        return _PAGE.pack(self.spawned, self.days, self.replaced) + self.links

    @property
    def new_a_day(self) -> float:
        """The number of new URLs a day."""
        return self.spawned / (self.days + _SPAWN_PRIOR) if self.spawned else 0.0

    def again(self, days: float) -> PageGains:
        """After a revisit, `days` after the visit before, with no new URL yet; not counted until a page had one."""
        if not self.spawned:
            return self
        keep = 0.5 ** (days / _SPAWN_MEMORY)
        spawned = keep * self.spawned
        if spawned < _LEAST_SPAWNED:
            return replace(self, spawned=0.0, days=0.0, links=b"")
        return replace(self, spawned=spawned, days=keep * self.days + days)

    def led_to(self, urls: int, watched_days: float) -> PageGains:
        """After a visit that found `number` new URLs; the first such visit counts all days since the page is known."""
        days = self.days if self.spawned else min(watched_days, _SPAWN_MEMORY)
        return replace(self, spawned=self.spawned + min(urls, MOST_SPAWNED), days=days)

    def leads(self, prints: Sequence[int]) -> tuple[PageGains, list[int]]:
        """The gains with these links (fingerprints), and the positions of those that the page did not have before."""
        now = np.array(prints[:MOST_LINKS], np.uint64).astype("<u4")
        before = np.frombuffer(self.links, "<u4")
        added = np.flatnonzero(~np.isin(now, before)).tolist() if len(before) else []
        return replace(self, links=np.unique(now).tobytes()), added

    def changed(self, share: float) -> PageGains:
        """After a change that replaced `share` of the page."""
        share = min(max(share, _LEAST_SHARE), 1.0)
        return replace(self, replaced=self.replaced + _NEWEST * (share - self.replaced) if self.replaced else share)


class SiteGains(Struct, frozen=True, array_like=True, gc=False):
    """Of a site: useful first visits, by source of the page; and the answers to revisits.

    Of `asked` revisits `unchanged` were answered with 304. `Last-Modified` had `moved`, and in `moved_right` of these
    cases the page had changed; of the unconditional visits `changed` found a change, and in `changed_told` of these
    `Last-Modified` had moved too. `replaced` is the share of a page that a change replaces.
    """

    linked: Yield = Yield()
    listed: Yield = Yield()
    asked: float = 0.0
    unchanged: float = 0.0
    moved: float = 0.0
    moved_right: float = 0.0
    changed: float = 0.0
    changed_told: float = 0.0
    replaced: float = 0.0

    def first_visit(self, is_good: bool, *, is_listed: bool) -> SiteGains:
        """A page was fetched for the first time, and is unique and may be indexed, or not."""
        if is_listed:
            return replace(self, listed=self.listed.seen(is_good))
        return replace(self, linked=self.linked.seen(is_good))

    def chance(self, *, is_listed: bool) -> float:
        """The probability that a page never visited is useful; a source without data borrows from the other one."""
        mine, other = (self.listed, self.linked) if is_listed else (self.linked, self.listed)
        lent = min(other.tried - 2.0, 2.0)
        return (mine.good + lent * other.share) / (mine.tried + lent)

    def answered(self, *, is_unchanged: bool) -> SiteGains:
        """A second visit was answered, with 304 or not."""
        return replace(self, asked=_KEEP * self.asked + 1.0, unchanged=_KEEP * self.unchanged + is_unchanged)

    @property
    def unchanged_share(self) -> float:
        """The share of revisits that are answered with 304; the prior is one without."""
        return self.unchanged / (self.asked + 1.0)

    def compared(self, *, is_moved: bool, is_changed: bool, is_unconditional: bool) -> SiteGains:
        """Count a revisit of a page that has a `Last-Modified`, as at the visit before.

        A server may answer conditional requests wrongly with 304, so only unconditional visits show what share of the
        changes its `Last-Modified` reveals.
        """
        after = self
        if is_moved:
            after = replace(after, moved=_KEEP * self.moved + 1.0, moved_right=_KEEP * self.moved_right + is_changed)
        if is_changed and is_unconditional:
            after = replace(
                after, changed=_KEEP * self.changed + 1.0, changed_told=_KEEP * self.changed_told + is_moved
            )
        return after

    def grew(self, share: float) -> SiteGains:
        """After a change of a page that replaced `share` of it."""
        share = min(max(share, _LEAST_SHARE), 1.0)
        return replace(self, replaced=self.replaced + 0.1 * (share - self.replaced) if self.replaced else share)

    @property
    def header(self) -> KindEvidence:
        """The precision of `Last-Modified` when it moves, in the form in which signals are judged."""
        return KindEvidence(right=self.moved_right, judged=self.moved)

    @property
    def header_recall(self) -> float:
        """The share of the changes with which `Last-Modified` moves."""
        return self.changed_told / self.changed if self.changed else 0.0


def unpack_page_gains(kept: bytes) -> PageGains:
    """Decode packed gains; empty bytes are none. Raises `CollectionDamaged` for invalid bytes."""
    if not kept:
        return NO_GAINS
    if len(kept) < _PAGE.size or len(kept) % 4:
        raise CollectionDamaged(
            f"the gains of a page have {len(kept)} bytes, not {_PAGE.size} and four for each link",
            hint="restore the collection from a copy",
        )
    spawned, days, replaced = _PAGE.unpack_from(kept)
    return PageGains(spawned, days, replaced, kept[_PAGE.size :])


NO_GAINS = PageGains()
NO_SITE_GAINS = SiteGains()
"""The record of a site before its first visit."""
