"""Errors: what is asked for again, how often, and how soon."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from ....hostile.script import HTML, Reset, Script
from ....http import Answer, Request
from ...cases import Case, Evidence, Failure, Judge, Trial, trial
from ...sites import TrialSite, Web, html_page

_MOST_ATTEMPTS = 6
_SOON = 0.1
_SORRY = b"<!doctype html><title>Error</title><p>Something went wrong.\n"


def few_attempts(site: TrialSite, target: str, most: int) -> Judge:
    """Fail if a URL was asked for more often."""

    def judge(evidence: Evidence) -> Failure | None:
        found = [visit for visit in evidence.to(site.url(target)) if visit.method == "GET"]
        return Failure(f"asked {len(found)} times", tuple(found)) if len(found) > most else None

    return judge


def spaced_attempts(site: TrialSite, target: str) -> Judge:
    """Fail if a URL was asked for again at once."""

    def judge(evidence: Evidence) -> Failure | None:
        found = evidence.to(site.url(target))
        for earlier, later in pairwise(found):
            gap = later.real_started_at - earlier.real_ended_at
            if gap < _SOON:
                return Failure(f"asked again after {gap:.2f} s", (earlier, later))
        return None

    return judge


@trial("load")
def errors(web: Web) -> Trial:
    """Pages that never work, among some that do."""
    site = web.site()
    site.answers["/gone"] = Answer(410, (HTML,), _SORRY)
    site.answers["/forbidden"] = Answer(403, (HTML,), _SORRY)
    site.answers["/broken"] = Answer(500, (HTML,), _SORRY)
    site.answers["/reset"] = lambda _request: Script(0, iter((Reset(),)))
    targets = ("/missing", "/gone", "/forbidden", "/broken", "/reset", "/open")
    site.pages(("/open",))
    site.page("/", *targets)
    return Trial(
        seed=site.url(),
        seconds=150,
        cases=(
            Case(
                name="404-once",
                says="What is not found is not asked for again.",
                source="RFC 9110 section 15.5.5",
                wants=site.urls("/missing"),
                judge=few_attempts(site, "/missing", 1),
            ),
            Case(
                name="403-and-410-once",
                says="What is forbidden or gone is not asked for again: a client SHOULD NOT automatically repeat it.",
                source="RFC 9110 sections 15.5.4 and 15.5.11",
                wants=site.urls("/gone", "/forbidden"),
                judge=lambda evidence: (
                    few_attempts(site, "/gone", 1)(evidence) or few_attempts(site, "/forbidden", 1)(evidence)
                ),
            ),
            Case(
                name="500-a-few-times",
                says="A page that fails is asked for again a few times at most.",
                source="Koster, Guidelines for Robot Writers (1993): Don't loop or repeat",
                wants=site.urls("/broken", "/open"),
                judge=few_attempts(site, "/broken", _MOST_ATTEMPTS),
            ),
            Case(
                name="500-not-at-once",
                says="A page that fails is not asked for again at once.",
                source="RFC 9110 section 9.2.2",
                wants=site.urls("/broken"),
                judge=spaced_attempts(site, "/broken"),
            ),
            Case(
                name="reset-a-few-times",
                says="A connection that is always cut is tried a few times at most.",
                source="RFC 9110 section 9.2.2: a client SHOULD NOT automatically retry a failed automatic retry",
                wants=site.urls("/reset", "/open"),
                judge=few_attempts(site, "/reset", _MOST_ATTEMPTS),
            ),
        ),
    )


_HEALTHY, _SICK = 6, 40


@trial("load")
def overloaded_site(web: Web) -> Trial:
    """After some pages the site is overloaded: 503 without Retry-After, for everything."""
    site = web.site()
    targets = [f"/page-{number}" for number in range(_HEALTHY + _SICK)]
    served: set[str] = set()

    def serve(request: Request) -> Answer:
        if request.target not in targets:
            return Answer(404, (HTML,), _SORRY)
        if request.target in served or len(served) < _HEALTHY:
            served.add(request.target)
            return Answer(200, (HTML,), html_page(site.url(request.target)))
        return Answer(503, (HTML,), _SORRY)

    site.otherwise = serve
    site.page("/", *targets)

    def slower(evidence: Evidence) -> Failure | None:
        failed = [visit for visit in evidence.pages(site) if visit.status == 503]
        if len(failed) < _SICK // 2:
            return None
        well = [visit for visit in evidence.pages(site) if visit.status == 200]
        before = median(later.real_started_at - earlier.real_started_at for earlier, later in pairwise(well))
        after = median(later.real_started_at - earlier.real_started_at for earlier, later in pairwise(failed))
        if after < 2 * before:
            return Failure(f"{len(failed)} requests failed, still {after:.2f} s apart", tuple(failed))
        return None

    def spaced(evidence: Evidence) -> Failure | None:
        for target in targets:
            if failure := spaced_attempts(site, target)(evidence):
                return failure
        return None

    return Trial(
        seed=site.url(),
        seconds=40,
        cases=(
            Case(
                name="overload",
                says="A crawler slows down, or leaves, when a site fails to answer page after page.",
                source="RFC 9110 section 15.6.4; Google Search Central: how HTTP status codes affect crawling",
                judge=slower,
            ),
            Case(
                name="503-not-at-once",
                says="A page that an overloaded server did not send is not asked for again at once.",
                source="RFC 9110 section 15.6.4",
                judge=spaced,
            ),
            Case(
                name="503-not-endlessly",
                says="A page that an overloaded server does not send is asked for a few times at most.",
                source="RFC 9110 section 15.6.4",
                judge=lambda evidence: next(
                    filter(None, (few_attempts(site, target, _MOST_ATTEMPTS)(evidence) for target in targets)), None
                ),
            ),
        ),
    )


_MB = 1_000_000
_FILE = 200 * _MB
_MOST_BYTES = 25 * _MB


def _film() -> Iterator[bytes]:
    piece = bytes(65_536)
    for _ in range(_FILE // len(piece)):
        yield piece


@trial("load")
def big_file(web: Web) -> Trial:
    """A film among the pages."""
    site = web.site()
    kind = ("Content-Type", "video/mp4")
    site.answers["/film"] = lambda _request: Answer(200, (kind,), _film())
    site.pages(("/open",))
    site.page("/", "/film", "/open")

    def bounded(evidence: Evidence) -> Failure | None:
        found = evidence.to(site.url("/film"))
        sent = sum(visit.sent for visit in found)
        return Failure(f"took {sent:,} bytes of a film", tuple(found)) if sent > _MOST_BYTES else None

    return Trial(
        seed=site.url(),
        seconds=90,
        cases=(
            Case(
                name="big-file",
                says="A crawler of pages does not load a film of 200 MB to its end.",
                source="Koster, Guidelines for Robot Writers (1993): Ask only for what you want; Check the results",
                wants=site.urls("/film", "/open"),
                judge=bounded,
            ),
        ),
    )
