"""Sitemaps and feeds that attack their readers, or never end. A crawler that reads none of them has nothing to fear."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace

from ....hostile.answers import endless_sitemap, xml_bomb, xxe
from ....hostile.script import TEXT, XML, Script
from ....http import Answer, Request
from ...cases import Case, Evidence, Failure, Judge, Trial, trial
from ...sites import Handler, Reply, TrialSite, Web
from .honest import GROUP, MEBIBYTE, goes_on, tell_stories, tries
from .streams import first_bytes, takes

_LEVELS = 9
"""Of entities that multiply by ten: two gigabytes."""
_SENT, _MOST_SENT = 256 * MEBIBYTE, 128 * MEBIBYTE
_LAST, _MOST_LISTS = 200, 100
"""Where lists of lists end that seem endless, and how many of them a crawler reads that has a bound."""
_PROTOCOL = "sitemaps.org protocol"
_FEED = ("Content-Type", "application/atom+xml")
_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def _as_sitemap(behaviour: Callable[[Request], Reply]) -> Handler:
    """One of the lab's hostile sitemaps, under another name."""
    return lambda request: behaviour(replace(request, target="/sitemap.xml"))


def _index(*urls: str) -> Answer:
    places = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return Answer(200, (XML,), f'<sitemapindex xmlns="{_NAMESPACE}">{places}</sitemapindex>'.encode())


def _feed(site: TrialSite, number: int) -> Answer:
    """A feed whose archive goes on in the next one, with an entry that is that one."""
    following = site.url(f"/feed/{number + 1}.xml")
    text = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>Feed</title><id>urn:feed</id>'
        f'<link rel="next" href="{following}"/><link rel="self" href="{site.url(f"/feed/{number}.xml")}"/>'
        f'<entry><title>More</title><id>{following}</id><link href="{following}"/></entry></feed>'
    )
    return Answer(200, (_FEED,), text.encode())


def _bounded(prefix: str) -> Judge:
    """The number of lists that are requested has a bound."""

    def judge(evidence: Evidence) -> Failure | None:
        visits = evidence.below(prefix)
        if len(visits) > _MOST_LISTS:
            return Failure(f"requested {len(visits)} lists below {prefix}", tuple(visits[-6:]))
        return None

    return judge


def _stole_nothing(evidence: Evidence) -> Failure | None:
    stolen = [visit for visit in evidence.visits if "root:" in visit.target or "root%3A" in visit.target]
    return Failure("sent the contents of a local file", tuple(stolen)) if stolen else None


@trial(GROUP)
def lists(web: Web) -> Trial:
    """Sitemaps that robots.txt names, and a feed that the home page names."""
    site = web.site()
    honest = tell_stories(site)
    names = ("entities", "external", "endless", "loop/a", "itself", "index/1")
    lines = "".join(f"Sitemap: {site.url(f'/sitemap/{name}.xml')}\n" for name in names)
    site.answers["/robots.txt"] = Answer(200, (TEXT,), f"User-agent: *\nDisallow:\n\n{lines}".encode())
    site.answers["/sitemap/entities.xml"] = _as_sitemap(lambda request: xml_bomb(request, _LEVELS))
    site.answers["/sitemap/external.xml"] = _as_sitemap(xxe)
    site.answers["/sitemap/endless.xml"] = _as_sitemap(_endless)
    site.answers["/sitemap/loop/a.xml"] = _index(site.url("/sitemap/loop/b.xml"))
    site.answers["/sitemap/loop/b.xml"] = _index(site.url("/sitemap/loop/a.xml"))
    site.answers["/sitemap/itself.xml"] = _index(site.url("/sitemap/itself.xml"))

    def numbered(request: Request) -> Reply:
        found = re.fullmatch(r"/(sitemap/index|feed)/(\d{1,4})\.xml", request.target)
        number = int(found[2]) if found else _LAST
        if not found or number >= _LAST:
            return missing(request)
        return _feed(site, number) if found[1] == "feed" else _index(site.url(f"/sitemap/index/{number + 1}.xml"))

    missing, site.otherwise = site.otherwise, numbered
    site.page("/", "/town/", head='<link rel="alternate" type="application/atom+xml" href="/feed/1.xml">')
    return Trial(seed=site.url(), limit=150, seconds=600.0, cases=_cases(site, honest))


def _endless(request: Request) -> Reply:
    script = endless_sitemap(request)
    return Script(script.status, first_bytes(script.actions, _SENT)) if isinstance(script, Script) else script


def _cases(site: TrialSite, honest: tuple[str, ...]) -> tuple[Case, ...]:
    return (
        Case(
            name="entity-expansion",
            says="Entities that multiply (billion laughs) are not expanded.",
            source="OWASP, XML External Entity Prevention Cheat Sheet; CWE-776",
            wants=honest,
            judge=goes_on,
        ),
        Case(
            name="external-entities",
            says="Entities and DTDs at other URLs are not fetched.",
            source="OWASP, XML External Entity Prevention Cheat Sheet; CWE-611",
            wants=honest,
            forbids=site.urls("/dtd", "/stolen"),
        ),
        Case(
            name="local-file-entities",
            says="Entities that name local files are not read: their contents would be sent to the site.",
            source="OWASP, XML External Entity Prevention Cheat Sheet; CWE-611",
            wants=honest,
            judge=_stole_nothing,
        ),
        Case(
            name="endless-sitemap",
            says="A sitemap has no more than 50,000 URLs and 50 MB; one without an end is not read on and on.",
            source=f"{_PROTOCOL}, Using Sitemap index files",
            wants=honest,
            judge=takes(site.url("/sitemap/endless.xml"), _MOST_SENT),
        ),
        Case(
            name="sitemap-index-loop",
            says="Sitemap indexes that list each other are read once.",
            source=f"{_PROTOCOL}: an index lists sitemaps, not other indexes",
            wants=honest,
            judge=tries(site.url("/sitemap/loop/a.xml")),
        ),
        Case(
            name="sitemap-lists-itself",
            says="A sitemap index that lists itself is read once.",
            source=f"{_PROTOCOL}: an index lists sitemaps, not other indexes",
            wants=honest,
            judge=tries(site.url("/sitemap/itself.xml")),
        ),
        Case(
            name="endless-sitemap-indexes",
            says="Indexes that list ever more indexes are left at a bound.",
            source=f"{_PROTOCOL}: an index lists sitemaps, not other indexes",
            wants=honest,
            judge=_bounded(site.url("/sitemap/index/")),
        ),
        Case(
            name="endless-feeds",
            says="Feeds that lead to ever more feeds are left at a bound.",
            source="RFC 5005 section 3 (paged feeds); Olston & Najork 2010, section 6.2",
            wants=honest,
            judge=_bounded(site.url("/feed/")),
        ),
    )
