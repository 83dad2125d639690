"""How many requests at once, and how long between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from ....hostile import Script
from ....hostile.script import HTML, Wait, head
from ....http import Request
from ....log import Visit
from ...cases import Case, Evidence, Failure, Judge, Trial, trial
from ...sites import Handler, TrialSite, Web, html_page

MERCATOR = "Heydon and Najork, Mercator: A Scalable, Extensible Web Crawler (1999), section 3.2"
_KOSTER = "Koster, Guidelines for Robot Writers (1993): Walk, don't run"
_LEAST_GAP = 0.1


def slow_page(site: TrialSite, target: str, seconds: float, *links: str) -> None:
    """Serve a page that takes some time."""
    site.answers[target] = _slow(html_page(site.url(target), links), seconds)


def _slow(body: bytes, seconds: float) -> Handler:
    def handler(request: Request) -> Script:
        start = head(request, 200, HTML, ("Content-Length", str(len(body))), connection="keep-alive")
        return Script(200, iter((Wait(seconds), start + body)), closes=False)

    return handler


def most_at_once(visits: Sequence[Visit]) -> int:
    """The most requests that were being answered at the same moment."""
    edges = sorted(edge for visit in visits for edge in ((visit.real_started_at, 1), (visit.real_ended_at, -1)))
    busy = most = 0
    for _, step in edges:
        busy += step
        most = max(most, busy)
    return most


def few_at_once(*sites: TrialSite, most: int = 2) -> Judge:
    """Fail if more requests to these sites were under way at once."""

    def judge(evidence: Evidence) -> Failure | None:
        found = [visit for site in sites for visit in evidence.pages(site)]
        number = most_at_once(found)
        return Failure(f"made {number} requests at once", tuple(found)) if number > most else None

    return judge


def unhurried(*sites: TrialSite) -> Judge:
    """Fail if there is no pause between most requests to these sites."""

    def judge(evidence: Evidence) -> Failure | None:
        found = sorted(
            (visit for site in sites for visit in evidence.pages(site)), key=lambda visit: visit.real_started_at
        )
        gaps = [later.real_started_at - earlier.real_started_at for earlier, later in pairwise(found)]
        usual = median(gaps) if gaps else _LEAST_GAP
        if usual < _LEAST_GAP:
            return Failure(f"half of the requests were less than {usual:.3f} s apart", tuple(found))
        return None

    return judge


@trial("load")
def slow_site(web: Web) -> Trial:
    """A site that needs a second for every page."""
    site = web.site()
    targets = [f"/page-{number}" for number in range(8)]
    for target in targets:
        slow_page(site, target, 1.0)
    site.page("/", *targets)
    return Trial(
        seed=site.url(),
        seconds=90,
        cases=(
            Case(
                name="slow-site",
                says="Requests to a slow site do not pile up: no more than 2 connections with any server.",
                source=f"RFC 2616 section 8.1.4; {MERCATOR}",
                wants=site.urls("/page-0", "/page-7"),
                judge=few_at_once(site),
            ),
        ),
    )


@trial("load")
def shared_address(web: Web) -> Trial:
    """Twelve names of one machine."""
    sites = [web.site(name, address="11.77.9.1") for name in ("www", *(f"shop-{number}" for number in range(11)))]
    targets = ("/a", "/b")
    homes = [site.url() for site in sites]
    for site in sites:
        for target in targets:
            slow_page(site, target, 0.2)
        slow_page(site, "/", 0.2, *homes, *targets)
    return Trial(
        seed=sites[0].url(),
        seconds=120,
        needs_names=True,
        cases=(
            Case(
                name="names-of-one-address-at-once",
                says="A machine gets few requests at once, whatever the number of its names: six, as from a browser.",
                source=f"RFC 9112 section 9.4; {MERCATOR}",
                wants=sites[0].urls("/a"),
                judge=few_at_once(*sites, most=6),
            ),
            Case(
                name="names-of-one-address-pause",
                says="A machine is left a pause between requests, whatever the number of its names.",
                source=_KOSTER,
                wants=sites[0].urls("/a"),
                judge=unhurried(*sites),
            ),
        ),
    )
