"""Pages about sitemaps, freshness, forms, what was excluded and why, and the runs of a collection."""

from __future__ import annotations

from typing import Final

from msgspec.structs import asdict

from periplus.apps.changes import run_beginnings
from periplus.apps.report.making import crawl_state_of
from periplus.collection.collection import CollectionSetup, states
from periplus.collection.facts.freshness_words import TELLERS, fresh_words, trust
from periplus.engine.revisit.show import budget_of
from periplus.insight.reasons import explained
from periplus.model import RevisitBudget, SignalFacts
from periplus.view.values import Column
from periplus.view.wording import counted, lasting

from .browse_asked import Asked
from .browse_cells import BrowsePage, Table, quoted
from .browse_state import read_state, spooled_of
from .browse_tables import SQL, tables_of

_RUNS: Final = 1000
"""Runs that are listed, the latest first."""


def sitemaps(asked: Asked) -> BrowsePage:
    """Every sitemap, feed and archive, and what is known of each."""
    text = asked.parameter("q")
    where = f"where contains(url, {quoted(text)})\n" if text else ""
    return BrowsePage(
        name="sitemaps",
        title="Sitemaps and feeds",
        about="The files in which sites list their pages: how they were found, what they hold, and when they are read.",
        tables=tables_of("sitemaps", where=where),
        form="filter",
    )


# freshness


def market_of(collection: CollectionSetup, now: float) -> RevisitBudget:
    """What is known of the freshness of a collection, and what its visits cost."""
    with states(collection.layout) as opened:
        return budget_of(list(opened.values()), now, collection.config.refresh)


def _described(facts: SignalFacts) -> tuple[str, str]:
    return TELLERS[facts.kind], trust(facts)


def freshness_page(asked: Asked) -> BrowsePage:
    """How fresh the copies are, by what that is claimed, and the budget of visits."""
    market = read_state(market_of, asked.found, asked.now)
    state = read_state(_signals, asked.found)
    lines = [("fresh", fresh_words(market.freshness) or "not known yet")]
    if market.price is not None:
        lines += [
            ("budget", f"{market.visits_a_day:,.0f} visits a day"),
            ("price", f"{market.price:.4g}: what a visit must be worth to be made (objective {market.objective})"),
            ("planned", f"{counted(market.planned, 'URL')} with a time for the next visit"),
        ]
    else:
        lines.append(("budget", f"none: periplus watch {asked.folder} plans visits and keeps copies fresh"))
    return BrowsePage(
        name="freshness",
        title="Freshness",
        about="How likely copies are what pages say now, from how often pages changed and what sites report.",
        lines=lines,
        tables=(
            *tables_of("freshness"),
            Table(
                name="signals",
                title="Which signals are reliable",
                columns=(Column("site", "site", "site"), Column("signal", "signal"), Column("verdict", "verdict"),
                         Column("says", "why")),
                rows=state,
                says="Whether what the largest sites report about their changes proved true.",
                command=f"periplus info {asked.folder} SITE",
                per_page=200,
                empty="Nothing was learnt yet: signals are judged when pages are visited again.",
            ),
        ),
        facts=market,
    )  # fmt: skip


def _signals(collection: CollectionSetup) -> list[dict[str, str]]:
    found = crawl_state_of(collection, _described).trusts
    return [asdict(each) for each in found]


# forms


def forms(asked: Asked) -> BrowsePage:
    """Pages with forms."""
    del asked
    return BrowsePage(
        name="forms",
        title="Forms",
        about="Pages with forms, at their last reading. Behind a form there may be pages that no link leads to.",
        tables=tables_of("forms"),
    )


# what was excluded


def excluded(asked: Asked) -> BrowsePage:
    """What was excluded, by reason and rule, with samples."""
    reason, rule = asked.parameter("reason"), asked.parameter("rule")
    if not reason:
        return BrowsePage(
            name="excluded",
            title="Excluded and refused",
            about="URLs that scope, patterns, traps, budgets or robots.txt exclude. Choose a reason to see its URLs.",
            tables=tables_of("excluded", refused=SQL["refused"]),
        )
    more = f" and rule = {quoted(rule)}" if rule else ""
    return BrowsePage(
        name="excluded",
        title=f"Excluded: {reason}",
        about=explained(reason) or "This reason is not known.",
        tables=tables_of("reason", refused=SQL["refused"], reason=quoted(reason), rule=more),
    )


# runs


def runs(asked: Asked) -> BrowsePage:
    """The runs of this collection: when each began and ended, and what it fetched."""
    spooled = read_state(spooled_of, asked.found)
    every = run_beginnings(asked.collection.folder, spooled=spooled)
    began = every[-_RUNS:]
    starts = [
        0 if at == every[0] else round(at * 1e6) for at in began
    ]  # whole microseconds: a float of seconds is not exact
    listed = ", ".join(f"({start}, {at!r})" for start, at in zip(starts, began, strict=True)) or "(0, 0.0)"
    ago = f" The last began {lasting(asked.now - began[-1])} ago." if began else ""
    return BrowsePage(
        name="runs",
        title="Runs",
        about=f"A run ends with its command, or with a pause of ten minutes.{ago}",
        tables=tables_of("runs", listed=listed),
        facts={"began": began},
    )
