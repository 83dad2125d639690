"""A crawl that is interrupted."""

from __future__ import annotations

from signal import Signals

from ...cases import Case, CrawlerRun, Evidence, Failure, Trial, trial
from ...sites import Web
from .pace import slow_page

_UNDER_WAY = 2.0
"""Seconds after SIGINT in which requests may arrive that were under way."""


@trial("load")
def interrupted(web: Web) -> Trial:
    """SIGINT after some pages."""
    site = web.site()
    targets = [f"/page-{number}" for number in range(120)]
    for target in targets:
        slow_page(site, target, 0.3)
    site.page("/", *targets)

    def silent(evidence: Evidence) -> Failure | None:
        at = evidence.ends[0].signalled_at
        if not at:
            return Failure("ended before it was interrupted", tuple(evidence.visits[-3:]))
        late = [visit for visit in evidence.visits if visit.real_started_at > at + _UNDER_WAY]
        return Failure(f"made {len(late)} requests after it was interrupted", tuple(late)) if late else None

    return Trial(
        seed=site.url(),
        runs=(CrawlerRun(kill_after=8, signal=Signals.SIGINT),),
        limit=200,
        seconds=40,
        cases=(
            Case(
                name="interrupted",
                says="A crawler that is told to stop (SIGINT) makes no more requests.",
                source="Koster, Guidelines for Robot Writers (1993): Be able to stop it",
                judge=silent,
            ),
        ),
    )
