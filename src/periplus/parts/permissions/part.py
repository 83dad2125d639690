"""Keeps the permission ledger of a crawl: asks for the files that pages depend on, and records what all sources say."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

from msgspec.structs import astuple

from periplus.content import RawPage, decode_body
from periplus.content.facts import AGENT
from periplus.content.licenses import named_commons, named_licenses
from periplus.engine.frontier import embedded_name
from periplus.engine.frontier.politeness import OUR_OWN, reason_of
from periplus.engine.frontier.robots import robots_url
from periplus.engine.part import Desk, Part, Setup
from periplus.engine.pipeline import Processed
from periplus.formats.headers import Headers, read_robots_tag
from periplus.formats.preferences import preference_headers
from periplus.formats.robots import Access
from periplus.formats.rsl import NamedLicense, creative_commons, header_commons, header_licenses, read_rsl
from periplus.model import (
    NO_PREFERENCES,
    Directives,
    Discovery,
    Excluded,
    Fetched,
    FetchOutcome,
    Lane,
    ParsedPage,
    Purpose,
    Redirected,
    Site,
    Source,
    Stored,
    Url,
)
from periplus.policy.permissions import ABSENT, READ, UNREACHABLE, Statement
from periplus.urls import canonical, site_of

from .files import (
    MAX_BYTES,
    MAX_FILES,
    MAX_REDIRECTS,
    MAX_WAITING,
    TDMREP_PATH,
    AskedFile,
    LicenseName,
    SitePermissions,
    WaitingPage,
)
from .rows import PermissionRow
from .settings import PermissionTables
from .statements import NO_PLACE, REFUSING, Place, of_license, of_page, of_reservations, of_robots, of_terms

_NO_DIRECTIVES: Final = Directives()
_META: Final = "meta tdm-reservation: "
_MAX_SITES: Final = 1000
"""Sites whose robots.txt is kept ready."""
_MAX_NAMED: Final = 1000
"""Pages whose licences are kept until their answers are passed on: some dozens."""
_Rules = tuple[Place, Access | None, tuple[LicenseName, ...]]
"""A robots.txt: where it is, its rules, and the licences that it names."""


class PermissionLedger(Part):
    """Records what sites permit."""

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:
        """One, if the settings want a ledger."""
        settings = setup.settings.some(PermissionTables).permissions
        return [cls(desk)] if settings.ledger else []

    def __init__(self, desk: Desk) -> None:
        self._state = desk.state
        self._records = desk.records
        self._frontier = desk.frontier
        self._gate = desk.frontier.gate
        self._events = desk.events
        self._is_ours = desk.router.owns_site
        self._named: dict[str, list[NamedLicense]] = {}
        self._rules: dict[Site, _Rules] = {}
        self._usual: dict[str, tuple[float, list[tuple[Any, ...]]]] = {}
        desk.frontier.embeds = True
        desk.on_refused.append(self._refused)

    # what answers say

    def inspect(self, page: RawPage) -> None:
        """Find the licences that a page names, before it is read."""
        named = named_licenses(page.body, page.url, page.content_type, page.link_headers)
        named += named_commons(page.body, page.url, page.link_headers)
        if named:
            if len(self._named) >= _MAX_NAMED:
                self._named.clear()
            self._named[page.url] = named
        elif self._named:
            self._named.pop(page.url, None)

    def passed_on(self, processed: Processed, now: float) -> None:
        """Record a page, or read a file."""
        outcome, stored = processed.answer.outcome, processed.answer.stored
        task = outcome.task
        if task.purpose is Purpose.PAGE:
            if not isinstance(outcome, Fetched) or not (200 <= outcome.status < 300 or outcome.status in REFUSING):
                return
            usual = self._usual.get(task.url[: task.url.find("/", 8)])
            if usual is not None and now < usual[0] and self._is_silent(processed.page):
                at, url = outcome.started_at, task.url
                self._events.record([PermissionRow(url, at, *each) for each in usual[1]])
            else:
                self._complete(self._page(outcome, processed.page, _record(stored)), now)
        elif task.purpose is Purpose.ROBOTS:
            self._robots_read(task.url, task.site, stored, now)
        elif task.lane is Lane.EMBEDDED:
            self._answered(outcome, stored, now)

    def _refused(self, outcome: Excluded, now: float) -> None:
        """A file may not be fetched, or its site was given up."""
        if outcome.task.purpose is Purpose.FILE:
            self._end(outcome.task.url, None, None, "", now)

    # pages

    def _is_silent(self, page: ParsedPage | None) -> bool:
        """Whether a page says nothing of its use, itself or by its headers; what robots.txt says is known."""
        if page is None or page.directives != _NO_DIRECTIVES or page.url in self._named:
            return False
        preferences = page.preferences
        return preferences is NO_PREFERENCES or all(said.startswith("robots.txt ") for said in preferences.said_by)

    def _page(self, outcome: Fetched, page: ParsedPage | None, record: str) -> WaitingPage:
        """What is known of a page before its files are."""
        url = outcome.task.url
        place, access, licenses = self._rules_of(outcome.task.site, url)
        found = of_robots(place, access, url)
        if self._is_silent(page):
            return WaitingPage(url, outcome.started_at, tuple(found), licenses)
        named = self._named.pop(url, None)
        headers = Headers(outcome.headers)
        head = Place("", READ, _digest_of(outcome.headers), record)
        body = Place("", READ, sha256(outcome.body).hexdigest(), record)
        if page is None:
            named = header_licenses(headers.all("link"), url) + header_commons(headers.all("link"), url)
            directives = read_robots_tag(headers.all("x-robots-tag"), AGENT)
        else:
            directives = page.directives
        found += of_page(head, body, outcome.status, headers, directives)
        for each in named or ():
            source = f"{each.by}-license"
            if each.inline:
                inline = Place("", READ, sha256(each.inline).hexdigest(), record)
                found += of_license(inline, source, read_rsl(each.inline), url)
            elif (terms := creative_commons(each.url)) is not None:
                found += of_terms(head if each.by == "header" else body, source, terms, each.url)
            elif (target := canonical(each.url)) is not None:
                licenses = (*licenses, LicenseName(source, target))
        tdm = [(name, value) for name, value in preference_headers(outcome.headers) if name.startswith("tdm-")]
        metas = {} if page is None else _tdm_metas(page)
        return WaitingPage(url, outcome.started_at, tuple(found), licenses, tuple(tdm), metas, head, body)

    def _complete(self, page: WaitingPage, now: float) -> None:
        """Record a page whose files are all known; else it waits for the first that is not."""
        tdmrep = canonical(TDMREP_PATH, page.url)
        files: dict[Url, AskedFile] = {}
        for url in (tdmrep, *(each.url for each in page.licenses)):
            if url is None:
                continue
            found = self._file(url, now)
            if isinstance(found, str):
                self._wait(page, Url(found))
                return
            files[url] = found
        statements = list(page.statements)
        if tdmrep is not None:
            file = files[tdmrep]
            statements += of_reservations(
                page.url, file.tdm_place(tdmrep), file.tdm, page.head, page.tdm_headers, page.body, page.tdm_metas
            )
        for named in page.licenses:
            file = files[named.url]
            statements += of_license(file.license_place(named.url), named.source, file.license, page.url, named.line)
        rows = [_row(page.url, page.fetched_at, each) for each in statements]
        self._events.record(rows)
        if page.head is NO_PLACE and not page.licenses and tdmrep is not None:
            self._keep_usual(page.url, files[tdmrep], rows)

    def _keep_usual(self, url: Url, file: AskedFile, rows: list[PermissionRow]) -> None:
        """Keep the rows of a page that says nothing itself, if those of all such pages of its site are the same."""
        access = self._rules_of(site_of(url), url)[1]
        has_paths = access is not None and any(rule.pattern != "/" for rule in access.usage)
        if has_paths or (file.tdm is not None and file.tdm.rules):
            return
        if len(self._usual) >= _MAX_SITES:
            del self._usual[next(iter(self._usual))]
        self._usual[url[: url.find("/", 8)]] = file.expires_at, [astuple(each)[2:] for each in rows]

    def _forget_usual(self, site: Site) -> None:
        for scheme in ("http", "https"):
            self._usual.pop(f"{scheme}://{site}", None)

    def _wait(self, page: WaitingPage, url: Url) -> None:
        record = self._records.get(site_of(url))
        kept = record.value(SitePermissions)
        if kept is not None and len(kept.files[url].waiting) < MAX_WAITING:
            kept.files[url].waiting.append(page)
            self._records.changed(record)

    def _rules_of(self, site: Site, url: Url) -> _Rules:
        """The robots.txt of a site, ready for use."""
        known = self._rules.get(site)
        if known is None:
            if len(self._rules) >= _MAX_SITES:
                del self._rules[next(iter(self._rules))]
            known = self._rules[site] = self._read_rules(site, robots_url(url))
        return known

    def _read_rules(self, site: Site, where: Url) -> _Rules:
        file, access = self._gate.file(site), self._gate.access(site)
        if file is None or isinstance(access, str):
            return Place(where, UNREACHABLE), None, ()
        if file.access != "rules":
            return Place(where, ABSENT), None, ()
        kept = self._records.get(site).value(SitePermissions)
        digest = sha256(file.body).hexdigest()
        record = kept.robots_record if kept is not None and kept.robots_digest == digest else ""
        targets = [(canonical(each.location, where), each.line) for each in access.licenses]
        named = tuple(LicenseName("robots-license", target, line) for target, line in targets if target is not None)
        return Place(where, READ, digest, record), access, named

    # files

    def _robots_read(self, url: Url, site: Site, stored: Stored | None, now: float) -> None:
        """Keep where a robots.txt is archived, and ask for the files that pages of its site will depend on."""
        file = self._gate.file(site)
        if file is None or file.fetched_at != now or file.access == "none":
            return
        self._rules.pop(site, None)
        self._forget_usual(site)
        if file.access == "rules" and stored is not None:
            record = self._records.get(site)
            kept = record.value(SitePermissions) or record.keep(SitePermissions())
            kept.robots_digest, kept.robots_record = sha256(file.body).hexdigest(), _record(stored)
            self._records.changed(record)
        if site_of(url) == site and (tdmrep := canonical(TDMREP_PATH, url)) is not None:
            self._file(tdmrep, now)
            for named in self._rules_of(site, url)[2]:
                self._file(named.url, now)

    def _file(self, url: Url, now: float) -> AskedFile | str:
        """A file that was read and is still good; if it is under way, its URL at the end of its redirects."""
        for redirects in range(MAX_REDIRECTS + 1):
            site = site_of(url)
            if not self._is_ours(site):
                break
            kept = self._records.get(site).value(SitePermissions)
            file = None if kept is None else kept.files.get(url)
            if file is None or file.expires_at <= now:
                return url if self._ask(url, now, redirects) else AskedFile()
            if file.target is None:
                return file
            url = file.target
        return AskedFile()

    def _ask(self, url: Url, now: float, redirects: int) -> bool:
        """Ask for a file that is not known, or not any more; `False` if its site has too many."""
        record = self._records.get(site_of(url))
        kept = record.value(SitePermissions) or record.keep(SitePermissions())
        file = kept.files.get(url)
        if file is None:
            for old in [each for each, known in kept.files.items() if known.expires_at <= now and not known.waiting]:
                del kept.files[old]
            if len(kept.files) >= MAX_FILES:
                return False
            file = kept.files[url] = AskedFile()
        file.target, file.expires_at = None, 0.0
        self._records.changed(record)
        found = Discovery(url, Source.LINK, now, redirects=redirects)
        self._frontier.queue_embedded([found], now, again=True)
        return True

    def _answered(self, outcome: FetchOutcome, stored: Stored | None, now: float) -> None:
        """Take the answer to a request for a file, unless it is only another attempt."""
        url = outcome.task.url
        kept = self._records.get(site_of(url)).value(SitePermissions)
        if kept is None or url not in kept.files:
            return  # a file that pages embed
        reason = reason_of(outcome)
        known = self._state.records.get([embedded_name(url)])[0]
        if reason in OUR_OWN or (reason and known is not None and self._frontier.is_tried_again(known, reason)):
            return
        if isinstance(outcome, Redirected) and outcome.task.redirects < MAX_REDIRECTS and outcome.target != url:
            kept.files[url].target = outcome.target
            self._end(url, None, None, "", now)
        elif isinstance(outcome, Fetched):
            body = None
            if 200 <= outcome.status < 300 and not outcome.is_truncated:
                codings = ",".join(Headers(outcome.headers).all("content-encoding"))
                body = decode_body(outcome.body, codings, max_size=MAX_BYTES + 1)[0]
            self._end(url, body, outcome.status, _record(stored), now)
        else:
            self._end(url, None, None, "", now)

    def _end(self, url: Url, body: bytes | None, status: int | None, record: str, now: float) -> None:
        """Keep what a file says, or where it was moved to, and continue with the pages that waited for it."""
        site = self._records.get(site_of(url))
        kept = site.value(SitePermissions)
        file = None if kept is None else kept.files.get(url)
        if file is None:
            return
        file.take(body, status, record, now)
        self._forget_usual(site.site)
        waiting, file.waiting = file.waiting, []
        self._records.changed(site)
        if file.target is not None:
            self._file(url, now)
        for page in waiting:
            self._complete(page, now)


def _row(url: Url, fetched_at: float, said: Statement) -> PermissionRow:
    return PermissionRow(
        url, fetched_at, said.use or None, said.answer, ", ".join(said.conditions) or None, said.source, said.status,
        said.place or None, said.line or None, said.rule or None, said.text or None, said.digest or None,
        said.record or None,
    )  # fmt: skip


def _record(stored: Stored | None) -> str:
    return "" if stored is None else f"{stored.file}:{stored.offset}"


def _digest_of(headers: tuple[tuple[str, str], ...]) -> str:
    """The SHA-256 of the headers of a response, a line each."""
    return sha256("".join(f"{name}: {value}\r\n" for name, value in headers).encode("utf-8", "replace")).hexdigest()


def _tdm_metas(page: ParsedPage) -> dict[str, list[str]]:
    """What the elements of a page say of TDMRep, as its preferences keep it."""
    for said in page.preferences.said_by:
        if said.startswith(_META):
            value, _, policy = said.removeprefix(_META).partition(", ")
            return {"tdm-reservation": [value], **({"tdm-policy": [policy]} if policy else {})}
    return {}
