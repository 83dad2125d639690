"""Answers that send a crawler in circles, or on and on."""

from __future__ import annotations

import re

from ....hostile.answers import CHAIN, redirect_chain
from ....hostile.connections import cookies_required
from ....hostile.script import HTML
from ....http import Answer, Request
from ...cases import Case, Evidence, Failure, Judge, Trial, trial
from ...sites import Reply, TrialSite, Web, html_page
from .honest import GROUP, tell_stories

_MOST_HOPS = 32
"""Fetch stops after 20 redirects, common libraries after 30."""
_LAST = 60
"""Where redirects that seem endless end, so that a crawler without a bound goes on to the other cases."""
_FETCH = "WHATWG Fetch, HTTP-redirect fetch: a redirect count of 20 is a network error"
_RFC = "RFC 9110 section 15.4"


def _not_often(site: TrialSite, *targets: str) -> Judge:
    """None of these is requested again and again."""

    def judge(evidence: Evidence) -> Failure | None:
        for target in targets:
            visits = evidence.to(site.url(target))
            if len(visits) > _MOST_HOPS:
                return Failure(f"requested {target} {len(visits)} times", tuple(visits))
        return None

    return judge


def _on_and_on(site: TrialSite, prefix: str) -> Judge:
    """The number of URLs that are requested below a prefix has a bound."""

    def judge(evidence: Evidence) -> Failure | None:
        visits = evidence.below(site.url(prefix))
        if len({visit.target for visit in visits}) > _MOST_HOPS:
            return Failure(f"made {len(visits)} requests in one chain", tuple(visits[-6:]))
        return None

    return judge


def _refreshing(target: str, *, by_field: bool = False) -> Answer:
    """A page that says that another is to be shown in its place, at once."""
    if by_field:
        return Answer(200, (HTML, ("Refresh", f"0; url={target}")), html_page(target))
    return Answer(200, (HTML,), html_page(target, head=f'<meta http-equiv="refresh" content="0; url={target}">'))


def _endless(site: TrialSite, prefix: str) -> None:
    """Redirects whose query grows by one each time: there is no circle to see."""

    def answer(request: Request) -> Reply:
        if request.target.startswith("/hop/"):
            return redirect_chain(request)
        found = re.fullmatch(re.escape(prefix) + r"\?n=(\d{1,6})", request.target)
        if not found or int(found[1]) >= _LAST:
            return missing(request)
        return Answer(302, (("Location", f"{prefix}?n={int(found[1]) + 1}"),), b"")

    missing, site.otherwise = site.otherwise, answer


@trial(GROUP)
def redirects(web: Web) -> Trial:
    """Circles and chains of redirects of all kinds, beside honest pages."""
    site = web.site()
    honest = tell_stories(site)
    site.redirect("/circle/a", "/circle/b")
    site.redirect("/circle/b", "/circle/c")
    site.redirect("/circle/c", "/circle/a")
    site.redirect("/itself", "/itself", 302)
    site.answers["/cookie"] = cookies_required
    site.redirect("/chain", "/hop/1", 302)
    _endless(site, "/count")
    site.answers["/refresh/a"] = _refreshing("/refresh/b")
    site.answers["/refresh/b"] = _refreshing("/refresh/a")
    site.answers["/field/a"] = _refreshing("/field/b", by_field=True)
    site.answers["/field/b"] = _refreshing("/field/a", by_field=True)
    entrances = ("/circle/a", "/itself", "/cookie", "/chain", "/count?n=1", "/refresh/a", "/field/a")
    site.page("/", *entrances, "/town/")
    return Trial(
        seed=site.url(),
        limit=200,
        seconds=400.0,
        cases=(
            Case(
                name="redirect-loop",
                says="A client SHOULD detect and intervene in cyclical redirections (infinite redirection loops).",
                source=_RFC,
                wants=(*site.urls("/circle/a", "/circle/b", "/circle/c"), *honest),
                judge=_not_often(site, "/circle/a", "/circle/b", "/circle/c"),
            ),
            Case(
                name="redirect-to-itself",
                says="A URL that redirects to itself is not requested again and again.",
                source=_RFC,
                wants=(site.url("/itself"), *honest),
                judge=_not_often(site, "/itself"),
            ),
            Case(
                name="redirect-until-a-cookie",
                says="A URL that redirects to itself until a cookie comes back is given up, or gets its cookie.",
                source=_RFC,
                wants=(site.url("/cookie"), *honest),
                judge=_not_often(site, "/cookie"),
            ),
            Case(
                name="redirect-chain",
                says=f"A chain of {CHAIN} redirects is not followed to its end: the number of hops has a bound.",
                source=_FETCH,
                wants=(site.url("/chain"), *honest),
                judge=_on_and_on(site, "/hop/"),
            ),
            Case(
                name="endless-redirects",
                says="Redirects that never repeat a URL end at a bound.",
                source=_FETCH,
                wants=(site.url("/count?n=1"), *honest),
                judge=_on_and_on(site, "/count"),
            ),
            Case(
                name="meta-refresh-loop",
                says="Two pages that refresh to each other are not fetched in turn forever.",
                source="WHATWG HTML section 4.2.5.3 (refresh state)",
                wants=(site.url("/refresh/a"), *honest),
                judge=_not_often(site, "/refresh/a", "/refresh/b"),
            ),
            Case(
                name="refresh-field-loop",
                says="Two pages whose Refresh fields name each other are not fetched in turn forever.",
                source="WHATWG HTML section 7.5.1 (Refresh)",
                wants=(site.url("/field/a"), *honest),
                judge=_not_often(site, "/field/a", "/field/b"),
            ),
        ),
    )
