"""What must hold when a crawl has ended: nothing waits, nothing is lost, and what was left out has its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from tests.faults.web import Broken, Key, key_of
from tests.meeting.world import MeetingWorld

from periplus.collection.collection import states
from periplus.engine.frontier.politeness import is_tried_again, reason_of
from periplus.engine.inputs import FetchAnswer
from periplus.model import Fetched, NotModified, Purpose, Redirected, Site, Url, UrlRecord
from periplus.policy.filters.patterns import compiled
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus.store.tables import read
from periplus.urls import site_of

if TYPE_CHECKING:
    from tests.meeting.crawls import Meeting

_ROBOTS: Final = "/robots.txt#file"
"""The key of a robots.txt that a crawl without pages begins with: its own record is that of its site."""
_NO_PAGE: Final = "#"
"""In the keys of records of files and probes."""


class Evidence:
    """What the crawl has learnt, by the answers that it applied."""

    def __init__(self, seeds: Iterable[Url]) -> None:
        self.keys: Counter[Key] = Counter()
        self.led_to: dict[Url, Url] = {seed: Url("the settings") for seed in seeds}
        """URLs that the crawl was led to, each with what led there first."""
        self.pages = 0
        self.excluded: set[str] = set()
        self.learnt_kinds: set[str] = set()
        self.down: set[Site] = set()
        """Sites that were down for a while."""

    def applied(self, answer: FetchAnswer, world: MeetingWorld) -> None:
        """A machine has applied an answer."""
        outcome = answer.outcome
        task = outcome.task
        key = key_of(outcome)
        if key is not None and answer.is_request:
            self.keys[key] += 1
        if task.purpose is Purpose.PAGE:
            self.pages += not reason_of(outcome) and isinstance(outcome, Fetched | NotModified)
            for url in _led_to(outcome, world):
                self.led_to.setdefault(url, task.url)
        elif task.purpose is Purpose.SITEMAP and isinstance(outcome, Fetched) and outcome.status == 200:
            for url in world.listed_in(task.url):
                self.led_to.setdefault(url, task.url)


def _led_to(outcome: Any, world: MeetingWorld) -> list[Url]:
    url = outcome.task.url
    page = world.pages.get(url)
    if isinstance(outcome, Redirected):
        return [outcome.target]
    if not isinstance(outcome, Fetched) or outcome.status != 200 or page is None:
        return []
    return [] if page.kind == "shell" and not outcome.is_rendered else page.links


def check_limit(run: Meeting) -> None:
    """Check that no more pages were fetched than the settings allow."""
    limit = run.config.crawl.limit
    if limit and run.traffic.sleeps == 0 and run.evidence.pages > limit and run.is_crawling:
        raise Broken(f"{run.evidence.pages} pages were fetched, and {limit} are allowed")


def check_end(run: Meeting) -> None:
    """Check a crawl that ended because nothing was left to do."""
    layout = Layout(run.folder)
    records: dict[Url, UrlRecord] = {}
    retired: dict[str, str] = {}
    with states(layout) as opened:
        for number, state in opened.items():
            _check_empty(number, state)
            _check_forms(run, state)
            for site in state.sites:
                retired[site.site] = site.retired or retired.get(site.site, "")  # another shard asks for its robots.txt
                for record in state.records.of_site(site.site):
                    records[record.url] = record
                    _check_record(run, record, site.retired)
    _check_rows(run, layout)
    if run.config.value("sitemaps.only") or run.config.media.types or not run.config.reading.follow_links:
        return
    _check_accounts(run, layout, records, retired)


def check_next_visits(run: Meeting) -> None:
    """Check that a watch has a next visit for every page of sites that were down, unless people exclude the page."""
    with states(Layout(run.folder)) as opened:
        for state in opened.values():
            lines = [(site, lane) for site, lane, _ in state.queues.waiting()]
            waiting = {
                ticket.entry.url for line in lines for ticket in state.queues.heads(*line, state.queues.length(*line))
            }
            waiting.update(entry.url for entry in state.queues.postponed())
            for site in run.evidence.down:
                for record in state.records.of_site(site):
                    is_page = record.kept_at is not None and _NO_PAGE not in record.url
                    if is_page and record.due_at is None and record.url not in waiting and record.reason != "excluded":
                        raise Broken(f"{record.url} has no next visit: {record.reason}")


def _check_record(run: Meeting, record: UrlRecord, retired: str) -> None:
    """A URL was fetched, or there is a final reason why not."""
    if record.visits or record.url.endswith(_ROBOTS):
        return
    if not record.reason:
        raise Broken(f"{record.url} was neither fetched nor refused")
    if not retired and is_tried_again(run.config.retries, record.reason, record.failures):
        raise Broken(f"{record.url} was to be tried again after {record.reason}")


def _check_empty(number: int, state: DiskState) -> None:
    if len(state.queues):
        waiting = [(site, lane.name) for site, lane, _ in state.queues.waiting()]
        raise Broken(f"shard {number} has ended, and {len(state.queues)} URLs wait: {waiting[:3]}")
    listed = list(state.listings.sites())
    if listed:
        raise Broken(f"shard {number} has ended, and listed pages wait: {listed[:3]}")


def _check_forms(run: Meeting, state: DiskState) -> None:
    """No form is left whose next query was due."""
    if run.config.value("forms.enabled") != "submit" or len(run.plan.jumps) > 1:
        return
    for row in state.forms:
        if row.status in ("found", "checking", "open") and row.due_at <= run.true.at:
            raise Broken(f"the crawl has ended, and a form of {row.page} is {row.status}")


def _check_rows(run: Meeting, layout: Layout) -> None:
    """Every answer that was applied has one row."""
    rows: Counter[Key] = Counter()
    for row in read(layout.tables, "fetches", spooled=layout.spooled).to_pylist():
        if row["reason"] == "lost" and not run.traffic.sleeps:
            raise Broken(f"{row['url']} was lost, and nothing went wrong")
        if row["started_at"] is not None and row["ip"] is not None and row["reason"] not in ("lost", "cancelled"):
            rows[Url(row["url"]), round(row["started_at"].timestamp() * 1e6)] += 1
    for key, count in rows.items():
        if count > run.evidence.keys[key]:
            raise Broken(f"{key} has {count} rows, and was answered {run.evidence.keys[key]} times")
    if missing := run.evidence.keys.keys() - rows.keys():
        lost = {key for key in missing if run.world.asked[key[0], False]}
        raise Broken(f"{len(missing)} answers have no row, such as {min(lost or missing)}")


def _check_accounts(run: Meeting, layout: Layout, records: dict[Url, UrlRecord], retired: dict[str, str]) -> None:
    """Every URL that the crawl was led to was fetched, or refused for a reason; and what is owed was fetched."""
    found = read(layout.tables, "discoveries", spooled=layout.spooled, columns=["url", "refused"]).to_pylist()
    refused = {Url(row["url"]): row["refused"] for row in found if row["refused"] is not None}
    subjects: dict[str, list[UrlRecord]] = {}
    for record in records.values():
        if _NO_PAGE not in record.url:
            subjects.setdefault(run.world.subject(record.url), []).append(record)
    for url, source in run.evidence.led_to.items():
        names = subjects.get(run.world.subject(url), [])
        if url not in refused and not names:
            raise Broken(f"{source} leads to {url}, of which nothing is known")
        page = run.world.pages.get(url)
        if page is not None and page.is_owed and not any(record.visits and not record.reason for record in names):
            reasons = {record.reason for record in names} | {refused.get(url, "")}
            _check_reasons(run, url, reasons - {""}, retired)


def _check_reasons(run: Meeting, url: Url, reasons: set[str], retired: dict[str, str]) -> None:
    """An owed page was not fetched: did the settings want that? By a new name (`renamed`) it is owed as well."""
    allowed = {reason for reason, is_allowed in _allowed(run, url, retired).items() if is_allowed}
    if not reasons & allowed:
        raise Broken(f"{url} was not fetched: {sorted(reasons) or 'no reason'}")


def _allowed(run: Meeting, url: Url, retired: dict[str, str]) -> dict[str, bool]:
    """The reasons why an owed page need not be fetched, and whether each may hold in this run."""
    config, world, site = run.config, run.world, site_of(url)
    has_one_try = config.retries.max_attempts == 1
    learnt = run.evidence.learnt_kinds if site in world.farms else set()
    is_robots_broken = has_one_try and world.robots[site] == "once-broken"
    is_robots_broken = is_robots_broken or any(retired.get(site_of(each)) for each in world.robots_chains.get(site, ()))
    is_unnamed, is_moved = run.network.unnamed[1] > 0.0, run.network.moves_at <= run.true.at
    return {
        "excluded": any(compiled(pattern)(url) for pattern in run.evidence.excluded),
        "lost": run.traffic.sleeps > 0,
        "link-depth": config.budgets.max_depth < 1000,
        "site-budget": config.budgets.max_pages_per_site < 1_000_000,
        "out-of-scope": config.scope.kind != "any",
        "domain-hosts": config.budgets.hosts < 64,
        "site-bytes": retired.get(site) == "site-bytes" and config.politeness.max_bytes_per_site < 2**30,
        "spam": "spam" in learnt,
        "parked": "mirrors" in learnt,
        "http-500": has_one_try and world.pages[url].kind == "once-500",
        "robots": is_robots_broken,
        "timeout": retired.get(site) == "timeout" and world.asked[world.slow_file(site), False] > 0,
        "robots-unreachable": is_robots_broken or run.traffic.sleeps > 0 or is_unnamed or is_moved,
        "http-404": site in run.evidence.down,
        "dns-not-found": has_one_try and world.names[site] == "once",
        "dns-unavailable": is_unnamed,  # fewer than three names were looked up meanwhile, or no site had answered
        "connect-refused": has_one_try and is_moved and site in world.moving,
    }
