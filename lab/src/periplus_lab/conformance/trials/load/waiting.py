"""A site that asks to wait: Retry-After."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from periplus.formats.dates import write_http

from ....hostile.script import HTML, TEXT
from ....http import Answer, Request
from ...cases import Case, Evidence, Failure, Judge, Trial, trial
from ...sites import ALLOW_ALL, TrialSite, Web, html_page

_RETRY = "RFC 9110 section 10.2.3"
_UNDER_WAY = 0.5
"""Seconds after an answer in which requests may arrive that were under way."""
_MOST_UNDER_WAY = 3
_TOLERANCE = 0.75
_SORRY = b"<!doctype html><title>Later</title><p>Please come back later.\n"


def _refused(status: int, wait: str) -> Answer:
    return Answer(status, (HTML, ("Retry-After", wait)), _SORRY)


def _busy_site(web: Web, refuse: Callable[[Request], Answer], *, again: bool = False) -> TrialSite:
    """A site that refuses the third page, whichever it is: once, or again and again."""
    site = web.site()
    targets = [f"/page-{number}" for number in range(8)]
    asked: dict[str, None] = {}
    refused: set[str] = set()

    def serve(request: Request) -> Answer:
        target = request.target
        if target not in targets:
            return Answer(404, (HTML,), _SORRY)
        asked[target] = None
        if target == [*asked, "", "", ""][2] and (again or target not in refused):
            refused.add(target)
            return refuse(request)
        return Answer(200, (HTML,), html_page(site.url(target)))

    site.otherwise = serve
    site.page("/", *targets)
    return site


def rested(site: TrialSite, seconds: float) -> Judge:
    """Fail if the host was asked for anything while it wanted to rest."""

    def judge(evidence: Evidence) -> Failure | None:
        asked = next((visit for visit in evidence.visits if visit.status in (429, 503)), None)
        if asked is None:
            return Failure("asked for too few pages to be told to wait", tuple(evidence.visits))
        begin = asked.real_ended_at
        end = begin + seconds * _TOLERANCE
        early = [visit for visit in evidence.visits if visit.host == site.host and begin < visit.real_started_at < end]
        were_under_way = len(early) <= _MOST_UNDER_WAY and not any(
            visit.real_started_at > begin + _UNDER_WAY for visit in early
        )
        return None if were_under_way else Failure(f"came back while asked to wait {seconds:g} s", (asked, *early))

    return judge


def came_back(evidence: Evidence) -> Failure | None:
    """Fail if a page that was refused was not fetched in the end."""
    refused = [visit for visit in evidence.visits if visit.status in (429, 503)]
    if refused and any(visit.status == 200 for visit in evidence.to(refused[0].url)):
        return None
    return Failure("did not ask for the page again" if refused else "was never refused", tuple(refused))


_WAIT = 5.0


@trial("load")
def unavailable(web: Web) -> Trial:
    """503, and a number of seconds."""
    site = _busy_site(web, lambda _request: _refused(503, "5"))
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="retry-after-seconds",
                says="Retry-After with 503 says how long the service is unavailable: nothing is asked of it meanwhile.",
                source=_RETRY,
                judge=rested(site, _WAIT),
            ),
            Case(
                name="comes-back-after-503",
                says="What was temporarily unavailable is asked for again, after the delay.",
                source="RFC 9110 section 15.6.4",
                judge=came_back,
            ),
        ),
    )


@trial("load")
def too_many(web: Web) -> Trial:
    """429, and a date."""
    site = _busy_site(web, lambda request: _refused(429, write_http(request.at + _WAIT + 1)))
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="retry-after-date",
                says="Retry-After may be a date; with 429 it says how long to wait before making a new request.",
                source=f"{_RETRY}; RFC 6585 section 4",
                judge=rested(site, _WAIT),
            ),
            Case(
                name="comes-back-after-429",
                says="What was refused because of too many requests is asked for again, after the delay.",
                source="RFC 6585 section 4",
                judge=came_back,
            ),
        ),
    )


@trial("load")
def too_long(web: Web) -> Trial:
    """503, for a year: the crawler is stopped if it waits."""
    site = _busy_site(web, lambda _request: _refused(503, "31536000"), again=True)
    return Trial(
        seed=site.url(),
        seconds=30,
        cases=(
            Case(
                name="retry-after-a-year",
                says="A delay that is too long to wait for is no leave to come back at once.",
                source=_RETRY,
                judge=rested(site, 12.0),
            ),
        ),
    )


@trial("load")
def busy_robots(web: Web) -> Trial:
    """429 for the first request of all, that for robots.txt."""
    site = web.site()
    rules = Answer(200, (TEXT,), ALLOW_ALL.encode())
    answers = iter((_refused(429, "5"),))
    site.answers["/robots.txt"] = partial(_next, answers, rules)
    targets = [f"/page-{number}" for number in range(6)]
    site.pages(targets)
    site.page("/", *targets)
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="retry-after-for-robots",
                says="Retry-After with 429 says how long to wait before making a new request: also after robots.txt.",
                source=f"{_RETRY}; RFC 6585 section 4",
                wants=site.urls("/robots.txt"),
                wants_seed=False,
                judge=rested(site, _WAIT),
            ),
        ),
    )


def _next(answers: Iterator[Answer], usual: Answer, _request: Request) -> Answer:
    return next(answers, usual)


@trial("load")
def past(web: Web) -> Trial:
    """Retry-After that is in the past, or cannot be read."""
    site = web.site()
    targets = ("/past", "/garbage", "/negative", "/open")
    refusals = (503, "Sun, 06 Nov 1994 08:49:37 GMT"), (503, "in a while"), (429, "-1")
    for target, (status, wait) in zip(targets, refusals, strict=False):
        answers = iter((_refused(status, wait),))
        usual = Answer(200, (HTML,), html_page(site.url(target)))
        site.answers[target] = partial(_next, answers, usual)
    site.pages(("/open",))
    site.page("/", *targets)

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
