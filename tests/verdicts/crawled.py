"""Crawls of the webs, and what they lost and wasted."""

from __future__ import annotations

from collections import Counter
from random import Random

from bench.world_crawl import WorldCrawl, hurried
from msgspec import Struct
from tests.verdicts.webs import KINDS

from periplus.model import Excluded, FetchEnded, Refused


class Harvest(Struct, frozen=True):
    """The result of a crawl: honest pages that it lost, requests, and those that showed nothing new."""

    lost: tuple[str, ...]
    requests: int
    wasted: int
    allowance: int
    refusals: dict[str, int]


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
    refused = [event.reason for event in crawl.events if isinstance(event, Refused)]
    refused += [e.outcome.reason for e in crawl.events if isinstance(e, FetchEnded) and isinstance(e.outcome, Excluded)]
    lost = tuple(sorted(web.owed - found))
    return Harvest(lost, len(subjects), len(subjects) - len(found), web.allowance, dict(Counter(refused)))
