"""The targets of a crawl: gives each link its action, learns from each answer, and chooses the next action.

What was learnt of a site is kept with its record. A request counts for the action of its URL: for the file that it
brought, if that is wanted, and for the new links of the page by which wanted files are named. Links that filters
refuse, and URLs that are known, are not new. Only links within a site have actions; what other sites link to waits
with the seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final
from urllib.parse import urljoin

from periplus.content import RawPage
from periplus.engine.links import Worths
from periplus.engine.part import Desk, Part, Setup
from periplus.engine.pipeline import Processed
from periplus.formats.headers import Headers
from periplus.model import (
    Accept,
    Discovery,
    Fetched,
    FetchOutcome,
    Lane,
    ParsedPage,
    Purpose,
    Redirected,
    Site,
    Source,
    Url,
)
from periplus.policy.filters import MediaTypes, type_of_header
from periplus.urls import resolve_all, site_of

from .bandit import SiteBandit, SiteTargets
from .ordering import FIRST_ACTION, TARGET_LEVEL, TargetsFirst, action_of_worth, worth_of_level
from .settings import TargetRules
from .tag_paths import TagPaths

_READ_TOGETHER: Final = 64
"""Pages whose paths are held until their links are valued; answers come in smaller batches."""


class TargetsPart(Part):
    """The targets of a shard."""

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:
        """One, if that is the ordering."""
        if not isinstance(setup.ordering, TargetsFirst):
            return []
        return [cls(desk, MediaTypes(setup.settings.some(TargetRules).media))]

    def __init__(self, desk: Desk, media: MediaTypes) -> None:
        self._media = media
        self._records, self._sites = desk.state.records, desk.records
        self._scores, self._guard = desk.frontier.scores, desk.guard
        self._paths: dict[str, TagPaths] = {}
        self._bandits: dict[Site, SiteBandit] = {}
        desk.frontier.selector.choose_levels = self._chosen

    def flush(self) -> None:
        """What was learnt is written with the records of sites, which are read again afterwards."""
        for site in self._bandits:
            self._sites.get(site).pack(SiteTargets)
        self._bandits.clear()
        self._paths.clear()

    def _bandit(self, site: Site) -> SiteBandit:
        bandit = self._bandits.get(site)
        if bandit is None:
            record = self._sites.get(site)
            learnt = record.value(SiteTargets) or record.keep(SiteTargets())
            bandit = self._bandits[site] = SiteBandit(learnt)
        return bandit

    # which links come next

    def _chosen(self, site: Site, levels: Sequence[int]) -> Sequence[int]:
        """Links to files first, then by what was learnt."""
        actions = [level - FIRST_ACTION for level in levels if level != TARGET_LEVEL]
        if len(actions) < 2:
            return levels
        first = [TARGET_LEVEL] if levels[0] == TARGET_LEVEL else []
        return first + [FIRST_ACTION + number for number in self._bandit(site).ranked(actions)]

    # where links stand

    def inspect(self, page: RawPage) -> None:
        """Find the paths of its links."""
        while len(self._paths) >= _READ_TOGETHER:
            del self._paths[next(iter(self._paths))]
        self._paths[page.url] = TagPaths(page.body)

    def worths(self) -> Worths:
        """Each link has the level of its action."""
        return self._worths

    def _worths(self, page: ParsedPage, links: Sequence[tuple[Url, str]], _worth: float) -> dict[Url, float]:
        site = site_of(page.url)
        bandit = self._bandit(site)
        paths = self._paths_of(page.url)
        worths: dict[Url, float] = {}
        for url, _ in links:
            if url not in worths:
                worths[url] = worth_of_level(self._level(bandit, site, url, paths.get(url, ""), page.url))
        self._sites.changed(self._sites.get(site))
        return worths

    def _level(self, bandit: SiteBandit, site: Site, url: Url, path: str, page: Url) -> int:
        if self._media.wants_url(url):
            return TARGET_LEVEL
        return FIRST_ACTION + (bandit.action_of(url, path, page) if site_of(url) == site else 0)

    def _paths_of(self, url: Url) -> dict[Url, str]:
        """The path of each link of a page: of several to one URL the first."""
        found = self._paths.pop(url, None)
        if found is None:
            return {}
        urls = resolve_all([href for href, _ in found.links], urljoin(url, found.base) if found.base else url)
        paths: dict[Url, str] = {}
        for link, (_, path) in zip(urls, found.links, strict=True):
            if link is not None:
                paths.setdefault(link, path)
        return paths

    def passed_on(self, processed: Processed, now: float) -> None:  # noqa: ARG002
        """Forget the paths of a page whose links were not followed."""
        self._paths.pop(processed.answer.outcome.task.url, None)

    # what requests bring

    def lead(self, processed: Processed, found: list[Discovery], now: float) -> list[Discovery]:  # noqa: ARG002
        """Learn from an answer to a first visit; a redirect leads to another request, which counts."""
        outcome = processed.answer.outcome
        task = outcome.task
        if task.purpose is Purpose.PAGE and task.visited_at is None and not isinstance(outcome, Redirected):
            self._learn(outcome, found)
        return found

    def _learn(self, outcome: FetchOutcome, found: Sequence[Discovery]) -> None:
        task = outcome.task
        worth = self._scores.worth([task.url])[0]
        if worth >= worth_of_level(TARGET_LEVEL):
            return
        named, onward = 0, Counter[int]()
        for each in self._new(task.site, found):
            if each.gain >= worth_of_level(TARGET_LEVEL):
                named += 1
            else:
                onward[action_of_worth(each.gain)] += 1
        number = action_of_worth(worth) if task.lane is Lane.DISCOVERY else 0  # lists have scores of their own
        self._bandit(task.site).learn(number, named + self._is_target(outcome), onward)
        self._sites.changed(self._sites.get(task.site))

    def _new(self, site: Site, found: Sequence[Discovery]) -> list[Discovery]:
        """The links within a site that were not known and are not refused."""
        links = [each for each in found if each.source is Source.LINK and site_of(each.url) == site]
        if not links:
            return []
        known = self._records.get([each.url for each in links])
        new = [each for each, record in zip(links, known, strict=True) if record is None]
        return [each for each, verdict in zip(new, self._guard.judge_all(new), strict=True) if verdict == Accept()]

    def _is_target(self, outcome: FetchOutcome) -> bool:
        """Whether an answer is a file of the wanted types."""
        if not isinstance(outcome, Fetched) or not 200 <= outcome.status < 300:
            return False
        mime = type_of_header(Headers(outcome.headers).get("content-type"))
        return self._media.wants(mime) if mime else self._media.wants_url(outcome.task.url)
