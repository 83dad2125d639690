"""Redirects, and links in the head of an answer."""

from __future__ import annotations

from ....hostile.script import HTML as HTML_TYPE
from ....http import Answer
from ...cases import Case, Evidence, Failure, Trial, trial
from ...sites import Web, html_page
from .link_kinds import FEW_PAGES

_RFC = "RFC 9110 section 15.4"
_STATUSES = {301: "2", 302: "3", 303: "4", 307: "8", 308: "9"}
_HOPS = 5


@trial("finding")
def redirects(web: Web) -> Trial:
    """One redirect for each status, and for each way to write where it leads."""
    site = web.site()
    statuses = [
        Case(
            name=f"redirect-{status}",
            says=f"A client follows the Location of {status}.",
            source=f"{_RFC}.{section}",
            wants=site.urls(f"/by-{status}", f"/to-{status}"),
        )
        for status, section in _STATUSES.items()
    ]
    for status in _STATUSES:
        site.redirect(f"/by-{status}", site.url(f"/to-{status}"), status)
        site.page(f"/to-{status}")
    site.redirect("/old/relative", "../new/relative")
    site.redirect("/with-fragment", "/by-location#part", 302)
    site.redirect("/moved", "/new/place/")
    site.page("/new/place/", "next-door")
    site.pages(("/new/relative", "/by-location", "/new/place/next-door", "/next-door"))
    for hop in range(_HOPS):
        site.redirect(f"/hop/{hop}", f"/hop/{hop + 1}", 302)
    site.page(f"/hop/{_HOPS}")
    heads = {
        "/refreshed": ("Refresh", "0; url=/by-refresh"),
        "/linked": ("Link", '</by-link-header>; rel="next"; title="the, next"'),
        "/known-as": ("Link", '<https://example.org/>; rel="license", </canonical-in-header>; rel=canonical'),
    }
    for target, field in heads.items():
        site.answers[target] = Answer(200, (HTML_TYPE, field), html_page(site.url(target)))
    site.pages(("/by-refresh", "/by-link-header", "/canonical-in-header"))
    firsts = [f"/by-{status}" for status in _STATUSES]
    site.page("/", *firsts, "/old/relative", "/with-fragment", "/moved", "/hop/0", *heads)
    others = (
        Case(
            name="relative-location",
            says="A Location that is relative is resolved against the URL of the request.",
            source="RFC 9110 section 10.2.2",
            wants=site.urls("/old/relative", "/new/relative"),
        ),
        Case(
            name="location-with-fragment",
            says="The fragment of a Location is for the client, and not sent.",
            source="RFC 9110 section 10.2.2",
            wants=site.urls("/with-fragment", "/by-location"),
            judge=_without_fragments,
        ),
        Case(
            name="links-after-redirect",
            says="The links of a page are resolved against its own URL, not the one that was redirected.",
            source="RFC 3986 section 5.1.3",
            wants=site.urls("/new/place/", "/new/place/next-door"),
            forbids=site.urls("/next-door"),
        ),
        Case(
            name="redirect-chain",
            says="Five redirects in a row are followed.",
            source="RFC 9110 section 15.4; RFC 9309 section 2.3.1.2",
            wants=site.urls("/hop/0", f"/hop/{_HOPS}"),
        ),
        Case(
            name="refresh-header",
            says="A Refresh field does what the `meta` element of that name does.",
            source="WHATWG HTML: The Refresh header",
            wants=site.urls("/refreshed", "/by-refresh"),
        ),
        Case(
            name="link-header",
            says="A Link field is a link from the page, as a `link` element is.",
            source="RFC 8288 section 3",
            wants=site.urls("/linked", "/by-link-header"),
        ),
        Case(
            name="canonical-in-header",
            says="A Link field with rel=canonical names the preferred URL of a page.",
            source="RFC 6596 section 3",
            wants=site.urls("/known-as", "/canonical-in-header"),
        ),
    )
    return Trial(seed=site.url(), seconds=FEW_PAGES, cases=(*statuses, *others))


def _without_fragments(evidence: Evidence) -> Failure | None:
    found = [visit for visit in evidence.visits if "#" in visit.target]
    return Failure(f"sent a fragment: {found[0].url}", tuple(found)) if found else None
