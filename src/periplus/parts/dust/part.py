"""Learns rules for duplicate URLs from the pages that are read (`parts.dust`).

For each page that is read for the first time, the URLs that rules would make of its own are looked up, all in one
batch, and compared with it. What is learnt is kept with what filters learn of the site, which applies the rules
(`renames`). A rule is withdrawn when pages contradict it, when the new name of a URL redirects back, or
when it answers with an error while the URL itself, which is then fetched as a probe, is a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from periplus.content import likeness, version_of
from periplus.engine.part import Desk, Part, Setup, TakeLearnt, TakeProbe
from periplus.engine.pipeline import Processed
from periplus.formats.robots import parse
from periplus.model import (
    BodyReading,
    Digests,
    Fetched,
    FetchOutcome,
    ParsedPage,
    Probe,
    Purpose,
    Redirected,
    Site,
    Source,
    SubjectJudged,
    Url,
    UrlRecord,
)
from periplus.policy.filters import path_template_of
from periplus.policy.filters.chain import MakeFilter
from periplus.urls import canonical, site_of

from .evidence import lower_quantile
from .given import GivenRules, RuleFile, given_rules
from .learning import (
    Observation,
    Pair,
    RuleChange,
    SiteDust,
    adopt,
    checked,
    is_awaited,
    is_looked_up,
    learn,
    redirected_back,
    suspend,
    target_failed,
    target_read,
)
from .renames import Renames
from .renaming import anchor_of, anchored, is_probe, wanted_anchors
from .rules import DustRule, UrlRenaming, apply, describe, operation_between, operations, with_prefixes
from .settings import DustSettings, DustTables

if TYPE_CHECKING:
    from periplus.insight.views import Views

PROBE_KIND: Final = "dust"
"""The kind of probes that check a rule."""
_SMALL_CLUSTER: Final = 5
"""Pages with the same text that are too few to say that a site answers everything alike."""
_MAX_FORGONE: Final = 20_000
"""URLs of a site that are looked at when a rule is learnt: few rules of a larger site are learnt that late."""
_MAX_CLEANED: Final = 64
"""Lines of `Clean-param` of a site that are used."""


class _Found(NamedTuple):
    """A page, the operations of its URL, and where their bases are among all that are looked up."""

    page: ParsedPage
    reading: BodyReading
    found: list[UrlRenaming]
    first: int


def renames_for(setup: Setup) -> MakeFilter:
    """What makes the filter that applies the rules."""
    return partial(Renames, settings=setup.settings.some(DustTables).dust, given=given_rules(setup))


class DustLearner(Part):
    """Learns from answers. `given` are rules of people and of earlier crawls, which the filters apply, too."""

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:
        """One learner."""
        return [cls(desk, setup.settings.some(DustTables).dust, given_rules(setup))]

    @classmethod
    def judge(cls, setup: Setup, views: Views, now: float) -> dict[str, Sequence[SubjectJudged]]:  # noqa: ARG003 - rules have none
        """Write the rules that the crawl learnt to `insight/dust.json`, beside those that a person added to it."""
        from .found_rules import write_learnt_rules  # loads DuckDB

        write_learnt_rules(setup, views)
        return {}

    def __init__(self, desk: Desk, settings: DustSettings, given: GivenRules) -> None:
        self._states = desk.guard.states
        self._records = desk.state.records
        self._robots = desk.state.robots
        self._frontier = desk.frontier
        self._events = desk.events
        self._forget_links = desk.forget_links
        self._settings = settings
        self._given = given
        desk.on_exhausted.append(self._exhausted)

    def probes(self) -> Mapping[str, TakeProbe]:
        """Those that check a rule."""
        return {PROBE_KIND: self.probed}

    def learnt(self) -> Mapping[str, TakeLearnt]:
        """Rules that a job has found."""
        return {"dust": self.take_learnt}

    def take_learnt(self, content: bytes, now: float) -> None:
        """Use the rules that `periplus judge` wrote down: a file as people edit it.

        A machine that is opened takes them again (`now` is 0): its links were found under these rules.
        """
        self._given.take_learnt(msgspec.json.decode(content, type=RuleFile))
        if now:
            self._forget_links(now)

    def learn(self, processed: Sequence[Processed], now: float) -> None:
        """Learn from answers that were reported to the frontier, so that their records are current."""
        if self._settings.enabled:
            pages, bases = self._operations(processed)
            records = self._records.get(bases) if bases else []
            for each in pages:
                self._learn_page(each, records, now)
            for answer, page, _ in processed:
                if page is None and answer.outcome.task.purpose is Purpose.PAGE:
                    self._learn_failure(answer.outcome, now)
        for answer, _, _ in processed:
            if answer.outcome.task.purpose is Purpose.ROBOTS:
                self._read_clean_params(answer.outcome.task.site)

    def _operations(self, processed: Sequence[Processed]) -> tuple[list[_Found], list[Url]]:
        pages: list[_Found] = []
        bases: list[Url] = []
        for answer, page, reading in processed:
            task = answer.outcome.task
            if page is None or reading is None or task.visited_at is not None or not page.main_text:
                continue
            url = task.url
            if task.source is Source.FORM:
                continue  # results that show nothing are equal, and their parameters matter nevertheless
            dust = self._states.about(url).value(SiteDust)
            template = path_template_of(url) if "?" in url else ""  # only rules about queries ask for it
            has_secure = dust is not None and dust.has_secure
            if not has_secure and url.startswith("https:"):
                state = self._states.changing(url)
                dust = state.value(SiteDust) or state.keep(SiteDust())
                dust.has_secure = has_secure = True
            known = dust.known.values() if dust else ()
            found = operations(url, template, known, _split_names(dust), has_secure=has_secure)
            if found and dust is not None and dust.missed:
                found = [each for each in found if is_looked_up(dust, each)]
            pages.append(_Found(page, reading, found, len(bases)))
            bases += [Url(each.variant or each.base) for each in found]
        return pages, bases

    def _learn_page(self, each: _Found, records: Sequence[UrlRecord | None], now: float) -> None:
        url, reading = each.page.url, each.reading
        state = self._states.changing(url)
        dust = state.value(SiteDust) or state.keep(SiteDust())
        if not dust.pages:
            self._begin(dust, site_of(url))
        if dust.targets:
            target_read(dust, url)
        of_cluster = self._pair_of_cluster(url, reading, each.found, dust)
        if not each.found and not of_cluster and "?" not in url and not is_awaited(dust, url):
            dust.pages += 1
            return
        pairs, unread = [], []
        own: UrlRecord | None = None
        for operation, record in zip(each.found, records[each.first : each.first + len(each.found)], strict=True):
            if operation.variant:
                if record is not None and record.digests is not None:
                    pairs.append(self._pair(operation, reading, record))
            elif record is None or record.digests is None or operation.base == url:
                unread.append(operation)
            else:
                own = own or self._records.get([url])[0]
                pairs.append(self._pair(operation, reading, record, _vote(operation.base, each.page, own, record)))
        is_countable = self._is_countable(each.page, reading, dust)
        text = reading.digests.main
        page = Observation(url, _identity(reading), (*pairs, *of_cluster), tuple(unread), is_countable, text)
        changes = learn(dust, page, self._settings, self._given.familiar)
        if changes:
            self._report(site_of(url), changes, now)
        bases = wanted_anchors(dust, page, self._settings)
        if bases:
            self._frontier.queue_probes([Probe(Url(base), PROBE_KIND) for base in bases], now)

    def _begin(self, dust: SiteDust, site: Site) -> None:
        """Start with the rules that an earlier crawl had learnt, after the first page of a site was read."""
        for each in self._given.adopted(site):
            adopt(dust, each.rule, each.equal, each.unequal, self._settings)

    def _pair(self, operation: UrlRenaming, reading: BodyReading, record: UrlRecord, vote: int = 0) -> Pair:
        """A page, and the page of a record with which an operation would make it one."""
        digests, other = reading.digests, record.digests
        is_equal = self._is_equal(digests, reading.version, record)
        has_same_text = other is not None and other.main == digests.main
        if operation.rules[0].kind == "drop-segment":
            is_equal = has_same_text
        return Pair(
            operation, is_equal, vote, has_same_text=has_same_text,
            has_same_links=other is not None and other.links == digests.links,
        )  # fmt: skip

    def _pair_of_cluster(
        self, url: Url, reading: BodyReading, found: Sequence[UrlRenaming], dust: SiteDust
    ) -> list[Pair]:
        """A page and the best known page with the same text, if their URLs differ by a prefix or a segment.

        If the page itself is the best known: one whose URL has a prefix of which there is a rule.
        """
        placement = reading.placement
        if placement is None or (placement.size == 1 and placement.canonical == url):
            return []
        known = {rule for each in found for rule in each.rules}
        if placement.canonical == url:
            pairs = with_prefixes(url, dust.known.values())
        else:
            between = operation_between(url, placement.canonical)
            pairs = [] if between is None else [(placement.canonical, between[1])]
        pairs = [each for each in pairs if each[1].rules[0] not in known]
        records = self._records.get([Url(other) for other, _ in pairs]) if pairs else ()
        return [
            self._pair(operation, reading, record)
            for (_, operation), record in zip(pairs, records, strict=True)
            if record is not None and record.digests is not None
        ]

    def _is_equal(self, digests: Digests, version: bytes, record: UrlRecord) -> bool | None:
        if record.digests is None:
            return None
        if record.digests.main == digests.main:
            return True
        resemblance = likeness(record.version, version)
        if resemblance >= self._settings.equal_from:
            return True
        if resemblance < self._settings.unequal_below:
            return False
        return True if record.digests.links == digests.links else None

    def _is_countable(self, page: ParsedPage, reading: BodyReading, dust: SiteDust) -> bool:
        """Whether the text of a page is its own: not an error, and not what much of the site says."""
        placement = reading.placement
        if placement is None or page.is_soft_404:
            return False
        return placement.size <= max(_SMALL_CLUSTER, self._settings.max_cluster * dust.pages)

    def _learn_failure(self, outcome: FetchOutcome, now: float) -> None:
        url = outcome.task.url
        dust = self._states.about(url).value(SiteDust)
        if dust is None or not (dust.rules or dust.targets):
            return
        if isinstance(outcome, Redirected):
            template = path_template_of(outcome.target)
            made = [(key, apply(rule, outcome.target, template) or "") for key, rule in dust.rules.items()]
            if any(name == url for _, name in made):
                changed = self._states.changing(url).value(SiteDust) or dust
                self._report(site_of(url), redirected_back(changed, url, made), now)
        elif isinstance(outcome, Fetched) and outcome.status >= 400:
            variant = target_failed(self._states.changing(url).value(SiteDust) or dust, url)
            if variant is not None:
                self._frontier.queue_probes([Probe(Url(variant), PROBE_KIND)], now)

    def _exhausted(self, sites: Sequence[Site], now: float) -> None:
        """Read what aliases spared that are not certain: there is nothing else left."""
        for site in sites:
            dust = self._states.of(site).value(SiteDust)
            if dust is not None and dust.rules and self._settings.enabled:
                changed = self._states.changing(Url(f"http://{site}/")).value(SiteDust) or dust
                if suspend(changed, self._settings):
                    self._frontier.requeue_renamed(site, now)
                    self._forget_links(now)

    def probed(self, outcome: FetchOutcome, page: ParsedPage | None, now: float) -> None:
        """Take the answer to a probe that checks a rule."""
        url = outcome.task.url
        dust = self._states.changing(url).value(SiteDust)
        if dust is None:
            return
        anchor = anchor_of(dust, url)
        if anchor is not None:
            record = self._records.get([Url(anchor[0])])[0]
            known = None if page is None or record is None else self._is_equal(page.digests, version_of(page), record)
            anchored(dust, anchor[1], bool(known))
        self._report(site_of(url), checked(dust, url, page is not None), now)

    def _read_clean_params(self, site: Site) -> None:
        """Take over what robots.txt says of idle parameters."""
        file = self._robots.get(site)
        lines: tuple[tuple[tuple[str, ...], str], ...] = ()
        if file is not None and b"clean-param" in file.body.lower():
            given = parse(file.body).clean_params[:_MAX_CLEANED]
            lines = tuple((each.params, each.path) for each in given)
        url = Url(f"http://{site}/")
        dust = self._states.about(url).value(SiteDust)
        if lines != (dust.cleaned if dust is not None else ()):
            state = self._states.changing(url)
            (state.value(SiteDust) or state.keep(SiteDust())).cleaned = lines

    def _report(self, site: Site, changes: Sequence[RuleChange], now: float) -> None:
        """Report rules. Where one fell, URLs that it renamed may be wanted."""
        if changes:
            self._events.record([_verdict(site, change, now) for change in changes])
        for change in changes:
            if change.is_accepted:
                self._forgo_names(site, change.rule)
        if not all(change.is_accepted for change in changes):
            self._frontier.requeue_renamed(site, now)
            self._forget_links(now)

    def _forgo_names(self, site: Site, rule: DustRule) -> None:
        """Pages of a site that were read are not fetched again by the names that a new rule gives them."""
        read: dict[Url, UrlRecord] = {}
        for record in islice(self._records.of_site(site), _MAX_FORGONE):
            name = apply(rule, record.url, path_template_of(record.url)) if record.digests is not None else None
            short = canonical(name) if name is not None else None
            if short is not None and site_of(short) == site and not is_probe(short, self._settings.probe):
                read[short] = record
        self._frontier.forgo_renamed(read, describe(rule))


def _split_names(dust: SiteDust | None) -> frozenset[str]:
    """Parameters that matter with some values: those of rules that were counted and found unequal."""
    return frozenset() if dust is None else frozenset(dust.split)


def _identity(reading: BodyReading) -> int:
    """A value that pages with the same text share."""
    return reading.digests.main if reading.placement is None else reading.placement.cluster


def _vote(base: str, page: ParsedPage, own: UrlRecord | None, record: UrlRecord) -> int:
    """1 if sitemaps, or else the canonical link, prefer the base to the page's own URL; -1 if sitemaps prefer that."""
    lists_base, lists_own = _is_listed(record), own is not None and _is_listed(own)
    if lists_base != lists_own:
        return 1 if lists_base else -1
    return int(page.canonical == base)


def _is_listed(record: UrlRecord) -> bool:
    return any(seen.source is Source.SITEMAP for seen in record.first_seen)


def _verdict(site: Site, change: RuleChange, now: float) -> SubjectJudged:
    pairs = f"{change.equal} pairs of pages were equal, {change.unequal} were not"
    reasons = (describe(change.rule), pairs, *([change.reason] if change.reason else []))
    score = lower_quantile(change.equal, change.unequal)
    return SubjectJudged(site, "site", "dust", "learnt" if change.is_accepted else "withdrawn", score, reasons, now)
