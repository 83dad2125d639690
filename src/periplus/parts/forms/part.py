"""All forms of a shard.

Where forms are submitted, each goes through this: it is found; when what the sitemaps of its site list was queued, its
page is loaded a second time, for a hidden field that differs is a token; then it is open, and submits one query at a
time. A query is a discovery by `Source.FORM` and takes the way of every URL: filters, robots.txt, politeness, archive.
When every form is due is in its row: after a restart the same follows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from periplus.engine.part import Desk, Part, Setup, TakeProbe
from periplus.engine.pipeline import Processed
from periplus.model import (
    Discovery,
    Failed,
    Fetched,
    FetchOutcome,
    Form,
    FormRow,
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
from periplus.urls import site_of

from .kinds import inputs_of, kind_of
from .life import OpenForm, probed_event, reopened, year_of
from .settings import FormRules, FormTables
from .submitting import (
    DAY,
    MAX_REFUSALS,
    asks_for_captcha,
    bounded,
    count_request,
    form_key,
    is_query,
    is_refusal,
    max_requests,
    needs_value,
    next_day,
    refusal,
)

CHECK: Final = "form"
"""The kind of the probe that loads the page of a form a second time."""
MAX_FORMS_PER_SITE: Final = 100
"""Forms of a site that are kept: a site may show a new one on every page."""
_SOON: Final = 1.0
"""Seconds after which a form is looked at again that waits for sitemaps or for room; as much longer as forms wait."""
_AT_ONCE: Final = 100
"""Waiting forms that are looked at in such a time."""
_PATIENCE: Final = 3_600.0
"""Seconds after which the second load of a page is given up."""
_REMEMBERED: Final = 50_000
"""Forms that need not be looked up, at most: half a hundred bytes each."""
_UNFINISHED: Final = frozenset({"found", "checking", "open"})
_BEGUN: Final = frozenset({"checking", "open", "ended"})
"""What counts for the number of forms of a site."""
_POLL: Final = 1.0
"""Seconds after which a form is looked at again whose query has no answer yet, at least."""


class SiteForms(Struct, array_like=True):
    """The number of forms that were found at a site."""

    count: int = 0


class Forms(Part):
    """The forms of a shard's sites."""

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:
        """One; a refresh submits none."""
        settings = setup.settings
        forms = settings.some(FormTables).forms.within(settings.value("budgets.max_pages_per_site"))
        if setup.revisits_only and forms.are_submitted:
            forms = replace(forms, enabled="discover")
        return [cls(desk, FormRules(forms, setup.signed_in, settings.value("scope.suffixes")))]

    def __init__(self, desk: Desk, rules: FormRules) -> None:
        self._settings = settings = rules.settings
        self._rules = rules
        self._sites = desk.records
        self._rows = desk.state.forms
        self._records = desk.state.records
        self._has_read = desk.has_read
        self._frontier = desk.frontier
        self._router = desk.router
        self._events = desk.events
        self._seen = set[int]()
        self._open: dict[int, OpenForm] = {}
        self._of_site: dict[Site, list[int]] = {}
        self._checking: dict[Url, list[int]] = {}
        self._asked: dict[Url, int] = {}
        self._due: dict[int, float] = {}
        self._begun: Counter[Site] = Counter()
        if settings.are_submitted:
            for row in self._rows:
                self._resume(row)
        self._heap = [(at, key) for key, at in self._due.items()]
        heapify(self._heap)

    def _resume(self, row: FormRow) -> None:
        self._begun[row.site] += row.status in _BEGUN
        if row.status not in _UNFINISHED:
            return
        self._due[row.key] = row.due_at
        if row.status == "checking":
            self._checking.setdefault(row.page, []).append(row.key)
        elif row.status == "open":
            self._enter(reopened(row))

    def _enter(self, opened: OpenForm) -> None:
        row = opened.row
        self._open[row.key] = opened
        self._of_site.setdefault(row.site, []).append(row.key)
        self._asked.update(dict.fromkeys(opened.prober.state.asked, row.key))

    def _set_due(self, row: FormRow, at: float) -> None:
        row.due_at = self._due[row.key] = at
        heappush(self._heap, (at, row.key))

    def probes(self) -> Mapping[str, TakeProbe]:
        """The pages of forms, loaded a second time."""
        return {CHECK: self.checked}

    # forms that are found

    def passed_on(self, processed: Processed, now: float) -> None:
        """Note the forms of a page."""
        if processed.page is not None:
            self.page_read(processed.page, processed.answer.outcome.task.depth, now)

    def page_read(self, page: ParsedPage, depth: int, now: float) -> None:
        """Note the forms of a page that was read; if it is a record of a form, use its words for queries."""
        if page.forms and self._settings.are_found:
            site = site_of(page.url)
            for form in page.forms:
                key = _key(site, form)
                if key not in self._seen:
                    self._remember(key)
                    if self._rows.get(key) is None:
                        self._found(key, site, form, page, depth, now)
        if self._of_site:
            for key in self._of_site.get(site_of(page.url), ()):
                self._open[key].read_record(page)

    def _remember(self, key: int) -> None:
        if len(self._seen) >= _REMEMBERED:
            self._seen.clear()
        self._seen.add(key)

    def _found(self, key: int, site: Site, form: Form, page: ParsedPage, depth: int, now: float) -> None:
        record = self._sites.get(site)
        known = record.value(SiteForms) or record.keep(SiteForms())
        if known.count >= MAX_FORMS_PER_SITE:
            return
        known.count += 1
        self._sites.changed(record)
        form = bounded(form)
        reason = self._refusal(form, page, now)
        status = "refused" if reason else "found"
        row = FormRow(key, site, page.url, form, str(kind_of(form)), status, reason, now, page.charset, depth)
        if status == "found" and self._settings.are_submitted:
            self._set_due(row, now)
        self._keep(row, now)

    def _refusal(self, form: Form, page: ParsedPage, now: float) -> str:
        """Why a form is never submitted; empty if it may be."""
        reason = refusal(form, page.url, suffixes=self._rules.suffixes)
        if not reason and site_of(form.action) in self._rules.signed_in:
            reason = "form-signed-in"
        if not reason and page.directives.nofollow:
            reason = "form-nofollow"
        if not reason and needs_value(inputs_of(form, year_of(now))):
            reason = "form-needs-value"
        if not reason and not self._router.owns_site(site_of(form.action)):
            reason = "form-elsewhere"
        return reason

    def _keep(self, row: FormRow, now: float, opened: OpenForm | None = None) -> None:
        """Write a row whose status has changed, and report it."""
        self._rows.put([row])
        self._events.record([probed_event(row, None if opened is None else opened.prober, now)])

    # before a form is submitted

    def _prepare(self, row: FormRow, now: float) -> None:
        """Load the page of a form again, once its turn has come."""
        if row.status == "checking":
            self._checking[row.page].remove(row.key)
            return self._refuse(row, "form-unread", now)
        if site_of(row.form.action) in self._rules.signed_in:
            return self._refuse(row, "form-signed-in", now)
        if self._begun[row.site] >= self._settings.forms_per_site:
            return self._refuse(row, "form-too-many", now)
        if len(self._open) >= self._settings.max_open or not self._has_read(row.site):
            self._set_due(row, now + _SOON * (1 + len(self._due) / _AT_ONCE))
        elif self._forbids(row.form.action):
            return self._refuse(row, "robots", now)
        else:
            row.status = "checking"
            self._begun[row.site] += 1
            self._checking.setdefault(row.page, []).append(row.key)
            self._set_due(row, now + _PATIENCE)
            self._frontier.queue_probes([Probe(row.page, CHECK)], now)
        self._rows.put([row])
        return None

    def checked(self, outcome: FetchOutcome, page: ParsedPage | None, now: float) -> None:
        """Open a form whose page was loaded a second time, if its hidden fields are the same."""
        loaded = {} if page is None else {_key(site_of(page.url), form): form for form in page.forms}
        for key in sorted(self._checking.pop(outcome.task.url, ())):
            row = self._rows.get(key)
            if row is None:
                continue
            form = loaded.get(key)
            if page is None or form is None:
                self._refuse(row, "form-unread", now)
            elif reason := refusal(bounded(form), page.url, earlier=row.form, suffixes=self._rules.suffixes):
                self._refuse(row, reason, now)
            else:
                row.status = "open"
                opened = reopened(row)
                opened.read_form_page(page)
                self._enter(opened)
                self._set_due(row, now)
                self._keep(opened.packed(), now, opened)

    def _refuse(self, row: FormRow, reason: str, now: float) -> None:
        self._begun[row.site] -= row.status in _BEGUN
        row.status, row.reason = "refused", reason
        del self._due[row.key]
        self._keep(row, now)

    # submitting

    @property
    def next_at(self) -> float | None:
        """When the next action of a form is due."""
        heap, due = self._heap, self._due
        while heap and due.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def step(self, now: float) -> None:
        """Carry out the actions that are due."""
        while (at := self.next_at) is not None and at <= now:
            key = heappop(self._heap)[1]
            opened = self._open.get(key)
            if opened is not None:
                self._submit(opened, now)
            elif (row := self._rows.get(key)) is not None:
                self._prepare(row, now)

    def _submit(self, opened: OpenForm, now: float) -> None:
        """Submit the next query of a form, unless one is under way or its budget is used up."""
        row, prober, settings = opened.row, opened.prober, self._settings
        self._set_due(row, now + max(settings.interval, _POLL))
        self._give_up_lost(opened)
        if prober.state.asked:
            return None
        if prober.state.requests >= max_requests(settings, prober.size):
            return self._end(opened, "form-budget", now)
        if reason := opened.ending:
            return self._end(opened, reason, now)
        if not count_request(row, settings, now):
            self._set_due(row, next_day(now))
            return None
        urls = prober.wanted(1)
        if prober.state.ended:
            return self._end(opened, prober.state.ended, now)
        for url in urls:
            if self._forbids(url):
                return self._end(opened, "robots", now)
            self._ask(opened, url, now)
        return None

    def _ask(self, opened: OpenForm, url: Url, now: float) -> None:
        known = self._records.get([url])[0]
        if known is not None and known.visits:
            opened.prober.missed(url)  # it was read before, as the target of a link
            return
        self._asked[url] = opened.row.key
        self._router.deliver([Discovery(url, Source.FORM, now, opened.row.depth + 1, opened.row.page)], now)

    def _give_up_lost(self, opened: OpenForm) -> None:
        """Queries that will have no answer: a filter or robots.txt refused them, or they failed for good."""
        asked = list(opened.prober.state.asked)
        for url, record in zip(asked, self._records.get(asked), strict=True):
            if record is None or record.visits or self._is_over(record):
                self._asked.pop(url, None)
                opened.prober.missed(url)

    def _is_over(self, record: UrlRecord) -> bool:
        return bool(record.reason) and not self._frontier.is_tried_again(record, record.reason)

    def _forbids(self, url: Url) -> bool:
        """Whether robots.txt forbids a URL. Rules that are not known yet are asked for before the fetch, as ever."""
        site = site_of(url)
        return self._frontier.gate.is_known(site) and self._frontier.gate.refusal(site, url) is not None

    # answers

    def lead(self, processed: Processed, found: list[Discovery], now: float) -> list[Discovery]:
        """Learn from an answer, and return the discoveries `found` in it; records get the form as their source.

        Links of a page of results to further queries are left to the form, which requests them when it is due.
        """
        outcome, page = processed.answer.outcome, processed.page
        task = outcome.task
        key = self._asked.get(task.url) if self._asked else None
        if key is None or task.purpose is not Purpose.PAGE:
            return found
        opened = self._open[key]
        self._set_due(opened.row, now + self._settings.interval)
        if isinstance(outcome, Fetched) and is_refusal(outcome.status):
            self._refused_by_server(opened, task.url, now)
        elif isinstance(outcome, Failed):
            record = self._records.get([task.url])[0]
            if record is None or self._is_over(record):
                self._refused_by_server(opened, task.url, now)
        elif isinstance(outcome, Redirected):
            del self._asked[task.url]
            if opened.prober.moved(task.url, outcome.target):
                self._asked[outcome.target] = key
        elif page is not None:
            return self._learn(opened, page, found, now)
        else:
            del self._asked[task.url]
            opened.prober.missed(task.url)
        return found

    def _learn(self, opened: OpenForm, page: ParsedPage, found: list[Discovery], now: float) -> list[Discovery]:
        results = opened.learn(page)
        if not results.records and asks_for_captcha(page):
            self._refused_by_server(opened, page.url, now)
            return found
        del self._asked[page.url]
        opened.count_known(self._records.get(list(results.new)))
        if opened.is_to_be_reported:
            self._events.record([probed_event(opened.row, opened.prober, now)])
        left = [each for each in found if each.url != page.relations.next and not is_query(opened.row.form, each.url)]
        return [replace(each, source=Source.FORM) if each.url in results.records else each for each in left]

    def _refused_by_server(self, opened: OpenForm, url: Url, now: float) -> None:
        """Leave the form alone for a day, and forever after the third time."""
        row = opened.row
        del self._asked[url]
        opened.prober.missed(url)
        row.refusals += 1
        if row.refusals >= MAX_REFUSALS:
            self._end(opened, "form-refused", now)
        else:
            self._set_due(row, now + DAY)

    def _end(self, opened: OpenForm, reason: str, now: float) -> None:
        """End a form: it is not submitted any more."""
        row, state = opened.row, opened.prober.state
        row.status, row.reason, state.ended = "ended", reason, reason
        for url in state.asked:
            self._asked.pop(url, None)
        state.asked.clear()
        del self._open[row.key], self._due[row.key]
        self._of_site[row.site].remove(row.key)
        if not self._of_site[row.site]:
            del self._of_site[row.site]
        self._keep(opened.packed(), now, opened)
        outcome = f"{state.submitted} queries and {state.requests} pages of results led to {len(state.records)} records"
        evidence = (outcome, f"{row.known} of them were known otherwise", f"there are about {opened.prober.size:.0f}")
        self._events.record([SubjectJudged(row.site, "site", "forms", reason, 1.0, evidence, now)])

    def flush(self) -> None:
        """Write the forms that are open."""
        self._rows.put([opened.packed() for opened in self._open.values()])


def _key(site: Site, form: Form) -> int:
    return xxh3_64_intdigest(f"{site} {form_key(form)}".encode())
