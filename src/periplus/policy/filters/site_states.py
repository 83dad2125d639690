"""What filters have learnt of each site: in memory for the sites in use, in the site records for the rest.

Guards decide by what they have seen; a crawl that was killed must decide as one that was not. So what they learn of a
site is one value, small and bounded, which is kept in the site's record: the caller answers `recall` with it, and takes
what has changed from `changed` before each commit. At most `max_sites` are in memory. A changed site that has to leave
is returned by the next call of `changed`; until then it stays.

A value is shared with the record that it came from or was handed to, and only changed here.

Nothing is decided here: what the numbers mean is in `traps` and `budgets`.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from ...model import InvariantError, Site, Url
from ...urls import site_of
from ..dust import SiteDust
from ..rendering import SiteRendering
from .evidence import Parameter, Paths, Window
from .page_chains import PageChain


class SiteFilterState(Struct, array_like=True):
    """What was learnt of one site: URLs admitted, pages by template and by parameter, and how many are throttled.

    `dust` are rules for duplicate URLs, and pairs of pages that speak for or against them.
    `rendering` is which templates need their scripts.
    `dated` are templates whose URLs name dates, `ahead` the days that those of a template name more than a month ahead.
    `chains` are pages that each led to one more. `paths` are those of which a page was read, since the first page
    with parameters.
    """

    admitted: int = 0
    throttled: int = 0
    templates: dict[int, Window] = field(default_factory=dict)
    parameters: dict[int, Parameter] = field(default_factory=dict)
    dust: SiteDust | None = None
    dated: list[int] = field(default_factory=list)
    ahead: dict[int, list[int]] = field(default_factory=dict)
    rendering: SiteRendering | None = None
    chains: list[PageChain] = field(default_factory=list)
    paths: Paths | None = None


_NOTHING = SiteFilterState()


class FilterStates:
    """The data of all sites. `recall` returns what was stored of a site that is not in memory (`None`: nothing)."""

    def __init__(self, recall: Callable[[Site], SiteFilterState | None] | None = None, max_sites: int = 2048) -> None:
        self._recall = recall
        self._max_sites = max(max_sites, 1)
        self._sites: dict[Site, SiteFilterState] = {}
        self._changed: dict[Site, None] = {}
        self._leaving: dict[Site, SiteFilterState] = {}
        self._last_url: Url | None = None
        self._last = _NOTHING

    def of(self, site: Site) -> SiteFilterState:
        """The data of a site, for reading only."""
        lessons = self._sites.get(site)
        if lessons is not None:
            return lessons
        if self._recall is None and site not in self._leaving:
            return _NOTHING
        return self._enter(site)

    def about(self, url: Url) -> SiteFilterState:
        """The data of the site of a URL. Several filters ask about one URL in turn, so the last answer is cached."""
        if url is not self._last_url:
            # The authority is the site, unless it holds a user name.
            lessons = self._sites.get(url.split("/", 3)[2])  # type: ignore[call-overload]
            self._last = lessons or self.of(site_of(url))
            self._last_url = url
        return self._last

    def changing(self, url: Url) -> SiteFilterState:
        """The data of the site of a URL, for changing."""
        site = site_of(url)
        if site in self._changed:
            return self._sites[site]
        lessons = self._sites.pop(site, None)
        if lessons is None:
            lessons = self._enter(site)
        else:
            self._sites[site] = lessons  # at the end: a site that is unchanged for long leaves first
        self._changed[site] = None
        return lessons

    def changed(self) -> list[tuple[Site, SiteFilterState]]:
        """The data that changed since the last call, or left memory: to be stored with the next commit."""
        states = [*self._leaving.items(), *((site, self._sites[site]) for site in self._changed)]
        self._leaving.clear()
        self._changed.clear()
        return states

    def __len__(self) -> int:
        """How many sites are in memory."""
        return len(self._sites)

    def check_invariants(self) -> None:
        """What must hold between calls."""
        if len(self._sites) > self._max_sites:
            raise InvariantError(f"{len(self._sites)} sites in memory, {self._max_sites} allowed")
        for site, lessons in self._sites.items():
            windows = [*lessons.templates.values(), *(each.window for each in lessons.parameters.values())]
            if lessons.throttled != sum(window.steps > 0 for window in windows):
                raise InvariantError(f"{site}: {lessons.throttled} is not the number of throttled kinds")
        if SiteFilterState() != _NOTHING or not self._changed.keys() <= self._sites.keys():
            raise InvariantError("the state of a site's filters was changed elsewhere")

    def _enter(self, site: Site) -> SiteFilterState:
        """Load a site into memory."""
        lessons = self._leaving.pop(site, None)
        if lessons is not None:
            self._changed[site] = None
        elif self._recall is not None:
            lessons = self._recall(site)
        return self._add(site, SiteFilterState() if lessons is None else lessons)

    def _add(self, site: Site, lessons: SiteFilterState) -> SiteFilterState:
        self._last_url = None
        if len(self._sites) >= self._max_sites:
            oldest = next(iter(self._sites))
            leaving = self._sites.pop(oldest)
            if oldest in self._changed:
                del self._changed[oldest]
                self._leaving[oldest] = leaving
        self._sites[site] = lessons
        return lessons
