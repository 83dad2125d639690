"""Which group of robots.txt holds for a crawler: the sites answer with one for the name that they are asked by."""

from __future__ import annotations

from collections.abc import Callable

from ....hostile.script import TEXT
from ....http import Answer, Request
from ...cases import Case, Trial, trial
from ...sites import TrialSite, Web

_SOURCE = "RFC 9309 section 2.2.1"


def _site(web: Web, text_for: Callable[[str], str], *targets: str) -> TrialSite:
    """A site with some pages, whose robots.txt depends on the crawler's product token."""
    site = web.site()

    def robots(request: Request) -> Answer:
        return Answer(200, (TEXT,), text_for(web.token_of(request)).encode())

    site.answers["/robots.txt"] = robots
    site.pages(targets)
    site.page("/", *targets)
    return site


@trial("robots")
def groups(web: Web) -> Trial:
    """A group of its own beside others."""
    site = _site(
        web,
        lambda token: (
            f"User-agent: *\nDisallow: /for-others\n\nUser-agent: {token}\nDisallow: /for-you\n\n"
            f"User-agent: someone-else\nDisallow: /for-nobody\n\nUser-agent: {token}\nDisallow: /more-for-you\n"
        ),
        *("/for-others", "/for-you", "/for-nobody", "/more-for-you", "/open"),
    )
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="own-group",
                says="Crawlers MUST find the group that matches the product token, and then obey its rules.",
                source=_SOURCE,
                wants=site.urls("/open"),
                forbids=site.urls("/for-you"),
            ),
            Case(
                name="own-group-replaces-star",
                says="The group for `*` holds only if no group matches the product token.",
                source=_SOURCE,
                wants=site.urls("/for-others", "/for-nobody"),
            ),
            Case(
                name="groups-are-combined",
                says="If more than one group matches the user agent, their rules MUST be combined into one group.",
                source=_SOURCE,
                wants=site.urls("/open"),
                forbids=site.urls("/more-for-you"),
            ),
        ),
    )


@trial("robots")
def shared_group(web: Web) -> Trial:
    """One group for several crawlers, before the one for all."""
    site = _site(
        web,
        lambda token: (
            f"User-agent: someone-else\nUser-agent: {token}\nUser-agent: another\nDisallow: /shared\n\n"
            "User-agent: *\nDisallow: /for-others\n"
        ),
        *("/shared", "/for-others", "/open"),
    )
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="several-names",
                says="A group begins with one or more user-agent lines, and holds for each of them.",
                source=_SOURCE,
                wants=site.urls("/open"),
                forbids=site.urls("/shared"),
            ),
            Case(
                name="order-of-groups",
                says="The group for `*` does not hold for a crawler that has its own, wherever it stands.",
                source=_SOURCE,
                wants=site.urls("/for-others"),
            ),
        ),
    )


@trial("robots")
def case_of_names(web: Web) -> Trial:
    """The crawler's name in letters of the other case."""
    site = _site(
        web,
        lambda token: f"User-agent: {token.swapcase()}\nDisallow: /for-you\n\nUser-agent: *\nDisallow: /for-others\n",
        *("/for-you", "/for-others", "/open"),
    )
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="case-of-names",
                says="Crawlers MUST use case-insensitive matching to find the group that matches the product token.",
                source=_SOURCE,
                wants=site.urls("/open", "/for-others"),
                forbids=site.urls("/for-you"),
            ),
        ),
    )


@trial("robots")
def similar_names(web: Web) -> Trial:
    """The crawler's name with a version, and names that are only like it."""
    site = _site(
        web,
        lambda token: (
            f"User-agent: {token}/9.9\nDisallow: /versioned\n\n"
            f"User-agent: {token}-pictures\nDisallow: /for-a-longer-name\n\n"
            f"User-agent: {token[:-1]}\nDisallow: /for-a-shorter-name\n"
        ),
        *("/versioned", "/for-a-longer-name", "/for-a-shorter-name", "/open"),
    )
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="version-after-name",
                says="A product token ends where other characters than letters, `-` and `_` begin, such as a version.",
                source=f"{_SOURCE}; Google's robots.txt parser",
                wants=site.urls("/open"),
                forbids=site.urls("/versioned"),
            ),
            Case(
                name="longer-name",
                says="A group matches the whole product token: one for Name-pictures is not for Name.",
                source=_SOURCE,
                wants=site.urls("/for-a-longer-name"),
            ),
            Case(
                name="shorter-name",
                says="A group matches the whole product token: one for Nam is not for Name.",
                source=_SOURCE,
                wants=site.urls("/for-a-shorter-name"),
            ),
        ),
    )


@trial("robots")
def groups_for_all(web: Web) -> Trial:
    """No group of its own: those for all hold."""
    site = _site(
        web,
        lambda _token: (
            "Disallow: /before-any-group\n\nUser-agent: someone-else\nDisallow: /\n\n"
            "User-agent: *\nDisallow: /for-all\n\n\nDisallow: /after-blank-lines\n\n"
            "User-agent: another\nDisallow: /\n\nUser-agent: *\nDisallow: /more-for-all\n"
        ),
        *("/before-any-group", "/for-all", "/after-blank-lines", "/more-for-all", "/open"),
    )
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="star-group",
                says="If no group matches the product token, crawlers MUST obey the group for `*`.",
                source=_SOURCE,
                wants=site.urls("/open"),
                forbids=site.urls("/for-all"),
            ),
            Case(
                name="star-groups-are-combined",
                says="If more than one group matches the user agent, their rules MUST be combined: so those for `*`.",
                source=_SOURCE,
                wants=site.urls("/open"),
                forbids=site.urls("/more-for-all"),
            ),
            Case(
                name="blank-lines-in-group",
                says="Empty lines are part of a group: they do not end it.",
                source="RFC 9309 section 2.2",
                wants=site.urls("/open"),
                forbids=site.urls("/after-blank-lines"),
            ),
            Case(
                name="rule-without-group",
                says="A rule before the first user-agent line belongs to no group, and holds for nobody.",
                source="RFC 9309 section 2.2",
                wants=site.urls("/before-any-group"),
            ),
        ),
    )
