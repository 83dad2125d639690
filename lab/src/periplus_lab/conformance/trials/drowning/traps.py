"""Sites that make ever more URLs. Beside each trap are honest pages, and the budget is enough for them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from html import escape
from itertools import chain

from msgspec.structs import replace
from xxhash import xxh3_64_hexdigest

from ....hostile.script import HTML, answer_page
from ....http import Answer, Request
from ....traps import CALENDAR, FACETS, answer
from ...cases import Case, CrawlerRun, Evidence, Failure, Judge, Trial, trial
from ...sites import DOMAIN, Handler, TrialSite, Web, anchors, html_page, prose
from .honest import GROUP, covers, kills_after, tell_stories, within

_SEED = 7
_LINKS = 10
_MENU = ("about", "news", "contact", "shop", "help", "jobs")


def _trap(host: str) -> Handler:
    """The answers of one of the lab's traps."""

    def handler(request: Request) -> Answer:
        found = answer(replace(request, host=host), _SEED)
        return found or answer_page("Not found", "", 404)

    return handler


def _drown(site: TrialSite, entrance: str, limit: int, name: str, says: str, source: str) -> Trial:
    """A trial with one case: the home page links to the trap first, then to the honest pages."""
    honest = tell_stories(site)
    site.page("/", entrance, "/town/")
    return Trial(
        seed=site.url(),
        limit=limit,
        seconds=4.0 * limit,
        runs=(CrawlerRun(kill_after=kills_after(limit)),),
        cases=(Case(name=name, says=says, source=source, wants=honest[:1], judge=covers(honest, limit)),),
    )


@trial(GROUP)
def calendar(web: Web) -> Trial:
    """Every month links to its days, the next month and the one before."""
    site = web.site()
    site.otherwise = _trap(CALENDAR)
    ahead = datetime.now(UTC) + timedelta(days=31)
    return _drown(
        site,
        f"/{ahead:%Y/%m}/",
        100,
        "endless-calendar",
        "A calendar that goes on forever does not use up the budget for the other pages of its site.",
        "Olston & Najork 2010, Web Crawling, section 6.2; Google Search Central, Infinite spaces",
    )


@trial(GROUP)
def facets(web: Web) -> Trial:
    """Filters that can be chosen in every order: 1,309 URLs of five texts."""
    site = web.site()
    site.otherwise = _trap(FACETS)
    return _drown(
        site,
        "/?view=list",
        150,
        "facets",
        "Filters that are combined in every order do not use up the budget: their pages show the same items.",
        "Google Search Central, Managing crawling of faceted navigation URLs; Olston & Najork 2010, section 6.2",
    )


@trial(GROUP)
def growing_paths(web: Web) -> Trial:
    """Relative links without their leading slash make the path grow with every click."""
    site = web.site()

    def page(request: Request) -> Answer:
        last = request.target.rstrip("/").rpartition("/")[2]
        return answer_page(escape(last), f"<p>{prose(last)}</p>{anchors(f'{name}/' for name in _MENU)}")

    site.otherwise = page
    return _drown(
        site,
        "/about/",
        150,
        "growing-paths",
        "Paths that repeat their own segments (/a/b/a/b/...) are left after a few pages.",
        "Heritrix, PathologicalPathDecideRule and TooManyPathSegmentsDecideRule; Olston & Najork 2010, section 6.2",
    )


@trial(GROUP)
def soft_404(web: Web) -> Trial:
    """Every URL answers 200 with the same apology, and with links to more of its kind."""
    site = web.site()

    def missing(request: Request) -> Answer:
        names = (xxh3_64_hexdigest(f"{request.target} {number}".encode()) for number in range(_LINKS))
        links = " ".join(f'<a href="/items/{name}.html">similar</a>' for name in names)
        return answer_page("Sorry", f"<p>This item is not available any more. {prose('sorry')}</p><p>{links}</p>")

    site.otherwise = missing
    return _drown(
        site,
        "/items/",
        150,
        "soft-404",
        "Pages that answer 200 and all say the same do not use up the budget.",
        "Bar-Yossef et al. 2004, Sic Transit Gloria Telae, section 3; Google Search Central, Soft 404 errors",
    )


@trial(GROUP)
def hosts(web: Web) -> Trial:
    """A wildcard name: every page links to ten hosts that were never seen before."""
    site = web.site()
    farm = web.site("*.farm")

    def page(request: Request) -> Answer:
        names = (xxh3_64_hexdigest(f"{request.host} {number}".encode())[:10] for number in range(_LINKS))
        return Answer(200, (HTML,), html_page(request.host, [f"http://{name}.farm.{DOMAIN}/" for name in names]))

    farm.otherwise = page
    drowned = _drown(
        site,
        f"http://first.farm.{DOMAIN}/",
        80,
        "endless-hosts",
        "Names without an end below one domain do not use up the budget for its other hosts.",
        "Lee et al. 2009, IRLbot, section 5 (budgets of domains)",
    )
    # Each host may cost a robots.txt and some guesses at sitemaps.
    return replace(drowned, needs_names=True, runs=(CrawlerRun(kill_after=10 * kills_after(80)),))


@trial(GROUP)
def mirrors(web: Web) -> Trial:
    """Two names for one site of 46 pages: each page links to others under both names."""
    site, copy = web.site(), web.site("copy")
    targets = ["/", *(f"/guide/{number}.html" for number in range(1, 46))]
    for place, target in enumerate(targets):
        nearby = [targets[(place * 3 + step) % len(targets)] for step in range(1, 4)]
        links = chain.from_iterable((copy.url(link), site.url(link)) for link in nearby)
        body = html_page(escape(target), links)
        site.answers[target] = copy.answers[target] = Answer(200, (HTML,), body)
    limit = 64
    return Trial(
        seed=site.url(),
        limit=limit,
        seconds=4.0 * limit,
        needs_names=True,
        runs=(CrawlerRun(kill_after=kills_after(limit)),),
        cases=(
            Case(
                name="mirrors",
                says="Once two hosts have shown the same pages, the other pages are not fetched from both.",
                source="Bharat & Broder 1999, Mirror, Mirror on the Web; Cho et al. 2000, Replicated Web Collections",
                judge=_shows_all(targets, limit),
            ),
        ),
    )


def _shows_all(targets: list[str], limit: int) -> Judge:
    """All pages, from either host, must be among the first that a crawler requests."""

    def judge(evidence: Evidence) -> Failure | None:
        first = within(evidence, limit)
        found = {visit.target for visit in first} & set(targets)
        if len(found) == len(targets):
            return None
        reason = f"requested {len(found)} of {len(targets)} pages in its first {len(first)} requests for pages"
        return Failure(reason, tuple(first[-6:]))

    return judge
