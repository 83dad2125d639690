"""The honest pages beside every trap, and what is asked of a crawler that passes it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from ....log import Visit
from ...cases import Evidence, Failure, Judge
from ...sites import Handler, Reply, TrialSite

GROUP = "drowning"
MEBIBYTE = 1024 * 1024
MOST_MEMORY = 1024 * MEBIBYTE
"""What a crawler may hold in memory during a small crawl, whatever it is sent."""
_MOST_TRIES = 10
"""Requests for a page that is broken, or wants to be requested again and again."""
_SECTIONS = ("harbor", "lighthouse", "market")
_STORIES = ("history", "people")
_SPARE = 1.25
"""How many requests may be made for each page of the limit: crawlers count redirects and errors in different ways."""


def tell_stories(site: TrialSite) -> tuple[str, ...]:
    """Serve 16 pages: `/town/`, and what is up to three clicks from there; returns their URLs."""
    urls = [site.page("/town/", *(f"/town/{section}/" for section in _SECTIONS))]
    for section in _SECTIONS:
        stories = [f"/town/{section}/{story}.html" for story in _STORIES]
        urls.append(site.page(f"/town/{section}/", *stories))
        for story in stories:
            more = story.replace(".html", "-continued.html")
            urls += [site.page(story, more), site.page(more)]
    return tuple(urls)


def spread(site: TrialSite, targets: Iterable[str]) -> list[str]:
    """Links to these targets with an honest page after each: a crawler may leave a site that fails again and again."""
    links = []
    for number, target in enumerate(targets, 1):
        between = f"/between/{number}.html"
        site.page(between)
        links += [target, between]
    return links


def at_first(handler: Handler, afterwards: Reply) -> Handler:
    """Answer the first request in one way and all others in another, so that it pays to try again."""
    requests = count()
    return lambda request: afterwards if next(requests) else handler(request)


def covers(urls: tuple[str, ...], limit: int) -> Judge:
    """All these pages must be among the first that a crawler requests: not every crawler can be given a limit."""

    def judge(evidence: Evidence) -> Failure | None:
        first = within(evidence, limit)
        found = {visit.url for visit in evidence.to(*urls)} & {visit.url for visit in first}
        if len(found) == len(urls):
            return None
        reason = f"requested {len(found)} of {len(urls)} honest pages in its first {len(first)} requests for pages"
        return Failure(reason, tuple(first[-6:]))

    return judge


def within(evidence: Evidence, limit: int) -> list[Visit]:
    """The first visits to pages: as many as a crawler with this limit may make."""
    return evidence.pages()[: int(limit * _SPARE)]


def kills_after(limit: int) -> int:
    """Requests after which a crawler without a limit has shown what there is to see; robots.txt is counted."""
    return 3 * limit + 50


def goes_on(evidence: Evidence) -> Failure | None:
    """It ended by itself, and held little in memory."""
    if evidence.memory > MOST_MEMORY:
        return Failure(f"held {evidence.memory / MEBIBYTE:,.0f} MiB in memory")
    if evidence.ends[-1].was_stopped:
        return Failure(f"was still running after {evidence.ends[-1].seconds:.0f} seconds", tuple(evidence.visits[-3:]))
    return None


def tries(url: str) -> Judge:
    """The URL was not requested again and again."""

    def judge(evidence: Evidence) -> Failure | None:
        visits = evidence.to(url)
        if len(visits) > _MOST_TRIES:
            return Failure(f"requested {url} {len(visits)} times", tuple(visits))
        return None

    return judge
