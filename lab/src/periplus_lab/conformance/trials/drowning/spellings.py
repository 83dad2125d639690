"""Sites with many URLs for one page. Every section has a way of its own to make them, and is judged by itself."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

from msgspec import Struct
from xxhash import xxh3_64_hexdigest

from ....hostile.script import HTML
from ....http import Answer, Request
from ...cases import Case, Evidence, Failure, Trial, trial
from ...sites import Reply, Web, html_page
from .honest import GROUP

_PAGES = ("tides", "currents", "winds", "charts")
_SPELLINGS = 8
_MOST_SPELLINGS = 3
"""Requests for each page at which a crawler has noticed; it may need some of them to learn."""
_LIMIT = 200


class _Section(Struct, frozen=True):
    """Four pages below a prefix, each with eight URLs, that link to each other in all of them.

    `spell` has the name of a page and a hexadecimal number of 32 digits that says nothing.
    """

    prefix: str
    spell: Callable[[str, str], str]

    def answer(self, request: Request) -> Answer:
        """The page of a URL, in whatever spelling."""
        numbers = [xxh3_64_hexdigest(f"{self.prefix} {number}".encode()) * 2 for number in range(_SPELLINGS)]
        links = [self.prefix + self.spell(page, number) for page in _PAGES for number in numbers]
        return Answer(200, (HTML,), html_page(f"{self.prefix} {_shown(request.target)}", links))

    def judge(self, evidence: Evidence) -> Failure | None:
        """Every page was requested, and none in many spellings."""
        visits = [visit for visit in evidence.pages() if visit.target.startswith(self.prefix) and _shown(visit.target)]
        if missing := set(_PAGES) - {_shown(visit.target) for visit in visits}:
            return Failure(f"never requested {', '.join(sorted(missing))} below {self.prefix}", tuple(visits))
        if len(visits) > _MOST_SPELLINGS * len(_PAGES):
            return Failure(f"made {len(visits)} requests for {len(_PAGES)} pages", tuple(visits))
        return None


def _shown(target: str) -> str:
    return next((page for page in _PAGES if page in target), "")


_SESSIONS = _Section("/shop/", lambda page, number: f"{page}.php?PHPSESSID={number}")
_IN_PATH = _Section("/desk/", lambda page, number: f"{page}.jsp;jsessionid={number.upper()}")
_TRACKED = _Section(
    "/news/", lambda page, number: f"{page}.html?utm_source=letter&utm_medium=email&utm_campaign={number[:6]}"
)
_CLICKS = _Section("/sale/", lambda page, number: f"{page}.html?gclid={number}")
_SECTIONS = (_SESSIONS, _IN_PATH, _TRACKED, _CLICKS)
_ORDERS = [f"/find?{'&'.join(order)}" for order in permutations(("lat=54", "long=10", "zoom=7", "unit=nm"))]
_MOST_ORDERS = 12


@trial(GROUP)
def spellings(web: Web) -> Trial:
    """Sessions, tracking and the order of parameters make many URLs for each page, though not without an end."""
    site = web.site()

    def answer(request: Request) -> Reply:
        if request.target in _ORDERS:
            return Answer(200, (HTML,), html_page("The chart", _ORDERS))
        found = next((section for section in _SECTIONS if request.target.startswith(section.prefix)), None)
        return found.answer(request) if found else missing(request)

    missing, site.otherwise = site.otherwise, answer
    site.page("/", *(section.prefix for section in _SECTIONS), _ORDERS[0])

    def judge_orders(evidence: Evidence) -> Failure | None:
        visits = evidence.below(site.url("/find"))
        if not 1 <= len(visits) <= _MOST_ORDERS:
            return Failure(f"requested one page in {len(visits)} orders of its parameters", tuple(visits))
        return None

    return Trial(
        seed=site.url(),
        limit=_LIMIT,
        seconds=4.0 * _LIMIT,
        cases=(
            Case(
                name="session-in-query",
                says="Session identifiers in the query (PHPSESSID) do not make new pages.",
                source="Bar-Yossef et al. 2009, Do Not Crawl in the DUST; Heritrix, StripSessionIDs rule",
                judge=_SESSIONS.judge,
            ),
            Case(
                name="session-in-path",
                says="Session identifiers in the path (;jsessionid=) do not make new pages.",
                source="Jakarta Servlet 6.0 section 7.1.3; Heritrix, StripSessionIDs canonicalization rule",
                judge=_IN_PATH.judge,
            ),
            Case(
                name="tracking-parameters",
                says="Parameters that only name the campaign of a link (utm_source and others) do not make new pages.",
                source="Google Analytics Help, URL builders: collect campaign data with custom URLs",
                judge=_TRACKED.judge,
            ),
            Case(
                name="click-identifiers",
                says="Identifiers of clicks on advertisements (gclid) do not make new pages.",
                source="Google Ads Help, About Google Click ID (GCLID)",
                judge=_CLICKS.judge,
            ),
            Case(
                name="permuted-parameters",
                says="The order of parameters does not make new pages.",
                source="Bar-Yossef et al. 2009, Do Not Crawl in the DUST; Dasgupta et al. 2008, De-duping URLs",
                judge=judge_orders,
            ),
        ),
    )
