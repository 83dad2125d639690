"""The lab's front page: its sites, its hostile hosts, and how to point a browser or a crawler at them. No script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from urllib.parse import quote

from . import traps
from .hostile import REGISTRY
from .profiles import PROFILES
from .sites import DOMAIN, Site
from .through import path_of
from .world import World

MOST_ROWS = 500
_ICON = quote(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 2"><circle cx="1" cy="1" r="1" fill="teal"/></svg>'
)
_CODE = re.compile("`([^`]*)`")
_STYLE = files(__package__).joinpath("front_page.css").read_text()


def render(world: World, at: float, *, port: int, tls_port: int | None, visits: int) -> str:
    """The whole page, as of the virtual time `at`."""
    sites = sorted(world.sites(), key=lambda site: -site.size)
    return "".join(
        [
            '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>The lab of Periplus</title>',
            '<meta name="viewport" content="width=device-width">',
            f'<link rel="icon" href="data:image/svg+xml,{_ICON}">',
            f"<style>{_STYLE}</style><main>\n<h1>The lab: a generated web</h1>",
            '<p class="soft">A small web whose every fact is known: what exists, what links where, when each page',
            " changes, what each sitemap claims and whether it is true.</p>\n",
            '<nav><a href="#sites">Sites</a> <a href="#profiles">Profiles</a> <a href="#traps">Traps</a> ',
            '<a href="#hostile">Hostile hosts</a></nav>',
            *_facts(world, sites, at, visits),
            *_ways_in(sites[0].host, port, tls_port),
            *_site_table(sites),
            *_profile_table(),
            *_traps(),
            *_hostile_table(),
            "</main>\n",
        ]
    )


def _facts(world: World, sites: list[Site], at: float, visits: int) -> Iterator[str]:
    moment = datetime.fromtimestamp(at, UTC)
    facts = {
        "sites": f"{len(sites):,}",
        "host names": f"{len(world.hosts):,}",
        "pages": f"{sum(site.size for site in sites):,}",
        "seed": str(world.seed),
        "the lab's time (UTC)": f"{moment:%d %b %Y, %H:%M}",
        "requests so far": f"{visits:,}",
    }
    yield '<div class="facts">'
    yield from (f"<div><b>{value}</b><span>{name}</span></div>" for name, value in facts.items())
    yield "</div>\n"


def _ways_in(host: str, port: int, tls_port: int | None) -> Iterator[str]:
    here = f"127.0.0.1:{port}"
    lines = [
        "# as a proxy: every name of the lab, no DNS needed",
        f"http_proxy=http://{here} your-crawler http://{host}/",
        f"curl -x http://{here} http://{host}/",
        "# or directly",
        f"curl --connect-to ::{here} http://{host}/",
    ]
    if tls_port is not None:
        lines += [
            "# TLS",
            f"curl -so ca.pem http://{here}/ca.pem",
            f"curl --cacert ca.pem --connect-to ::127.0.0.1:{tls_port} https://{host}/",
        ]
    yield f"<h2>Point a crawler here</h2><pre>{escape(chr(10).join(lines))}</pre>"
    yield '<p class="soft">For programs: <a href="/seeds.txt">seeds.txt</a>, <a href="/hosts.txt">hosts.txt</a>, '
    yield '<a href="/visits.jsonl">visits.jsonl</a> (all requests), <a href="/clock">clock</a>. '
    yield "The links below lead through paths of this host, so that a browser can follow them.</p>\n"


def _site_table(sites: list[Site]) -> Iterator[str]:
    yield '<h2 id="sites">Sites</h2><div class="table"><table><tr><th>host<th>profile<th class="n">pages<th>changes'
    yield "<th>validators<th>feed<th>address<th>robots.txt</tr>\n"
    for site in sites[:MOST_ROWS]:
        home = escape(path_of(site.host))
        yield f'<tr><td class="host"><a href="{home}">{escape(site.host)}</a><td>{_tag(site.profile.value)}'
        yield f'<td class="n">{site.size:,}'
        habits = (site.pattern.value, site.validation.value, site.feed or "–", site.address)
        yield "".join(f'<td class="small">{habit}' for habit in habits)
        yield f'<td class="small"><a href="{home}robots.txt">{site.robots}</a></tr>\n'
    yield "</table></div>"
    if len(sites) > MOST_ROWS:
        more = f"{len(sites) - MOST_ROWS:,} smaller ones"
        yield f'<p class="soft">… and {more}: see <a href="/seeds.txt">seeds.txt</a>.</p>'


def _profile_table() -> Iterator[str]:
    yield '<h2 id="profiles">Profiles: what sites say about themselves</h2><div class="table"><table>'
    yield "<tr><th>profile<th>after<th>sitemaps<th>truth</tr>\n"
    for name, (after, sitemaps, truth) in PROFILES.items():
        yield f"<tr><td>{_tag(name)}<td>{after}<td>{sitemaps}<td>{truth}</tr>\n"
    yield "</table></div>"


def _traps() -> Iterator[str]:
    yield '<h2 id="traps">Traps</h2><p class="soft">Ordinary pages without end, on hosts that no site links to: '
    yield ", ".join(f'<a href="{path_of(host)}">{host.removesuffix("." + DOMAIN)}</a>' for host in traps.HOSTS)
    yield ".</p>"


def _hostile_table() -> Iterator[str]:
    yield '<h2 id="hostile">Hostile and broken hosts</h2><p class="soft">Some of these never end: close the tab.</p>'
    yield '<div class="table"><table><tr><th>host<th>what it does<th>what a good crawler does</tr>\n'
    for one in REGISTRY.values():
        yield f'<tr><td class="host"><a href="{path_of(one.host)}">{one.name}</a>'
        yield f"<td>{_prose(one.does)}<td>{_prose(one.wants)}</tr>\n"
    yield "</table></div>"


def _prose(text: str) -> str:
    """The text of a docstring: parts between backticks are code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _tag(name: str) -> str:
    """A profile's name in its own colour, spread evenly around the wheel; no colour for no sitemap."""
    if name == "none":
        return f'<span class="tag plain">{name}</span>'
    hue = list(PROFILES).index(name) * 360 // len(PROFILES)
    return f'<span class="tag" style="--hue:{hue}">{name}</span>'
