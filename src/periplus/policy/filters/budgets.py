"""Limits of a crawl: links from a seed, redirects in a row, URLs of one site.

Reasons: `link-depth`, `redirect-chain`, `site-budget`.

Users seldom go further than a few links into a site (Baeza-Yates & Castillo, "Crawling the infinite web", 2007), and
what has no end has to end somewhere: these are the bounds that hold when every finer guard has been deceived. URLs of
a site are counted when they are admitted, after the seen test, not when they are judged: a link that is found a
thousand times is wanted once. Budgets of domains are not a filter: what is beyond one comes later
(`crawl.frontier.domains`).
"""

from __future__ import annotations

from ...model import Discovery, Reject, Url, Verdict
from .settings import BudgetSettings
from .site_states import FilterStates
from .verdicts import ACCEPT


class Budgets:
    """Refuses what is too far from a seed, at the end of too many redirects, or one too many of its site."""

    def __init__(self, lessons: FilterStates, settings: BudgetSettings | None = None) -> None:
        settings = settings or BudgetSettings()
        self._lessons = lessons
        self._max_depth = settings.max_depth
        self._max_redirects = settings.max_redirects
        self._max_pages = settings.max_pages_per_site

    def judge(self, discovery: Discovery) -> Verdict:
        """By its way here, and by how many of its site were admitted so far."""
        if discovery.depth > self._max_depth:
            return Reject("link-depth", f"max_depth = {self._max_depth}")
        if discovery.redirects > self._max_redirects:
            return Reject("redirect-chain", f"max_redirects = {self._max_redirects}")
        if self._lessons.about(discovery.url).admitted >= self._max_pages:
            return self._refusal()
        return ACCEPT

    def admit(self, discovery: Discovery) -> Verdict:
        """Count one more, unless a neighbour in the same batch has taken the last place."""
        lessons = self._lessons.changing(discovery.url)
        if lessons.admitted >= self._max_pages:
            return self._refusal()
        lessons.admitted += 1
        return ACCEPT

    def observe(self, url: Url, is_unique: bool) -> None:
        """A budget is spent when a URL is admitted; what comes of it does not matter."""

    def reconsider(self, discovery: Discovery) -> Verdict:  # noqa: ARG002 - a port's shape
        """What was admitted has its place."""
        return ACCEPT

    def _refusal(self) -> Reject:
        return Reject("site-budget", f"max_pages_per_site = {self._max_pages}")
