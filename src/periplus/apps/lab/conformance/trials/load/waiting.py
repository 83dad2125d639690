"""A site that asks to wait: Retry-After."""

from __future__ import annotations

from periplus.formats.dates import write_http

from ....hostile.script import HTML
from ....http import Answer, Request
from ....log import Visit
from ...cases import Case, Evidence, Failure, Judge, Trial, trial
from ...sites import Handler, TrialSite, Web, html_page

_RETRY = "RFC 9110 section 10.2.3"
_UNDER_WAY = 0.5
"""Seconds after an answer in which requests may arrive that were under way."""
_TOLERANCE = 0.75
_SORRY = b"<!doctype html><title>Later</title><p>Please come back later.\n"


def once(site: TrialSite, target: str, status: int, *, wait: str = "", date_in: float | None = None) -> Handler:
    """Refuse the first request for a page, with Retry-After if there is one; then serve it."""
    refused: list[float] = []

    def handler(request: Request) -> Answer:
        if refused:
            return Answer(200, (HTML,), html_page(site.url(target)))
        refused.append(request.at)
        value = wait if date_in is None else write_http(request.at + date_in)
        return Answer(status, (HTML, *((("Retry-After", value),) if value else ())), _SORRY)

    site.answers[target] = handler
    return handler


def refusal(evidence: Evidence, site: TrialSite, target: str) -> Visit | None:
    """The answer that asked to wait."""
    return next((visit for visit in evidence.to(site.url(target)) if visit.status in (429, 503)), None)


def rested(site: TrialSite, target: str, seconds: float) -> Judge:
    """Fail if the host was asked for anything while it wanted to rest."""

    def judge(evidence: Evidence) -> Failure | None:
        asked = refusal(evidence, site, target)
        assert asked is not None  # noqa: S101 - the page is wanted, and refused once
        begin = asked.real_ended_at + _UNDER_WAY
        end = asked.real_ended_at + seconds * _TOLERANCE
        early = [visit for visit in evidence.visits if visit.host == site.host and begin < visit.real_started_at < end]
        return Failure(f"came back while asked to wait {seconds:g} s", (asked, *early)) if early else None

    return judge


def fetched_later(site: TrialSite, target: str) -> Judge:
    """Fail if a page that was refused was not fetched in the end."""

    def judge(evidence: Evidence) -> Failure | None:
        found = evidence.to(site.url(target))
        return None if any(visit.status == 200 for visit in found) else Failure("did not come back", tuple(found))

    return judge


def _waiting(web: Web, status: int, seconds: float, wait: str = "", date_in: float | None = None) -> TrialSite:
    del seconds
    site = web.site()
    once(site, "/busy", status, wait=wait, date_in=date_in)
    targets = [f"/page-{number}" for number in range(4)]
    site.pages(targets)
    site.page("/", "/page-0", "/busy", *targets[1:])
    return site


_WAIT = 5.0


@trial("load")
def unavailable(web: Web) -> Trial:
    """503, and a number of seconds."""
    site = _waiting(web, 503, _WAIT, wait="5")
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="retry-after-seconds",
                says="Retry-After with 503 says how long the service is unavailable: nothing is asked of it meanwhile.",
                source=_RETRY,
                wants=site.urls("/busy"),
                judge=rested(site, "/busy", _WAIT),
            ),
            Case(
                name="comes-back-after-503",
                says="What was temporarily unavailable is asked for again, after the delay.",
                source="RFC 9110 section 15.6.4",
                wants=site.urls("/busy"),
                judge=fetched_later(site, "/busy"),
            ),
        ),
    )


@trial("load")
def too_many(web: Web) -> Trial:
    """429, and a date."""
    site = _waiting(web, 429, _WAIT + 1, date_in=_WAIT + 1)
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="retry-after-date",
                says="Retry-After may be a date: how long to wait before making a new request, with 429.",
                source=f"{_RETRY}; RFC 6585 section 4",
                wants=site.urls("/busy"),
                judge=rested(site, "/busy", _WAIT),
            ),
            Case(
                name="comes-back-after-429",
                says="What was refused because of too many requests is asked for again, after the delay.",
                source="RFC 6585 section 4",
                wants=site.urls("/busy"),
                judge=fetched_later(site, "/busy"),
            ),
        ),
    )


_CUT = 20.0


@trial("load")
def too_long(web: Web) -> Trial:
    """503 on everything, for a year."""
    site = web.site()
    targets = [f"/page-{number}" for number in range(6)]
    site.pages(targets)
    year = Answer(503, (HTML, ("Retry-After", "31536000")), _SORRY)
    site.page("/", "/busy", *targets)
    site.answers["/busy"] = year
    return Trial(
        seed=site.url(),
        seconds=_CUT,
        cases=(
            Case(
                name="retry-after-a-year",
                says="A delay that is too long to wait for is no leave to come back at once.",
                source=_RETRY,
                wants=site.urls("/busy"),
                judge=rested(site, "/busy", 12.0),
            ),
        ),
    )


@trial("load")
def past(web: Web) -> Trial:
    """Retry-After that is in the past, or cannot be read."""
    site = web.site()
    targets = ("/past", "/garbage", "/negative", "/open")
    once(site, "/past", 503, date_in=-86_400)
    once(site, "/garbage", 503, wait="in a while")
    once(site, "/negative", 429, wait="-1")
    site.pages(("/open",))
    site.page("/", *targets)

    def unbroken(evidence: Evidence) -> Failure | None:
        found = evidence.to(site.url("/open"))
        return None if found else Failure("did not go on", tuple(evidence.visits))

    def not_at_once(evidence: Evidence) -> Failure | None:
        for target in targets[:3]:
            visits = evidence.to(site.url(target))
            if len(visits) > 1 and visits[1].real_started_at - visits[0].real_ended_at < 0.1:
                return Failure(f"repeated {target} at once", tuple(visits))
        return None

    return Trial(
        seed=site.url(),
        seconds=150,
        cases=(
            Case(
                name="retry-after-in-the-past",
                says="Retry-After that is past, negative or not readable does not end the crawl.",
                source=_RETRY,
                wants=site.urls(*targets),
                judge=unbroken,
            ),
            Case(
                name="retry-after-in-the-past-is-no-leave",
                says="Retry-After that is past, negative or not readable is no leave to repeat the request at once.",
                source=_RETRY,
                wants=site.urls("/past"),
                judge=not_at_once,
            ),
        ),
    )
