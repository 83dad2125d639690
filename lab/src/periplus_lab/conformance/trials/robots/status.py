"""robots.txt that is elsewhere, missing or broken: what holds then."""

from __future__ import annotations

from ....hostile.script import HTML, TEXT, Reset, Script
from ....http import Answer, Request
from ...cases import Case, Evidence, Failure, Trial, trial
from ...sites import TrialSite, Web

_RFC = "RFC 9309 section"


def _site(web: Web) -> TrialSite:
    site = web.site()
    site.pages(("/open", "/forbidden"))
    site.page("/", "/open", "/forbidden")
    return site


@trial("robots")
def not_found(web: Web) -> Trial:
    """There is no robots.txt."""
    site = _site(web)
    del site.answers["/robots.txt"]
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="not-found",
                says="If the status is in the 400-499 range, the crawler MAY access any resources on the server.",
                source=f"{_RFC} 2.3.1.3",
                wants=site.urls("/open", "/forbidden"),
            ),
        ),
    )


@trial("robots")
def server_error(web: Web) -> Trial:
    """The server fails to answer robots.txt."""
    site = _site(web)
    site.answers["/robots.txt"] = Answer(500, (HTML,), b"<!doctype html><title>Error</title><p>Sorry.\n")
    return Trial(
        seed=site.url(),
        seconds=30,
        cases=(
            Case(
                name="server-error",
                says="If robots.txt is unreachable due to server errors, the crawler MUST assume complete disallow.",
                source=f"{_RFC} 2.3.1.4",
                wants=site.urls("/robots.txt"),
                forbids=site.urls("/open", "/forbidden"),
                wants_seed=False,
            ),
        ),
    )


@trial("robots")
def network_error(web: Web) -> Trial:
    """The connection is reset whenever robots.txt is asked for."""
    site = _site(web)
    site.answers["/robots.txt"] = lambda _request: Script(0, iter((Reset(),)))
    return Trial(
        seed=site.url(),
        seconds=30,
        cases=(
            Case(
                name="network-error",
                says="If robots.txt is unreachable due to network errors, the crawler MUST assume complete disallow.",
                source=f"{_RFC} 2.3.1.4",
                wants=site.urls("/robots.txt"),
                forbids=site.urls("/open", "/forbidden"),
                wants_seed=False,
            ),
        ),
    )


@trial("robots")
def redirects(web: Web) -> Trial:
    """Five redirects before robots.txt."""
    site = _site(web)
    for number in range(4):
        site.redirect(f"/hop-{number}", f"/hop-{number + 1}", 302)
    site.redirect("/robots.txt", "/hop-0")
    site.redirect("/hop-3", "/rules.txt", 307)
    site.text("/rules.txt", "User-agent: *\nDisallow: /forbidden\n")
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="five-redirects",
                says="If robots.txt is reached within five consecutive redirects, its rules MUST be followed.",
                source=f"{_RFC} 2.3.1.2",
                wants=site.urls("/rules.txt", "/open"),
                forbids=site.urls("/forbidden"),
            ),
        ),
    )


@trial("robots")
def redirect_to_another_host(web: Web) -> Trial:
    """robots.txt is at another host, which has its own."""
    site = _site(web)
    other = web.site("other")
    site.redirect("/robots.txt", other.url("/rules.txt"))
    other.text("/rules.txt", "User-agent: *\nDisallow: /forbidden\n")
    other.robots("User-agent: *\nDisallow: /\n")
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="redirect-to-another-host",
                says="Redirects are followed across authorities, the rules in the context of the initial authority.",
                source=f"{_RFC} 2.3.1.2",
                wants=(other.url("/rules.txt"), *site.urls("/open")),
                forbids=site.urls("/forbidden"),
            ),
        ),
    )


_MOST_HOPS = 60
"""Requests for a robots.txt that redirects to itself: five hops are followed, or twenty, and again a few times."""


@trial("robots")
def redirect_loop(web: Web) -> Trial:
    """robots.txt redirects in circles."""
    site = _site(web)
    site.redirect("/robots.txt", "/round", 302)
    site.redirect("/round", "/robots.txt", 302)

    def gives_up(evidence: Evidence) -> Failure | None:
        found = evidence.to(*site.urls("/robots.txt", "/round"))
        return Failure(f"followed {len(found)} redirects", tuple(found)) if len(found) > _MOST_HOPS else None

    return Trial(
        seed=site.url(),
        seconds=30,
        cases=(
            Case(
                name="redirect-loop",
                says="After more than five consecutive redirects crawlers MAY assume that robots.txt is unavailable.",
                source=f"{_RFC} 2.3.1.2",
                wants=site.urls("/robots.txt"),
                wants_seed=False,
                judge=gives_up,
            ),
        ),
    )


@trial("robots")
def closed_site(web: Web) -> Trial:
    """Nothing may be crawled."""
    site = _site(web)
    site.robots("User-agent: *\nDisallow: /\n")
    return Trial(
        seed=site.url(),
        seconds=30,
        cases=(
            Case(
                name="disallow-all",
                says="`Disallow: /` disallows every path; the /robots.txt URI is implicitly allowed.",
                source=f"{_RFC} 2.2.2",
                wants=site.urls("/robots.txt"),
                forbids=site.urls("/open", "/forbidden"),
                wants_seed=False,
            ),
            Case(
                name="seed-too",
                says="A crawler MUST match the rules against every URI that it accesses, also the first.",
                source=f"{_RFC} 2.2.2",
                wants=site.urls("/robots.txt"),
                forbids=site.urls("/"),
                wants_seed=False,
            ),
        ),
    )


@trial("robots")
def authorities(web: Web) -> Trial:
    """Each scheme and host has its own robots.txt."""
    site = web.site()
    other = web.site("other")
    site.robots("User-agent: *\nDisallow: /not-here\n")
    other.robots("User-agent: *\nDisallow: /not-there\n")
    site.pages(("/not-here", "/not-there"))
    other.pages(("/not-here", "/not-there"))
    site.page("/", "/not-here", "/not-there", *other.urls("/not-here", "/not-there"))
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="own-file-of-each-host",
                says="The rules of a robots.txt hold for the authority that it was fetched from, and no other.",
                source=f"{_RFC} 2.3",
                wants=site.urls("/not-there"),
                forbids=(*site.urls("/not-here"), *other.urls("/not-there")),
            ),
        ),
    )


@trial("robots")
def schemes(web: Web) -> Trial:
    """Https has another robots.txt than http."""
    site = web.site()
    secure = f"https://{site.host}"

    def robots(request: Request) -> Answer:
        is_secure = request.header("x-forwarded-proto") == "https"
        return Answer(200, (TEXT,), f"User-agent: *\nDisallow: /not-{'s' if is_secure else 'p'}\n".encode())

    site.answers["/robots.txt"] = robots
    site.pages(("/not-s", "/not-p"))
    site.page("/", "/not-s", "/not-p", f"{secure}/not-s", f"{secure}/not-p")
    return Trial(
        seed=site.url(),
        needs_tls=True,
        cases=(
            Case(
                name="own-file-of-each-scheme",
                says="The rules of a robots.txt hold for the scheme that it was fetched by, and no other.",
                source=f"{_RFC} 2.3",
                forbids=(*site.urls("/not-p"), f"{secure}/not-s"),
            ),
        ),
    )
