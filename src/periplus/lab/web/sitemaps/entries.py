"""Entries of sitemaps.

Of all URLs in sitemaps 58 % come with a lastmod, 61 % with a priority and 7 % with a changefreq (Schonfeld & Shivakumar
2009), and few of these tell pages apart. Profiles that are what they are by their lastmod always write one; the others
make up for it, so that the shares hold in the whole world.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct

from periplus.formats.sitemap import Entry
from periplus.model import ChangeFreq, Granularity, Lastmod

from ..live import Census, LiveSite
from ..randomness import at
from ..sites import Profile, Site

LASTMOD, PRIORITY, CHANGEFREQ = 0.58, 0.61, 0.07
ALWAYS_DATED = frozenset({Profile.ARCHIVE, Profile.BUILD, Profile.ALWAYS_NOW})
_COVERAGE = {Profile.NONE: 0.0, Profile.PARTIAL: 0.05, Profile.NEWS: 0.6}
_FREQUENCIES = (ChangeFreq.DAILY, ChangeFreq.WEEKLY, ChangeFreq.MONTHLY, ChangeFreq.YEARLY)


class Presence(Struct, frozen=True):
    """Of 256 URLs that are free to have a field, how many do."""

    lastmod: int
    priority: int
    changefreq: int


def presence_for(sites: Sequence[Site]) -> Presence:
    """What the free profiles must write for the shares to hold over all URLs of the world's sitemaps."""
    weights = [(site.profile, site.size * _COVERAGE.get(site.profile, 1.0)) for site in sites]
    total = sum(weight for _, weight in weights) or 1.0
    dated = sum(weight for profile, weight in weights if profile in ALWAYS_DATED) / total
    archive = sum(weight for profile, weight in weights if profile is Profile.ARCHIVE) / total
    return Presence(_needed(LASTMOD, dated), round(256 * PRIORITY), _needed(CHANGEFREQ, archive))


def _needed(wanted: float, given: float) -> int:
    return 0 if given >= wanted else round(256 * (wanted - given) / (1 - given))


class Scribe:
    """Writes entries for the pages of one site."""

    def __init__(self, live: LiveSite, presence: Presence) -> None:
        self._live = live
        self._presence = presence
        self._is_dated = live.site.profile in ALWAYS_DATED
        self._is_monthly = live.site.profile is Profile.ARCHIVE
        self._is_discriminating = live.site.key & 7 == 0

    def articles(self, census: Census, chosen: Iterable[int], lastmods: Sequence[int] | None = None) -> Iterator[Entry]:
        """Entries for some rows of a census; `lastmods` are ticks for all rows, the truth if there are none."""
        paths, host = self._live.paths, f"http://{self._live.site.host}"
        if lastmods is None:
            lastmods = census.modified.tolist()
        slots, keys = census.slots.tolist(), census.keys.tolist()
        numbers, born = census.generations.tolist(), census.born.tolist()
        for row in chosen:
            path = paths.article(slots[row], keys[row], numbers[row], born[row]).decode()
            yield self.entry(host + path, keys[row], lastmods[row], 0.5)

    def fixed(self, slots: Iterable[int], tick: int, lastmod: int | None = None) -> Iterator[Entry]:
        """Entries for home page, hubs and listings."""
        for slot in slots:
            state = self._live.state(slot, tick)
            when = state.modified if lastmod is None else lastmod
            url = f"http://{self._live.site.host}{self._live.paths.fixed(slot).decode()}"
            yield self.entry(url, state.key, when, 0.8 if slot else 1.0)

    def entry(self, url: str, key: int, lastmod: int, weight: float) -> Entry:
        """One entry, with the fields that the site writes."""
        bits = at(key, -50)
        presence = self._presence
        dated = self._is_dated or bits & 255 < presence.lastmod
        changefreq = ChangeFreq.MONTHLY if self._is_monthly else None
        if changefreq is None and bits >> 8 & 255 < presence.changefreq:
            changefreq = _FREQUENCIES[bits >> 24 & 3]
        priority = None
        if bits >> 16 & 255 < presence.priority:
            priority = weight if self._is_discriminating else 0.5
        return Entry(url, self.when(lastmod) if dated else None, changefreq, priority)

    def when(self, tick: int) -> Lastmod:
        """A tick as a date; archives write days."""
        moment = tick + self._live.origin
        if self._is_monthly:
            return Lastmod(float(moment // 86400 * 86400), Granularity.DAY)
        return Lastmod(float(moment), Granularity.SECOND)


def rows_where(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[int]:
    """The rows of a census for which something holds."""
    rows: list[int] = np.flatnonzero(mask).tolist()
    return rows
