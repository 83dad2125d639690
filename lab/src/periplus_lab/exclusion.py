"""robots.txt files of all kinds, and what each of them really allows.

The rules are kept as plain data and judged here by a matcher of its own, as short as RFC 9309 is, so that the truth
does not come from the reader that is tested against it. Kinds: missing, empty, open, private (folders), wildcards,
delay, agents (other rules for some), late (one agent's rules in two places), encoded (escapes), many-groups, closed,
dirty.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from periplus.formats.robots import Group, Robots, Rule, write

from .sites import Site


class RobotsGroup(Struct, frozen=True):
    """The rules for some agents: patterns with whether they allow, and a delay in seconds."""

    agents: tuple[str, ...]
    rules: tuple[tuple[bool, str], ...] = ()
    delay: float | None = None


_ALL = ("*",)
_BOTS = tuple(
    RobotsGroup((f"bot-{first}{last}",), ((False, f"/{first}/"),)) for first in "abcdef" for last in "ghijklmnop"
)


def robots_groups(site: Site) -> tuple[RobotsGroup, ...]:
    """The groups of a site's robots.txt, in order; empty for a file that is missing or empty."""
    first, last = f"/{site.sections[0]}/", f"/{site.sections[-1]}/"
    kinds: dict[str, tuple[RobotsGroup, ...]] = {
        "open": (RobotsGroup(_ALL),),
        "closed": (RobotsGroup(_ALL, ((False, "/"),)),),
        "private": (
            RobotsGroup(_ALL, ((False, first), (True, f"{first}list-"), (False, "/print/"), (False, "/find"))),
        ),
        "wildcards": (
            RobotsGroup(
                _ALL, ((False, "/*?*sid="), (False, "/*?*sort="), (False, "/*7.html$"), (False, "/*/list-*5/"))
            ),
        ),
        "delay": (RobotsGroup(_ALL, ((False, "/print/"),), 2.0), RobotsGroup(("slowbot",), (), 10.0)),
        "agents": (
            RobotsGroup(("badbot", "worsebot"), ((False, "/"),)),
            RobotsGroup(("googlebot", "periplus"), ((False, last),)),
            RobotsGroup(_ALL, ((False, first), (False, "/print/"))),
        ),
        "late": (
            RobotsGroup(_ALL, ((False, first),)),
            RobotsGroup(("otherbot",), ((False, "/"),)),
            RobotsGroup(_ALL, ((False, "/print/"), (True, f"{first}list-"))),
        ),
        "encoded": (RobotsGroup(_ALL, ((False, "/%7Eprivate/"), (False, "/caf%C3%A9/"), (False, "/%70rint/"))),),
        "many-groups": (*_BOTS, RobotsGroup(_ALL, ((False, "/print/"),))),
        "dirty": (RobotsGroup(_ALL, ((False, "/print/"), (False, "/find"))),),
    }
    return kinds.get(site.robots, ())


def text(site: Site, sitemap: str | None) -> bytes | None:
    """The file; `None` if there is none. `sitemap` is the URL to announce."""
    if site.robots == "missing":
        return None
    if site.robots == "empty":
        return b""
    if site.robots == "dirty":
        return _dirty(site, sitemap or "")
    groups = [
        Group(group.agents, tuple(Rule(allows, pattern) for allows, pattern in group.rules), group.delay)
        for group in robots_groups(site)
    ]
    return write(Robots(groups, [sitemap] if sitemap else []))


def _dirty(site: Site, sitemap: str) -> bytes:
    """What the Berkeley survey found: angle brackets, odd case, relative URLs, comments, stray lines."""
    lines = [
        "\ufeff# robots.txt of " + site.host,
        "SITEMAP: <" + sitemap + ">",
        "please be nice",
        "user-AGENT : *",
        "DISALLOW: /print/   # printable pages",
        "disallow:/find",
        "Sitemap: /sitemap-a.xml",
        "Sitemap: ",
        "sitemap: " + sitemap.replace("_index", "-b"),
    ]
    return "\r\n".join(lines).encode() + b"\r\n"


def allows(site: Site, agent: str, target: str) -> bool:
    """Whether the site lets `agent` (a product token) fetch `target` (path and query): RFC 9309 section 2.2."""
    if target.partition("?")[0] == "/robots.txt":
        return True
    groups = robots_groups(site)
    mine = [group for group in groups if agent.lower() in group.agents] or [v for v in groups if "*" in v.agents]
    rules = [rule for group in mine for rule in group.rules]
    matching = [(len(pattern), allowed) for allowed, pattern in rules if _matches(_decoded(pattern), _decoded(target))]
    return max(matching, default=(0, True))[1]


def _decoded(path: str) -> str:
    """The two escapes that our patterns use and a plain spelling may differ in."""
    return path.replace("%7E", "~").replace("%7e", "~").replace("%70", "p")


def _matches(pattern: str, target: str) -> bool:
    """`*` is any run of characters, `$` at the end is the end."""
    if pattern.endswith("$"):
        return _ends(pattern[:-1].split("*"), target)
    return _find(pattern.split("*"), target) is not None


def _ends(pieces: list[str], target: str) -> bool:
    at = _find(pieces[:-1], target) if len(pieces) > 1 else 0
    if at is None or (len(pieces) == 1 and target != pieces[0]):
        return False
    return len(target) - len(pieces[-1]) >= at and target.endswith(pieces[-1])


def _find(pieces: Iterable[str], target: str) -> int | None:
    """The end of the pieces in the target, in order, the first at its very beginning; `None` if one is missing."""
    at = 0
    for number, piece in enumerate(pieces):
        at = target.find(piece, at) if number else (0 if target.startswith(piece) else -1)
        if at < 0:
            return None
        at += len(piece)
    return at
