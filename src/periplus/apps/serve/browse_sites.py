"""Pages about a whole collection, its sites, and one site."""

from __future__ import annotations

import shlex
from typing import Final

from msgspec.structs import asdict, replace
from starlette.exceptions import HTTPException

from periplus.apps.ulinks import Sample, chosen_ulinks
from periplus.apps.ulinks.titles import entitled, pages_of
from periplus.collection.facts.lines import collection_lines, site_lines
from periplus.collection.facts.lookup import SiteFacts, collection_facts, site_facts
from periplus.collection.facts.site_list import SORTS, STATES, list_sites, robots_text
from periplus.collection.facts.tables import balance_table, largest_sites, reason_tables, signal_table
from periplus.model import Site
from periplus.urls import canonical, site_of
from periplus.view.values import Column, Sheet

from .browse_asked import Asked
from .browse_cells import BrowsePage, Table, TableQuery, Text, quoted
from .browse_state import read_state
from .browse_tables import SQL, TableProblem, tables_of

_ROBOTS_BYTES: Final = 32 << 10
"""Of a robots.txt that are shown; RFC 9309 has crawlers read at least 500 KiB."""
_USEFUL: Final = 8
"""Useful links of a site."""
_EMPTY: Final = {"signals": "Nothing was learnt yet: signals are judged when pages are visited again."}
"""What is shown if a table has no rows, by its name."""


def overview(asked: Asked) -> BrowsePage:
    """What `periplus info` shows of a collection, with figures."""
    facts = read_state(collection_facts, asked.found)
    command = f"periplus info {asked.folder} --all"
    tables = [_shown(sheet, command) for sheet in (largest_sites(facts), *reason_tables(facts))]
    return BrowsePage(
        name="overview",
        title=asked.collection.name,
        about="What is known of this collection, as of the last commit of its crawl.",
        lines=collection_lines(facts, is_whole=False),
        tables=(*_figures(asked), *tables),
        facts=facts,
    )


def _figures(asked: Asked, where: str = "") -> tuple[TableQuery, ...]:
    """Status, depth, types, response times and rate, as the report draws them, of all sites or of some."""
    last = SQL["last"].format(where=f"and {where} " if where else "")
    return tables_of("figures", last=last, rate=asked.rate_sql(where))


# sites


def sites(asked: Asked) -> BrowsePage:
    """Every site: state, delay, robots.txt, budget, and when it is visited next and why."""
    first, most = asked.window("sites")
    found = read_state(
        list_sites,
        asked.found,
        asked.now,
        text=asked.parameter("q"),
        state=asked.choice("state", STATES),
        sort=asked.choice("sort", SORTS, "pages"),
        first=first,
        most=most + 1,
    )
    of_states = "; ".join(f"{number:,} {state.replace('-', ' ')}" for state, number in found.states.items())
    table = Table(
        name="sites",
        title=f"{found.matching:,} of {found.sites:,} sites",
        columns=(
            Column("site", "site", "site"),
            Column("state", "state"),
            Column("pages", "requests", "count"),
            Column("queued", "queue", "count"),
            Column("bytes", "downloaded", "bytes"),
            Column("failures", "failures", "count"),
            Column("delay", "delay", "seconds"),
            Column("robots", "robots.txt"),
            Column("to_sitemaps", "to sitemaps", "count"),
            Column("to_links", "to links", "count"),
            Column("next", "next visit", "moment"),
            Column("why", "why"),
        ),
        rows=[asdict(row) for row in found.rows[:most]],
        says="The budget of the next pages is divided between what sitemaps list and what links lead to.",
        command=f"periplus info {asked.folder} SITE",
        first=first,
        has_more=len(found.rows) > most,
        sorts=tuple(SORTS),
        empty="No site matches.",
    )
    return BrowsePage(
        name="sites",
        title="Sites",
        about=f"{of_states}." if of_states else "No site is known yet.",
        tables=(table,),
        facts={"matching": found.matching, "sites": found.sites, "states": found.states},
        form="sites",
    )


def site(asked: Asked) -> BrowsePage:
    """One site: what `periplus info` shows, its sitemaps and how far they can be trusted, troubles, useful links."""
    name = asked.place["site"]
    url = canonical(f"http://{name}/")
    facts = None if url is None else read_state(site_facts, asked.found, site_of(url))
    if facts is None:
        raise HTTPException(404, f"This collection has no site {name[:200]}. The page Sites lists all of them.")
    of_site = quoted(str(facts.site))
    robots = read_state(robots_text, asked.found, facts.site, _ROBOTS_BYTES + 1)
    text = Text("robots.txt", _readable(robots[:_ROBOTS_BYTES].replace("\r\n", "\n")), len(robots) > _ROBOTS_BYTES)
    return BrowsePage(
        name="site",
        title=str(facts.site),
        about="What is known of this site, and why it is visited as it is.",
        lines=site_lines(facts),
        tables=(
            *_figures(asked, f"site = {of_site}"),
            _useful(asked, facts.site),
            *_of_state(facts, asked.folder),
            *tables_of("site", site=of_site, last=SQL["last"].format(where=f"and site = {of_site} ")),
        ),
        texts=(text,) if robots else (),
        facts=facts,
    )


def _readable(text: str) -> str:
    """A text of several lines without control characters and marks that change its direction."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "\ufffd" for letter in text)


def _useful(asked: Asked, name: Site) -> Table:
    """The few pages that stand for most of a site."""
    table = Table(
        name="useful",
        title="Useful links",
        columns=(Column("title", "title"), Column("url", "URL", "url"), Column("share", "stands for", "share")),
        rows=[],
        says="The few pages that stand for most of the site, chosen by the structure of its URLs.",
        command=f"periplus ulinks {asked.folder} --site {shlex.quote(str(name))}",
        empty="No page of this site was read yet.",
    )
    try:
        with asked.reader.views() as views:
            found = entitled(chosen_ulinks(Sample(pages_of(views, [str(name)])), _USEFUL, _USEFUL), views)
    except TableProblem as problem:
        return replace(table, problem=f"{problem} {problem.hint}")
    table.rows.extend({"title": each.title or each.url, "url": each.url, "share": each.share} for each in found)
    return table


def _of_state(facts: SiteFacts, folder: str) -> tuple[Table, ...]:
    command = f"periplus info {folder} {shlex.quote(str(facts.site))} --all"
    sheets = [signal_table(facts.freshness.signals if facts.freshness is not None else ())]
    if facts.balance is not None and facts.balance.history:
        sheets.append(balance_table(facts.balance))
    return tuple(_shown(sheet, command) for sheet in sheets)


def _shown(sheet: Sheet, command: str) -> Table:
    return Table(**asdict(sheet) | {"command": command}, empty=_EMPTY.get(sheet.name, "Nothing."))
