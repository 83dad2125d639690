"""An ordinary crawl: what is asked for, how often, and by whom."""

from __future__ import annotations

import re
from collections import Counter
from itertools import zip_longest

from ....log import Visit
from ...cases import Case, Evidence, Failure, Trial, trial
from ...sites import TrialSite, Web, product_token
from .pace import MERCATOR, few_at_once, slow_page, unhurried

_KOSTER = "Koster, Guidelines for Robot Writers (1993)"
_PAGES = 30
_LIMIT = 16
_TARGETS = [f"/page-{number}" for number in range(_PAGES)]
_WITHOUT_FRAGMENTS = _TARGETS[3::4]
"""Slow pages, to which no link has a fragment."""


@trial("load")
def ordinary(web: Web) -> Trial:
    """More pages than are asked for, which link to each other."""
    site = web.site()
    for number, target in enumerate(_TARGETS):
        if target in _WITHOUT_FRAGMENTS:
            slow_page(site, target, 0.4)
        else:
            near = [_TARGETS[(number + step) % _PAGES] for step in (1, 2, 3)]
            site.page(target, "/", *near, f"{target}#top", body="<p>" + "All the same words. " * 200)
    with_fragments = [f"{target}#part" for target in _TARGETS if target not in _WITHOUT_FRAGMENTS]
    both = [link for pair in zip_longest(_TARGETS, with_fragments) for link in pair if link]
    site.page("/", *both, "/")
    return Trial(seed=site.url(), limit=_LIMIT, seconds=120, cases=(*_requests(site), *_name(), *_number(site)))


def _gets(evidence: Evidence) -> list[Visit]:
    return [visit for visit in evidence.pages() if visit.method == "GET"]


def _number(site: TrialSite) -> tuple[Case, ...]:
    def kept(evidence: Evidence) -> Failure | None:
        number = len({visit.url for visit in _gets(evidence)})
        return Failure(f"fetched {number} pages; {_LIMIT} were asked for") if number > _LIMIT else None

    def reached(evidence: Evidence) -> Failure | None:
        number = len({visit.url for visit in _gets(evidence)})
        return Failure(f"fetched {number} pages; {_LIMIT} were asked for") if number < _LIMIT else None

    def once(evidence: Evidence) -> Failure | None:
        twice = [url for url, times in Counter(visit.url for visit in _gets(evidence)).items() if times > 1]
        return Failure(f"fetched {twice[0]} more than once", tuple(evidence.to(*twice))) if twice else None

    def once_with_fragments(evidence: Evidence) -> Failure | None:
        times = Counter(visit.url for visit in _gets(evidence))
        twice = evidence.to(*(url for url, number in times.items() if number > 1 and url != site.url()))
        if any(visit.target in _WITHOUT_FRAGMENTS for visit in twice):
            return None  # whatever the reason is, it is not the fragments
        found = [visit for visit in evidence.visits if "#" in visit.target or "%23" in visit.target] + twice
        return Failure("fetched a page once more for a fragment", tuple(found)) if found else None

    return (
        Case(
            name="limit-is-kept",
            says="A crawl that is asked for so many pages fetches no more.",
            source="the command that it is started with: {limit}",
            judge=kept,
        ),
        Case(
            name="limit-is-reached",
            says="A crawl that is asked for so many pages fetches as many, if there are.",
            source="the command that it is started with: {limit}",
            judge=reached,
        ),
        Case(
            name="no-page-twice",
            says="A page that many pages link to is fetched once.",
            source=f"{_KOSTER}: Don't loop or repeat; {MERCATOR}",
            judge=once,
        ),
        Case(
            name="fragments",
            says="A fragment is not sent, and does not make another page: it is separated before a URI is accessed.",
            source="RFC 3986 section 3.5; RFC 9110 section 7.1",
            judge=once_with_fragments,
        ),
    )


_MOST_ROBOTS = 3


def _requests(site: TrialSite) -> tuple[Case, ...]:
    def robots_kept(evidence: Evidence) -> Failure | None:
        found = evidence.to(site.url("/robots.txt"))
        return Failure(f"fetched robots.txt {len(found)} times", tuple(found)) if len(found) > _MOST_ROBOTS else None

    def no_heads(evidence: Evidence) -> Failure | None:
        heads = [visit for visit in evidence.pages() if visit.method == "HEAD"]
        both = {visit.url for visit in heads} & {visit.url for visit in _gets(evidence)}
        return Failure(f"asked twice for {len(both)} pages, by HEAD and GET", tuple(heads)) if len(both) > 1 else None

    def reused(evidence: Evidence) -> Failure | None:
        found = evidence.pages()
        connections = len({visit.connection for visit in found})
        if connections > len(found) / 2:
            return Failure(f"opened {connections} connections for {len(found)} requests", tuple(found))
        return None

    def compressed(evidence: Evidence) -> Failure | None:
        plain = [visit for visit in _gets(evidence) if not _CODING.search(visit.field("accept-encoding"))]
        return Failure("did not offer to take compressed pages", tuple(plain)) if plain else None

    return (
        Case(
            name="at-once",
            says="A client SHOULD NOT keep more than 2 connections to a server busy at once.",
            source=f"RFC 2616 section 8.1.4; {MERCATOR}",
            judge=few_at_once(site),
        ),
        Case(
            name="pause",
            says="There is a pause between two requests to a host: a tenth of a second at the very least.",
            source=f"{_KOSTER}: Walk, don't run",
            judge=unhurried(site),
        ),
        Case(
            name="robots-kept",
            says="robots.txt is cached: it is not asked for with every page.",
            source="RFC 9309 section 2.4",
            wants=site.urls("/robots.txt"),
            judge=robots_kept,
        ),
        Case(
            name="no-head-before-get",
            says="A page that is fetched is not asked for with HEAD first.",
            source=f"{_KOSTER}: Ask for what you want",
            judge=no_heads,
        ),
        Case(
            name="connections-are-reused",
            says="HTTP implementations SHOULD support persistent connections.",
            source="RFC 9112 section 9.3",
            judge=reused,
        ),
        Case(
            name="compression",
            says="Compressed pages are accepted, which saves most of the bytes.",
            source="RFC 9110 section 12.5.3",
            judge=compressed,
        ),
    )


_CODING = re.compile(r"\b(?:gzip|deflate|br|zstd)\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))", re.IGNORECASE)
_CONTACT = re.compile(r"https?://|@", re.IGNORECASE)
_SELF = re.compile(r"compatible;|bot\b|crawl|spider|archiv|https?://|@", re.IGNORECASE)


def _name() -> tuple[Case, ...]:
    def named(evidence: Evidence) -> Failure | None:
        found = [visit for visit in evidence.visits if product_token(visit.agent) == "*"]
        return Failure("sent no product name in User-Agent", tuple(found)) if found else None

    def same(evidence: Evidence) -> Failure | None:
        agents = {visit.agent for visit in evidence.visits}
        return (
            Failure(f"called itself {', '.join(sorted(agents))}", tuple(evidence.visits)) if len(agents) > 1 else None
        )

    def undisguised(evidence: Evidence) -> Failure | None:
        found = [
            visit for visit in evidence.visits if visit.agent.startswith("Mozilla/") and not _SELF.search(visit.agent)
        ]
        return Failure(f"called itself {found[0].agent}", tuple(found)) if found else None

    def reachable(evidence: Evidence) -> Failure | None:
        found = [visit for visit in evidence.visits if not _CONTACT.search(f"{visit.agent} {visit.field('from')}")]
        return Failure(f"sent only {found[0].agent or 'no name'}", tuple(found)) if found else None

    return (
        Case(
            name="user-agent",
            says="A user agent SHOULD send a User-Agent header field in each request, with a product name.",
            source="RFC 9110 section 10.1.5",
            judge=named,
        ),
        Case(
            name="same-user-agent",
            says="A crawler has the same name in all requests: robots.txt is asked for by who comes for the pages.",
            source="RFC 9309 section 2.2.1",
            judge=same,
        ),
        Case(
            name="no-disguise",
            says="A crawler does not pass for a browser: products do not use the tokens of others.",
            source="RFC 9110 section 10.1.5",
            judge=undisguised,
        ),
        Case(
            name="contact",
            says="A robotic user agent SHOULD say who can be contacted: in From, or by an address in User-Agent.",
            source="RFC 9110 section 10.1.2",
            judge=reachable,
        ),
    )
