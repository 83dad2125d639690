"""robots.txt (RFC 9309): which rules hold for whom, and what holds when there are none."""

from __future__ import annotations

from ...hostile.script import TEXT
from ...http import Answer, Request
from ..cases import Case, Trial, product_token, trial
from ..sites import Web

_RFC = "RFC 9309 section"


@trial("robots")
def rules(web: Web) -> Trial:
    """Which rule of a group holds for a path."""
    site = web.site()
    site.robots(
        "User-agent: *\n"
        "Disallow: /longest\nAllow: /longest/open\n"
        "Disallow: /tie\nAllow: /tie\n"
        "Disallow: /*.gif\nDisallow: /end$\nDisallow: /query?x=1\n"
    )
    allowed = ("/longest/open/a", "/tie/a", "/ending", "/query?x=2")
    forbidden = ("/longest/closed", "/pictures/a.gif", "/pictures/a.gif?b", "/end", "/query?x=1")
    site.pages((*allowed, *forbidden))
    site.page("/", *allowed, *forbidden)
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="longest-match",
                says="The most specific match found MUST be used: the match that has the most octets.",
                source=f"{_RFC} 2.2.2",
                wants=site.urls("/longest/open/a"),
                forbids=site.urls("/longest/closed"),
            ),
            Case(
                name="allow-wins-a-tie",
                says="If an allow rule and a disallow rule are equivalent, then the allow rule SHOULD be used.",
                source=f"{_RFC} 2.2.2",
                wants=site.urls("/tie/a"),
            ),
            Case(
                name="wildcard",
                says="`*` designates 0 or more instances of any character.",
                source=f"{_RFC} 2.2.3",
                wants=site.urls("/ending"),
                forbids=site.urls("/pictures/a.gif", "/pictures/a.gif?b"),
            ),
            Case(
                name="end-of-pattern",
                says="`$` designates the end of the match pattern.",
                source=f"{_RFC} 2.2.3",
                wants=site.urls("/ending"),
                forbids=site.urls("/end"),
            ),
            Case(
                name="query",
                says="The path rules are matched against includes the query.",
                source=f"{_RFC} 2.2.2",
                wants=site.urls("/query?x=2"),
                forbids=site.urls("/query?x=1"),
            ),
        ),
    )


@trial("robots")
def groups(web: Web) -> Trial:
    """Which group holds for a crawler: the site answers with one for the name that it is asked by."""
    site = web.site()

    def robots(request: Request) -> Answer:
        token = product_token(request.header("user-agent") or "")
        text = (
            f"User-agent: *\nDisallow: /for-others\n\nUser-agent: {token.upper()}\nDisallow: /for-you\n\n"
            f"User-agent: someone-else\nDisallow: /for-nobody\n\nUser-agent: {token.lower()}\nDisallow: /for-you-too\n"
        )
        return Answer(200, (TEXT,), text.encode())

    site.answers["/robots.txt"] = robots
    site.pages(("/for-others", "/for-you", "/for-nobody", "/for-you-too", "/open"))
    site.page("/", "/for-others", "/for-you", "/for-nobody", "/for-you-too", "/open")
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="own-group",
                says="Crawlers MUST find the group that matches the product token exactly, and then obey its rules.",
                source=f"{_RFC} 2.2.1",
                wants=site.urls("/open"),
                forbids=site.urls("/for-you"),
            ),
            Case(
                name="own-group-replaces-star",
                says="The group for `*` holds only if no group matches the product token.",
                source=f"{_RFC} 2.2.1",
                wants=site.urls("/for-others", "/for-nobody"),
            ),
            Case(
                name="groups-are-combined",
                says="If more than one group matches the user agent, their rules MUST be combined into one group.",
                source=f"{_RFC} 2.2.1",
                wants=site.urls("/open"),
                forbids=site.urls("/for-you-too"),
            ),
        ),
    )
