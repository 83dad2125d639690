"""The files that sites publish about themselves, as far as they wait to be fetched like pages.

They have a lane of their own, and records of their own: what is known of a file is not what is known of a page at the
same URL. Nothing else of them is here (`crawl.sitemaps`).
"""

from __future__ import annotations

from collections.abc import Sequence

from periplus.model import Discovery, Excluded, FirstSeen, Lane, Purpose, Queued, Site, Source, State, Url, UrlRecord
from periplus.urls import site_of

from .rounds import Rounds, file_name


class Files:
    """Lets files wait, and says what became of those that were not fetched."""

    def __init__(self, state: State, rounds: Rounds) -> None:
        self._state = state
        self._rounds = rounds

    def sort_out(self, discoveries: Sequence[Discovery], now: float) -> Sequence[Discovery]:
        """Those that are of pages. A robots.txt that nobody has asked for waits, so that its site is asked."""
        if all(discovery.purpose is Purpose.PAGE for discovery in discoveries):
            return discoveries
        asked = [discovery.url for discovery in discoveries if discovery.purpose is Purpose.ROBOTS]
        known = self._state.records.get([file_name(url) for url in asked])
        self.queue([url for url, record in zip(asked, known, strict=True) if record is None], now)
        return [discovery for discovery in discoveries if discovery.purpose is Purpose.PAGE]

    def queue(self, urls: Sequence[Url], now: float) -> None:
        """Let files wait. They are nobody's discoveries: whoever knows of them has said so."""
        seen = (FirstSeen(Source.SITEMAP, now),)
        self._state.records.add_new([UrlRecord(file_name(url), seen) for url in urls])
        entries = [Queued(url, site_of(url), Lane.FILES, 0) for url in urls]
        self._state.queues.push(entries)
        self._rounds.call(entries)

    def refused(self) -> list[Excluded]:
        """Those that were not fetched after all, since this was last asked."""
        refused, self._rounds.refused_files = self._rounds.refused_files, []
        return refused

    def emptied(self) -> set[Site]:
        """The sites whose listed pages have all been taken, since this was last asked."""
        emptied, self._rounds.emptied = self._rounds.emptied, set()
        return emptied
