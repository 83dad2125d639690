"""How often robots.txt lets a crawler come."""

from __future__ import annotations

from itertools import pairwise

from ...cases import Case, Evidence, Failure, Judge, Trial, trial
from ...sites import TrialSite, Web

_TOLERANCE = 0.75


def pauses(site: TrialSite, seconds: float) -> Judge:
    """Fail if two requests for pages were closer to each other."""

    def judge(evidence: Evidence) -> Failure | None:
        for earlier, later in pairwise(evidence.pages(site)):
            gap = later.real_started_at - earlier.real_started_at
            if gap < seconds * _TOLERANCE:
                return Failure(f"requests were {gap:.2f} s apart; {seconds:g} s were asked for", (earlier, later))
        return None

    return judge


@trial("robots")
def rate(web: Web) -> Trial:
    """Both ways to ask for pauses; the longer one holds."""
    site = web.site()
    site.robots("User-agent: *\nDisallow: /nothing\nCrawl-delay: 2\nRequest-rate: 1/4\n")
    targets = ("/a", "/b", "/c")
    site.pages(targets)
    site.page("/", *targets)
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="crawl-delay",
                says="`Crawl-delay` is the least number of seconds between two requests.",
                source="the documentation of Bing and of Yandex for webmasters",
                wants=site.urls(*targets),
                judge=pauses(site, 2),
            ),
            Case(
                name="request-rate",
                says="`Request-rate: 1/4` is one document in four seconds.",
                source="An Extended Standard for Robot Exclusion (1996); Python's urllib.robotparser",
                wants=site.urls(*targets),
                judge=pauses(site, 4),
            ),
        ),
    )
