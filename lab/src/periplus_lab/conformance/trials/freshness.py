"""The next visit: a crawl is followed by another, between which some pages changed and most did not.

A crawler that asks with validators (RFC 9110 section 13) is told 304 for what it has. Crawlers that visit again only
what they think has changed are judged by the same rule: no page that has not changed is sent again in full.
"""

from __future__ import annotations

from collections.abc import Callable
from email.utils import parsedate_to_datetime
from gzip import compress

from ...hostile.script import HTML, TEXT
from ...http import Answer, Request
from ...log import Visit
from ..cases import Case, CrawlerRun, Evidence, Failure, Judge, Trial, trial
from ..sites import ALLOW_ALL, TrialSite, Web, html_page, prose
from .finding.sitemaps import sitemap

_RFC = "RFC 9110 section"
_DATE = "Sun, 05 Jan 2025 09:00:00 GMT"
_OLD_DATE = "Sunday, 05-Jan-25 09:00:00 GMT"
_OPAQUE = '"a,b;c=\\d/W"'
_FEW = 4
"""Requests for a page that is gone: retries, and a look whether it is back, but no more."""


def _versioned(
    site: TrialSite, target: str, *links: str, version: int = 1, etag: str = "", date: str = "", control: str = ""
) -> None:
    """Serve a version of a page, and 304 to a client that has it."""
    fields = (("ETag", etag), ("Last-Modified", date), ("Cache-Control", control))
    sent = tuple(field for field in fields if field[1])
    body = html_page(f"{site.url(target)} version {version}", links)

    def handle(request: Request) -> Answer:
        return Answer(304, sent, b"") if _has(request, etag, date) else Answer(200, (HTML, *sent), body)

    site.answers[target] = handle


def _has(request: Request, etag: str, date: str) -> bool:
    """Whether a request is for something newer than this."""
    tags = request.header("if-none-match")
    if tags is not None:
        return bool(etag) and etag.removeprefix("W/") in tags
    since = request.header("if-modified-since")
    try:
        return bool(date and since) and parsedate_to_datetime(since or "") >= parsedate_to_datetime(date)
    except ValueError:
        return False


def _in_two_codings(site: TrialSite, target: str) -> None:
    """A page whose representation in gzip has an entity tag of its own."""
    body = html_page(site.url(target))

    def handle(request: Request) -> Answer:
        is_packed = "gzip" in (request.header("accept-encoding") or "")
        etag = '"packed"' if is_packed else '"plain"'
        fields = (("ETag", etag), ("Vary", "Accept-Encoding"))
        if request.header("if-none-match") == etag:
            return Answer(304, fields, b"")
        coding = ("Content-Encoding", "gzip" if is_packed else "identity")
        return Answer(200, (HTML, coding, *fields), compress(body, mtime=0) if is_packed else body)

    site.answers[target] = handle


def _again(url: str, check: Callable[[Visit], str], number: int = 1) -> Judge:
    """A page is requested in a later run, by the kind of request that `check` has no complaint about."""

    def judge(evidence: Evidence) -> Failure | None:
        found = [visit for visit in evidence.run(number) if visit in evidence.to(url)]
        if not found:
            return Failure(f"never requested {url} in run {number + 1}", tuple(evidence.run(number)[-3:]))
        complaints = [complaint for visit in found if (complaint := check(visit))]
        return Failure(complaints[0], tuple(found)) if complaints else None

    return judge


def _sends(name: str, value: str) -> Callable[[Visit], str]:
    def check(visit: Visit) -> str:
        sent = visit.field(name)
        return "" if sent == value else f"sent {name}: {sent or 'nothing'} instead of {value}"

    return check


def _anything(_visit: Visit) -> str:
    return ""


_SENT_AGAIN = ("/etag", "/weak", "/dated", "/both", "/opaque", "/hub")
_ALL = (*_SENT_AGAIN, "/packed", "/fresh", "/old-date", "/changed", "/removed", "/missing", "/moved", "/private")


@trial("freshness")
def second_visit(web: Web) -> Trial:
    """Pages with all kinds of validators; some change in between, one is gone, one has moved, one is disallowed."""
    site = web.site()
    no_cache = (("Cache-Control", "no-cache"), TEXT)
    site.answers["/robots.txt"] = Answer(200, no_cache, ALLOW_ALL.encode())
    site.page("/", *_ALL)
    _versioned(site, "/etag", etag='"one"')
    _versioned(site, "/weak", etag='W/"two"')
    _versioned(site, "/dated", date=_DATE)
    _versioned(site, "/both", etag='"three"', date=_DATE)
    _versioned(site, "/opaque", etag=_OPAQUE)
    _versioned(site, "/old-date", date=_OLD_DATE)
    _versioned(site, "/fresh", etag='"four"', control="max-age=86400")
    _versioned(site, "/hub", "/behind-hub", etag='"five"')
    _in_two_codings(site, "/packed")
    _versioned(site, "/changed", etag='"before"', date=_DATE)
    site.pages(("/removed", "/missing", "/moved", "/private", "/behind-hub"))

    def change() -> None:
        disallowed = "User-agent: *\nDisallow: /private\n"
        site.answers["/robots.txt"] = Answer(200, no_cache, disallowed.encode())
        _versioned(site, "/changed", "/new-page", version=2, etag='"after"', date="Mon, 06 Jan 2025 09:00:00 GMT")
        site.pages(("/new-page", "/new-home"))
        site.answers["/removed"] = Answer(410, (HTML,), b"<!doctype html><title>Gone</title><p>Gone.\n")
        del site.answers["/missing"]
        site.redirect("/moved", "/new-home")

    return Trial(
        seed=site.url(),
        seconds=120.0,
        runs=(CrawlerRun(), CrawlerRun(is_refresh=True, before=change)),
        cases=(*_on_validators(site), *_on_changes(site)),
    )


def _on_validators(site: TrialSite) -> tuple[Case, ...]:
    match, since = "if-none-match", "if-modified-since"
    return (
        Case(
            name="first-visit",
            says="A page that the crawler does not have is asked for without conditions.",
            source=f"{_RFC} 13.1",
            wants=site.urls("/etag", "/dated"),
            judge=_unconditional,
        ),
        Case(
            name="etag",
            says="A request for a page whose entity tag is known has it in If-None-Match.",
            source=f"{_RFC} 13.1.2; RFC 9111 section 4.3.1",
            judge=_again(site.url("/etag"), _sends(match, '"one"')),
        ),
        Case(
            name="weak-etag",
            says="A weak entity tag is sent as it came.",
            source=f"{_RFC} 8.8.3",
            judge=_again(site.url("/weak"), _sends(match, 'W/"two"')),
        ),
        Case(
            name="opaque-etag",
            says="An entity tag is opaque: whatever is in it is sent back.",
            source=f"{_RFC} 8.8.3",
            judge=_again(site.url("/opaque"), _sends(match, _OPAQUE)),
        ),
        Case(
            name="etag-of-coding",
            says="The entity tag of a compressed representation is sent with the Accept-Encoding that it came for.",
            source=f"{_RFC} 8.8.3.3",
            judge=_again(site.url("/packed"), _is_not_modified),
        ),
        Case(
            name="last-modified",
            says="A request for a page with a date of its last change has it in If-Modified-Since.",
            source=f"{_RFC} 13.1.3; RFC 9111 section 4.3.1",
            judge=_again(site.url("/dated"), _sends(since, _DATE)),
        ),
        Case(
            name="date-as-received",
            says="The date is sent back exactly as it was received, also in an obsolete form.",
            source=f"{_RFC} 13.1.3",
            judge=_again(site.url("/old-date"), _sends(since, _OLD_DATE)),
        ),
        Case(
            name="both-validators",
            says="A client MUST send the entity tag if there is one, also where there is a date.",
            source=f"{_RFC} 8.8.2.2; 13.1.2",
            judge=_again(site.url("/both"), _sends(match, '"three"')),
        ),
        Case(
            name="fresh",
            says="A page that is fresh by Cache-Control is left alone, or asked for with its validator.",
            source="RFC 9111 section 4.2",
            wants=site.urls("/fresh"),
            judge=_not_in_full(site, "/fresh"),
        ),
        Case(
            name="unchanged-not-sent-again",
            says="Of pages with validators that have not changed, none is sent again.",
            source="Brandman et al., Crawler-Friendly Web Servers, 2000; RFC 9110 section 13.1",
            wants=site.urls(*_SENT_AGAIN),
            judge=_not_in_full(site, *_SENT_AGAIN),
        ),
    )


def _on_changes(site: TrialSite) -> tuple[Case, ...]:
    return (
        Case(
            name="unchanged-keeps-links",
            says="A page that was not modified has the links it had: what is behind it is visited again.",
            source=f"{_RFC} 15.4.5",
            judge=_again(site.url("/behind-hub"), _anything),
        ),
        Case(
            name="changed-page",
            says="A page that has changed is fetched again.",
            source="Cho and Garcia-Molina, The Evolution of the Web, 2000",
            judge=_again(site.url("/changed"), lambda visit: "" if visit.status == 200 else "got no new version"),
        ),
        Case(
            name="new-page",
            says="A page that a changed page links now is found.",
            source="Cho and Garcia-Molina, The Evolution of the Web, 2000",
            wants=site.urls("/new-page"),
        ),
        Case(
            name="gone",
            says="A page that is gone (410) or missing (404) is noticed, and not asked for again and again.",
            source=f"{_RFC} 15.5.11; 15.5.5",
            judge=_few(site.url("/removed"), site.url("/missing")),
        ),
        Case(
            name="moved",
            says="A page that has moved for good is visited where it is now.",
            source=f"{_RFC} 15.4.2",
            judge=_again(site.url("/new-home"), _anything),
        ),
        Case(
            name="newly-disallowed",
            says="robots.txt is read again where it forbids caching, and what it disallows now is left alone.",
            source="RFC 9309 section 2.4",
            wants=site.urls("/private"),
            judge=_left_alone(site),
        ),
    )


def _unconditional(evidence: Evidence) -> Failure | None:
    first = {visit.url: visit for visit in reversed(evidence.run(0))}.values()
    found = [visit for visit in first if visit.field("if-none-match") or visit.field("if-modified-since")]
    return Failure(f"sent a condition with its first request for {found[0].url}", tuple(found)) if found else None


def _is_not_modified(visit: Visit) -> str:
    return "" if visit.status == 304 else f"sent If-None-Match: {visit.field('if-none-match') or 'nothing'}"


def _not_in_full(site: TrialSite, *targets: str) -> Judge:
    def judge(evidence: Evidence) -> Failure | None:
        urls = {visit.url for visit in evidence.to(*site.urls(*targets))}
        again = [visit for visit in evidence.run(1) if visit.url in urls]
        found = [visit for visit in again if visit.status == 200 and visit.method == "GET"]
        if not evidence.run(1):
            return Failure("made no request in run 2", tuple(evidence.visits[-3:]))
        return Failure(f"was sent {len(found)} pages that it had", tuple(found)) if found else None

    return judge


def _few(*urls: str) -> Judge:
    def judge(evidence: Evidence) -> Failure | None:
        for url in urls:
            visits = {visit.url for visit in evidence.to(url)}
            found = [visit for visit in evidence.run(1) if visit.url in visits]
            if not found:
                return Failure(f"never requested {url} in run 2", tuple(evidence.run(1)[-3:]))
            if len(found) > _FEW:
                return Failure(f"requested {url} {len(found)} times", tuple(found))
        return None

    return judge


def _left_alone(site: TrialSite) -> Judge:
    def judge(evidence: Evidence) -> Failure | None:
        if not evidence.run(1):
            return Failure("made no request in run 2", tuple(evidence.visits[-3:]))
        found = [visit for visit in evidence.run(1) if visit.target == "/private" and visit.host == site.host]
        return Failure(f"requested {found[0].url}, which is disallowed now", tuple(found)) if found else None

    return judge


@trial("freshness")
def third_visit(web: Web) -> Trial:
    """What was learned on the second visit holds for the third."""
    site = web.site()
    site.page("/", "/changes", "/loses-its-tag", "/fails-once", "/steady")
    _versioned(site, "/changes", etag='"1"')
    _versioned(site, "/loses-its-tag", etag='"1"', date=_DATE)
    _versioned(site, "/steady", etag='"1"')
    site.pages(("/fails-once",))
    whole = site.answers["/fails-once"]

    def change() -> None:
        _versioned(site, "/changes", version=2, etag='"2"')
        _versioned(site, "/loses-its-tag", version=2)
        busy = b"<!doctype html><title>Busy</title><p>Later.\n"
        site.answers["/fails-once"] = Answer(503, (HTML, ("Retry-After", "1")), busy)

    def recover() -> None:
        site.answers["/fails-once"] = whole

    return Trial(
        seed=site.url(),
        seconds=120.0,
        runs=(
            CrawlerRun(),
            CrawlerRun(is_refresh=True, before=change),
            CrawlerRun(is_refresh=True, before=recover),
        ),
        cases=(
            Case(
                name="new-validators",
                says="A page that changed is asked for with the validator of its latest version.",
                source="RFC 9111 section 4.3.1",
                judge=_again(site.url("/changes"), _sends("if-none-match", '"2"'), 2),
            ),
            Case(
                name="dropped-validators",
                says="The validators of a version that was replaced are not sent, also if the new one has none.",
                source="RFC 9111 section 4.3.1",
                judge=_again(site.url("/loses-its-tag"), _sends_none, 2),
            ),
            Case(
                name="not-modified-keeps-validators",
                says="After 304 a page has the validator that it had.",
                source="RFC 9111 section 4.3.4",
                judge=_again(site.url("/steady"), _sends("if-none-match", '"1"'), 2),
            ),
            Case(
                name="failed-once",
                says="A page that could not be served once (503) is not given up for that.",
                source=f"{_RFC} 15.6.4",
                judge=_again(site.url("/fails-once"), _anything, 2),
            ),
        ),
    )


def _sends_none(visit: Visit) -> str:
    sent = visit.field("if-none-match") or visit.field("if-modified-since")
    return f"sent {sent}, which was the validator of an older version" if sent else ""


_LISTED = 20
_SOON = 5


@trial("freshness")
def dated_sitemap(web: Web) -> Trial:
    """A sitemap with dates, for pages without validators: it says which page has changed, and which is new."""
    site = web.site()
    targets = [f"/listed/{number}" for number in range(_LISTED)]
    site.pages(targets)
    site.page("/", *targets)
    site.robots(f"{ALLOW_ALL}Sitemap: {site.url('/sitemap.xml')}\n")
    dates = dict.fromkeys(targets, "2025-01-05T09:00:00Z")
    site.text("/sitemap.xml", sitemap(site.urls(*dates), dates.values()), "application/xml")
    changed, new = (targets[9], targets[15], targets[18]), "/listed/new"

    def change() -> None:
        later = {**dates, **dict.fromkeys((*changed, new), "2025-01-06T09:00:00Z")}
        site.text("/sitemap.xml", sitemap(site.urls(*later), later.values()), "application/xml")
        for target in changed:
            site.page(target, body=f"<p>{prose(f'{target} changed')}</p>")
        site.page(new)

    return Trial(
        seed=site.url(),
        seconds=120.0,
        runs=(CrawlerRun(), CrawlerRun(is_refresh=True, before=change)),
        cases=(
            Case(
                name="sitemap-dates",
                says=f"Of {_LISTED} pages, the three with a new date in the sitemap are among the first {_SOON}.",
                source="sitemaps.org, protocol: lastmod; Brandman et al., Crawler-Friendly Web Servers, 2000",
                judge=_soon(site, changed, targets),
            ),
            Case(
                name="sitemap-new-page",
                says="A page that the sitemap lists now is found on the next visit.",
                source="sitemaps.org, protocol",
                wants=site.urls(new),
            ),
        ),
    )


def _soon(site: TrialSite, changed: tuple[str, ...], targets: list[str]) -> Judge:
    def judge(evidence: Evidence) -> Failure | None:
        order = [visit for visit in evidence.run(1) if visit.host == site.host and visit.target in targets]
        soon = {visit.target for visit in order[:_SOON]}
        late = [target for target in changed if target not in soon]
        return Failure(f"did not request {site.url(late[0])} soon in run 2", tuple(order[:12])) if late else None

    return judge
