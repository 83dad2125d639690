"""Crawls of the webs, and what they lost and wasted."""

from __future__ import annotations

from collections import Counter
from random import Random

from msgspec import Struct
from tests.verdicts.webs import KINDS
from tests.verdicts.world_crawl import WorldCrawl, hurried

from periplus.model import SOFT_404, Excluded, FetchEnded, PageRead, Refused, SubjectJudged


class Harvest(Struct, frozen=True):
    """The result of a crawl: honest pages that it lost, requests, and those that showed nothing new.

    `missed`: error pages were not recognised. `sufficient`: requests when the last honest page was found.
    """

    lost: tuple[str, ...]
    missed: bool
    requests: int
    wasted: int
    allowance: int
    most: int
    owed: int
    refusals: dict[str, int]
    sufficient: int


def crawl_kind(kind: str, seed: int, *, limit: int = 6000) -> Harvest:
    """Crawl the web of a kind that a seed draws."""
    web = KINDS[kind](Random(f"{kind} {seed}"))
    first, *others = [*(pages for pages, _, _ in web.lessons), limit]
    crawl = WorldCrawl(web, web.seeds, hurried(scope__kind="any", budgets__domain="none"), limit=first).run()
    for (_, job, content), pages in zip(web.lessons, others, strict=True):
        crawl.teach(job, content)
        crawl.go_on(pages)
    subjects = [web.subject(url) for url, _ in crawl.fetched]
    found = {subject for subject in subjects if subject is not None}
    first_at = {subject: place for place, subject in reversed([*enumerate(subjects)])}
    refused = [event.reason for event in crawl.events if isinstance(event, Refused)]
    refused += [e.outcome.reason for e in crawl.events if isinstance(e, FetchEnded) and isinstance(e.outcome, Excluded)]
    lost = set(web.owed - found)
    accused = {event.subject for event in crawl.events if isinstance(event, SubjectJudged) and event.judge == SOFT_404}
    accused |= {event.page.url for event in crawl.events if isinstance(event, PageRead) and event.page.is_soft_404}
    judged = {web.subject(url) for url in accused} - {None}
    lost |= {f"{subject} (soft 404)" for subject in judged if subject != "error"}
    missed = web.errors and "error" not in judged
    wasted, most = len(subjects) - len(found), web.most or limit
    return Harvest(
        tuple(sorted(lost)),
        missed,
        len(subjects),
        wasted,
        web.allowance,
        most,
        len(web.owed),
        dict(Counter(refused)),
        1 + max(first_at[subject] for subject in web.owed & found),
    )
