"""Every question of the report, asked of a collection; and its useful links.

The only question that depends on the collection is that of new URLs over time: its steps are as long as makes at most
sixty of them.
"""

# ruff: noqa: S608 - SQL is put together from our own words here

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from periplus.insight.ulinks import Sample, chosen_ulinks
from periplus.insight.ulinks.crawled import grouped, pages_of, sites_of
from periplus.insight.ulinks.titles import entitled_sites
from periplus.insight.views import Views

from .asked import ASKED, GLANCE, WAITS
from .figures.scales import STEPS
from .values import Asked, Beside, Column, Part, Report, Row, SiteUseful

_MOST_STEPS: Final = 60


class ReportSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How much of a collection is shown."""

    sites: int = 12
    """Sites whose useful links are shown: those with the most pages."""
    links: int = 6
    """Useful links of each."""


def gathered(
    views: Views,
    name: str,
    made_at: float,
    beside: Beside | None = None,
    settings: ReportSettings | None = None,
    say: Callable[[str], None] | None = None,
) -> Report:
    """All numbers of the report. `say` hears what is being asked."""
    beside, settings = beside or Beside(), settings or ReportSettings()
    tell = say or (lambda _: None)
    folder = shlex.quote(str(views.folder))
    parts: dict[str, Part] = {}
    for asked in (*GLANCE, *ASKED):
        tell(asked.title.lower())
        parts[asked.name] = _answered(views, asked, beside)
    parts |= {part.name: part for part in _known_beside(beside, folder)}
    tell("useful links")
    useful = _useful(views, settings, folder)
    return Report(name, folder, made_at, parts, useful, beside.freshness)


def _answered(views: Views, asked: Asked, beside: Beside) -> Part:
    sql = asked.sql or _over_time(views)
    rows = [{key: _plain(value) for key, value in row.items()} for row in views.rows(sql)]
    if any(column.name == "meaning" for column in asked.columns):
        rows = [row | {"meaning": _meaning(str(row["reason"]), beside)} for row in rows]
    kept = rows[: asked.most]
    is_cut = len(rows) > asked.most or sql.endswith(f"limit {len(rows)}")
    return Part(
        name=asked.name,
        chapter=asked.chapter,
        title=asked.title,
        says=asked.says,
        advice=asked.advice,
        columns=asked.columns,
        rows=kept,
        sql=sql,
        figure=asked.figure,
        is_cut=is_cut,
    )


def _meaning(reason: str, beside: Beside) -> str:
    return "its turn has not come yet" if reason == WAITS else beside.explain(reason)


def _plain(value: Any) -> Any:
    """A value that JSON has too; what is no number, because nothing was divided by nothing, is not known."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _over_time(views: Views) -> str:
    """The question of new URLs over time, in steps that fit how long the crawl took."""
    span = views.rows("select epoch(min(first_seen_at)) as began, epoch(max(first_seen_at)) as ended from urls")[0]
    began, ended = span["began"] or 0.0, span["ended"] or 0.0
    step = next((each for each in STEPS if (ended - began) / each < _MOST_STEPS), STEPS[-1])
    return (
        f"select since, sum(sitemaps)::bigint as sitemaps, sum(discovery)::bigint as discovery from (\n"
        f"    select floor(epoch(sitemaps_at) / {step}) * {step} as since, 1 as sitemaps, 0 as discovery\n"
        f"    from urls where by_sitemaps union all\n"
        f"    select floor(epoch(discovery_at) / {step}) * {step}, 0, 1 from urls where by_discovery)\n"
        f"group by since order by since\nlimit 200"
    )


def _known_beside(beside: Beside, folder: str) -> list[Part]:
    """What the crawl's state knows, as parts; what it does not know is left out."""
    budgets: list[Row] = [
        {"site": each.site, "sitemaps": each.sitemaps, "links": each.links, "epochs": each.epochs}
        for each in beside.budgets
    ]
    trusts: list[Row] = [
        {"site": each.site, "signal": each.signal, "verdict": each.verdict, "says": each.says} for each in beside.trusts
    ]
    site, command = Column("site", "site", "text"), f"periplus info {folder} SITE"
    return [
        Part(
            name="budgets",
            chapter="budget",
            title="How the next visits are shared",
            says="How many of the next pages of a site each source gets, after its pages were judged so many times.",
            advice="The crawl moves the budget itself; fix it with `[balance]` in `periplus.toml` if you know better.",
            columns=(site, Column("sitemaps", "to sitemaps"), Column("links", "to links"), Column("epochs", "judged")),
            rows=budgets,
            command=command,
            figure="budgets",
        ),
        Part(
            name="trusts",
            chapter="freshness",
            title="Whom to believe",
            says="Whether what a site says of its changes (dates in sitemaps, feeds, headers) has proved true.",
            advice="Signals that lie are not listened to; tell the owner of the site with `periplus audit`.",
            columns=(
                site,
                Column("signal", "signal", "text"),
                Column("verdict", "verdict", "text"),
                Column("says", "why", "text"),
            ),
            rows=trusts,
            command=command,
        ),
    ]


def _useful(views: Views, settings: ReportSettings, folder: str) -> list[SiteUseful]:
    """The useful links of the largest sites."""
    groups = list(grouped(sites_of(views)).values())[: settings.sites]
    samples = [Sample(pages_of(views, names)) for names in groups]
    chosen = [chosen_ulinks(sample, settings.links, settings.links) for sample in samples]
    command = f"periplus ulinks {folder} -k {settings.links} --site"
    return [
        SiteUseful(names[0], sample.total, links, f"{command} {shlex.quote(names[0])}")
        for names, sample, links in zip(groups, samples, entitled_sites(chosen, views), strict=True)
    ]
