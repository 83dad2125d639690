"""Combines all filters of a crawl into one: the first refusal is the verdict.

A rewrite starts the chain again with the new URL, because the filters before it have not judged that URL. The crawl
calls the chain at three moments:

1. `judge_all`, before the seen test, for all URLs that are discovered together. It changes nothing: a URL may be found
   often.
2. `admit`, after the seen test, for new URLs: budgets and parameters are counted here, once for each URL. It can still
   refuse, because other URLs of the same batch were judged by the same count.
3. `reconsider`, when a URL is about to be fetched: a trap may have been detected since it was admitted.

`observe` reports the result of a fetch. The chain is a `Guard`: what its filters learn is stored by site (see
`site_states`). `Budgets` and `Wanted` are filters; `standard_chain` has all filters in their order.

Reasons: `rewrite-loop`, `link-depth`, `redirect-chain`, `site-budget`, `not-wanted`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Protocol, runtime_checkable

from msgspec.structs import replace

from periplus.model import Accept, Discovery, Filter, Purpose, Reject, Rewrite, Site, Url, Verdict

from ..found import Want, failed_call, found_of
from .calendars import Calendars
from .media import Extensions, MediaTypes
from .patterns import Patterns
from .reasons import ACCEPT
from .scope import Scope, Shape
from .sessions import Sessions
from .settings import BudgetSettings, FilterSettings
from .site_states import MAX_REFUSED, FilterStates, SiteFilterState
from .traps import Traps

MAX_REWRITES = 4

Judge = Callable[[Discovery], Verdict]
"""The judgement of one filter."""
Unclear = Callable[[Sequence[Url]], list[int]]
"""Which of many URLs a filter has to judge."""
Concerns = Callable[[SiteFilterState], bool]
"""Whether a filter may refuse or rename a URL of a site with this data."""
WantedPair = tuple[Url, Callable[[bool], None]]
"""Another URL, which may be known or not, and what is to be called with that."""
MakeFilter = Callable[[FilterStates], Filter]
"""Makes a filter that keeps its data of sites in these states."""


@runtime_checkable
class CountingFilter(Protocol):
    """A filter that counts what was admitted."""

    def admit(self, discovery: Discovery) -> Verdict:
        """Count a URL that is new."""


@runtime_checkable
class ObservingFilter(Protocol):
    """A filter that learns from what was fetched."""

    def observe(self, url: Url, is_unique: bool) -> None:
        """Learn from a page that was fetched."""


@runtime_checkable
class ReconsideringFilter(Protocol):
    """A filter that may judge otherwise when a URL is about to be fetched."""

    def reconsider(self, discovery: Discovery) -> Verdict:
        """Judge an admitted URL again."""


@runtime_checkable
class GlancingFilter(Protocol):
    """A filter without memory that accepts most URLs at a glance, however long they are."""

    def unclear(self, urls: Sequence[Url]) -> list[int]:
        """The positions of those that have to be judged; the others it accepts, whatever their source."""


@runtime_checkable
class SiteFilter(Protocol):
    """A filter that judges by the data of a site, and accepts every URL of most sites."""

    def concerns(self, state: SiteFilterState) -> bool:
        """Whether it may refuse or rename a URL of a site with this data."""


@runtime_checkable
class RenamingFilter(Protocol):
    """A filter that learns which URLs are names of the same page. A chain has one at most."""

    def renamed(self, variant: Url, target: Url) -> None:
        """Note that a URL was rewritten to one that was not known before."""

    def may_remember(self, variant: Url) -> bool:
        """Whether there is room to remember a URL that was rewritten by a rule that may be withdrawn. It is counted."""

    def wanted_pairs(self, url: Url) -> list[WantedPair]:
        """The URLs that may be other names of a new one, if that is to be found out soon."""


class Guard(CountingFilter, ObservingFilter, ReconsideringFilter, RenamingFilter, Protocol):
    """A filter that learns from fetched pages, site by site, and whose data is stored with the sites."""

    def judge_all(self, discoveries: Sequence[Discovery]) -> list[Verdict]:
        """The verdict on each, as every filter gives it, without learning."""

    @property
    def states(self) -> FilterStates:
        """The data of all sites."""

    def changed(self) -> list[tuple[Site, SiteFilterState]]:
        """The data that changed since the last call, by site: to be stored with the next commit."""

    def page_read(self, url: Url, depth: int, sketch: bytes, links: Sequence[Url]) -> None:
        """Learn from a page that was read for the first time: how far from the seeds, its text, and where it leads."""

    def may_remember_refused(self, url: Url) -> bool:
        """Whether there is room to remember a URL that was refused by a verdict that may fall. It is counted."""

    def lifted(self) -> list[Site]:
        """Sites at which a verdict on a kind of URL has fallen since the last call."""

    def follow(self, site: Site) -> int:
        """How many URLs of endless branches of a site are let through by now: it has no others left."""

    def look_again(self, site: Site) -> int:
        """How many other URLs of a site are let through by now that were refused: it has no others left."""


class Chain:
    """Filters in order. Put cheap ones first, and those that bound a URL before those that search it."""

    def __init__(self, filters: Sequence[Filter], states: FilterStates | None = None) -> None:
        self._judges: list[Judge] = [each.judge for each in filters]
        without_memory = list(takewhile(lambda each: not isinstance(each, SiteFilter), filters))
        self._without_memory: list[tuple[Judge, Unclear | None]] = [
            (each.judge, each.unclear if isinstance(each, GlancingFilter) else None) for each in without_memory
        ]
        self._others: list[tuple[Judge, Concerns | None]] = [
            (each.judge, each.concerns if isinstance(each, SiteFilter) else None)
            for each in filters[len(without_memory) :]
        ]
        self._counting = [each.admit for each in filters if isinstance(each, CountingFilter)]
        self._observing = [each.observe for each in filters if isinstance(each, ObservingFilter)]
        self._reconsidering = [each.reconsider for each in filters if isinstance(each, ReconsideringFilter)]
        self._traps = [each for each in filters if isinstance(each, Traps)]
        self._renaming = next((each for each in filters if isinstance(each, RenamingFilter)), None)
        self._states = states if states is not None else FilterStates()

    def judge(self, discovery: Discovery) -> Verdict:
        """Accept, the first refusal, or the URL under which the page is known."""
        verdict = _first_word(self._judges, discovery)
        return self._judge_again(discovery, verdict) if isinstance(verdict, Rewrite) else verdict

    def judge_all(self, discoveries: Sequence[Discovery]) -> list[Verdict]:
        """The verdict on each, as `judge` gives it.

        Filters look at all URLs at once first, and the data of a site is looked at once for all of its URLs.
        """
        asked = self._first_asked(discoveries)
        of_site: dict[str, list[Judge]] = {}
        verdicts: list[Verdict] = []
        for place, discovery in enumerate(discoveries):
            verdict = _first_word(asked[place], discovery) if place in asked else ACCEPT
            if verdict is ACCEPT:
                authority = discovery.url.split("/", 3)[2]
                judges = of_site.get(authority)
                if judges is None:
                    judges = of_site[authority] = self._judges_of(discovery.url)
                verdict = _first_word(judges, discovery)
            verdicts.append(self._judge_again(discovery, verdict) if isinstance(verdict, Rewrite) else verdict)
        return verdicts

    def _first_asked(self, discoveries: Sequence[Discovery]) -> dict[int, list[Judge]]:
        """Of the filters without memory, those that do not accept a URL at a glance, by its position."""
        urls = [discovery.url for discovery in discoveries]
        asked: dict[int, list[Judge]] = {}
        for judge, unclear in self._without_memory:
            for place in range(len(urls)) if unclear is None else unclear(urls):
                asked.setdefault(place, []).append(judge)
        return asked

    def _judges_of(self, url: Url) -> list[Judge]:
        """The filters that may have something to say about URLs of the site of this one."""
        if not self._others:
            return []
        state = self._states.about(url)
        return [judge for judge, concerns in self._others if concerns is None or concerns(state)]

    def admit(self, discovery: Discovery) -> Verdict:
        """Count a URL that was accepted and is new; refuse it if others have used up what there was."""
        for admit in self._counting:
            verdict = admit(discovery)
            if verdict is not ACCEPT and isinstance(verdict, Reject):
                return verdict
        return ACCEPT

    def reconsider(self, discovery: Discovery) -> Verdict:
        """Whether a URL that was admitted is wanted still, and under its name."""
        for reconsider in self._reconsidering:
            verdict = reconsider(discovery)
            if verdict is not ACCEPT and not isinstance(verdict, Accept):
                return verdict
        return ACCEPT

    def observe(self, url: Url, is_unique: bool) -> None:
        """Learn from a page that was fetched; `is_unique`: no other URL had its text before."""
        for observe in self._observing:
            observe(url, is_unique)

    def page_read(self, url: Url, depth: int, sketch: bytes, links: Sequence[Url]) -> None:
        """Learn from a page that was read for the first time: how far from the seeds, its text, and where it leads."""
        for each in self._traps:
            each.page_read(url, depth, sketch, links)

    def may_remember_refused(self, url: Url) -> bool:
        """Whether there is room to remember a URL that was refused by a verdict that may fall. It is counted."""
        if self._states.about(url).refused >= MAX_REFUSED:
            return False
        self._states.changing(url).refused += 1
        return True

    def lifted(self) -> list[Site]:
        """Sites at which a verdict on a kind of URL has fallen since the last call."""
        sites: list[Site] = []
        for each in self._traps:
            if each.lifted:
                sites += each.lifted
                each.lifted.clear()
        return sites

    def follow(self, site: Site) -> int:
        """How many URLs of endless branches of a site are let through by now: it has no others left."""
        return sum(each.follow(site) for each in self._traps)

    def look_again(self, site: Site) -> int:
        """How many other URLs of a site are let through by now that were refused: it has no others left."""
        return sum(each.look_again(site) for each in self._traps)

    def renamed(self, variant: Url, target: Url) -> None:
        """Note that a URL was rewritten to one that was not known before."""
        if self._renaming is not None:
            self._renaming.renamed(variant, target)

    def may_remember(self, variant: Url) -> bool:
        """Whether there is room to remember a URL that was rewritten by a rule that may be withdrawn."""
        return self._renaming is not None and self._renaming.may_remember(variant)

    def wanted_pairs(self, url: Url) -> list[WantedPair]:
        """The URLs that may be other names of a new one, if that is to be found out soon."""
        return [] if self._renaming is None else self._renaming.wanted_pairs(url)

    @property
    def states(self) -> FilterStates:
        """The data of all sites."""
        return self._states

    def changed(self) -> list[tuple[Site, SiteFilterState]]:
        """The data that changed since the last call, by site: to be stored with the next commit."""
        return self._states.changed()

    def check_invariants(self) -> None:
        """Check what must hold between calls."""
        self._states.check_invariants()

    def _judge_again(self, discovery: Discovery, verdict: Rewrite) -> Verdict:
        """Ask every filter about the rewritten URL, and about the next if there is one."""
        rules, learnt_from = [verdict.rule], verdict.learnt_from
        for _ in range(MAX_REWRITES):
            discovery = replace(discovery, url=verdict.url)
            again = _first_word(self._judges, discovery)
            if isinstance(again, Reject):
                return again
            if isinstance(again, Accept):
                return Rewrite(discovery.url, ", ".join(rules), learnt_from)
            verdict = again
            learnt_from = learnt_from or verdict.learnt_from
            rules.append(verdict.rule)
        return Reject("rewrite-loop", ", ".join(rules))


def _first_word(judges: Iterable[Judge], discovery: Discovery) -> Verdict:
    """The first verdict that does not accept."""
    for judge in judges:
        verdict = judge(discovery)
        if verdict is not ACCEPT and not isinstance(verdict, Accept):
            return verdict
    return ACCEPT


class Budgets:
    """Refuses URLs too many links from a seed, after too many redirects in a row, or beyond the page limit of a site.

    Users seldom go further than a few links into a site (Baeza-Yates & Castillo, "Crawling the infinite web", 2007),
    and these bounds hold when all finer filters fail. URLs are counted when they are admitted, not when they are
    judged: a link that is found a thousand times is fetched once. Budgets of domains are not a filter: URLs beyond one
    come later (`engine.frontier.domains`).
    """

    def __init__(self, states: FilterStates, settings: BudgetSettings | None = None) -> None:
        settings = settings or BudgetSettings()
        self._states = states
        self._max_depth = settings.max_depth
        self._max_redirects = settings.max_redirects
        self._max_pages = settings.max_pages_per_site

    def judge(self, discovery: Discovery) -> Verdict:
        """Judge a URL by its depth and redirects, and by how many of its site were admitted so far."""
        if discovery.depth > self._max_depth:
            return Reject("link-depth", f"max_depth = {self._max_depth}")
        if discovery.redirects > self._max_redirects:
            return Reject("redirect-chain", f"max_redirects = {self._max_redirects}")
        if self._states.about(discovery.url).admitted >= self._max_pages:
            return self._refusal()
        return ACCEPT

    def admit(self, discovery: Discovery) -> Verdict:
        """Count one more, unless a neighbour in the same batch has taken the last place."""
        state = self._states.changing(discovery.url)
        if state.admitted >= self._max_pages:
            return self._refusal()
        state.admitted += 1
        return ACCEPT

    def _refusal(self) -> Reject:
        return Reject("site-budget", f"max_pages_per_site = {self._max_pages}")


class Wanted:
    """Refuses the URLs for which the function given as `want=` returns a false value.

    The function must return the same each time. It is not called for seeds, for the targets of their redirects, nor for
    files such as sitemaps: a function that accepts product pages need not accept the home page that links to them.
    """

    def __init__(self, want: Want) -> None:
        self._want = want

    def judge(self, discovery: Discovery) -> Verdict:
        """Ask the function. Raises `UsageError` if it raises."""
        found = found_of(discovery)
        if found.is_seed or discovery.purpose is not Purpose.PAGE:
            return ACCEPT
        try:
            is_wanted = bool(self._want(discovery.url, found))
        except Exception as error:
            raise failed_call("want", discovery.url, error) from error
        return ACCEPT if is_wanted else Reject("not-wanted", "want")


def standard_chain(
    seeds: Iterable[Url] | Scope,
    settings: FilterSettings | None = None,
    recall: Callable[[Site], SiteFilterState | None] | None = None,
    want: Want | None = None,
    learning: Sequence[MakeFilter] = (),
) -> Chain:
    """The chain of an ordinary crawl. `recall` returns what was kept of a site (see `FilterStates`).

    `want` is a program's own filter, which is asked after those without memory, `learning` are further filters with
    memory, which are asked next. A caller that widens the scope later makes it and passes it in place of the seeds.

    Cheap filters come before expensive ones, and bounds before searches. Filters that rewrite come before those that
    judge the place of a URL, so that few URLs are judged twice.
    """
    settings = settings or FilterSettings()
    scope = seeds if isinstance(seeds, Scope) else Scope(seeds, settings.scope)
    states = FilterStates(recall, settings.traps.max_sites)
    with_memory: list[Filter] = [
        *(make(states) for make in learning),
        Calendars(states),
        Budgets(states, settings.budgets),
        Traps(states, settings.traps),
    ]
    return Chain([*_without_memory(scope, settings, want), *with_memory], states)


def screening_chain(scope: Scope, settings: FilterSettings | None = None, want: Want | None = None) -> Chain:
    """The filters that need no memory of a site: for a shard that sends a URL to the shard of its site."""
    return Chain(_without_memory(scope, settings or FilterSettings(), want))


def _without_memory(scope: Scope, settings: FilterSettings, want: Want | None) -> list[Filter]:
    """The filters that have something to refuse."""
    filters: list[Filter] = [Shape(settings.shape), Sessions(settings.sessions)]
    if settings.extensions.refused:
        filters.append(Extensions(settings.extensions, MediaTypes(settings.media)))
    if scope.kind != "any":
        filters.append(scope)
    if settings.patterns.include or settings.patterns.exclude:
        filters.append(Patterns(settings.patterns))
    if want is not None:
        filters.append(Wanted(want))
    return filters
