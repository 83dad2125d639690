"""Collects the numbers of a report: runs every question on a collection, audits its sites and chooses useful links.

Two questions depend on the collection: new URLs and requests over time have steps long enough that there are at most
sixty.
"""

# ruff: noqa: S608 - SQL is put together from our own words here

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from periplus.apps.ulinks import Sample, chosen_ulinks
from periplus.apps.ulinks.titles import entitled_sites, grouped, pages_of, sites_of
from periplus.insight.views import Views
from periplus.view.charts import STEPS
from periplus.view.values import Column, counts

from .questions import WAITS, questions_for
from .summary import audit_parts, audits_of
from .values import FEW_SITES, AnsweredQuestion, CrawlState, Question, Report, UsefulLinks

_MOST_STEPS: Final = 60
"""Steps of a plot over time at most: as many as can be distinguished on a phone."""
_SITES: Final = "select site, count(*) as urls from crawled group by site order by urls desc, site"


class ReportSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How much of a collection is shown."""

    sites: int = 12
    """Sites whose useful links are shown: those with the most pages."""
    links: int = 6
    """Useful links of each."""


def gather_report(
    views: Views,
    name: str,
    made_at: float,
    state: CrawlState | None = None,
    settings: ReportSettings | None = None,
    say: Callable[[str], None] | None = None,
) -> Report:
    """All numbers of the report. `say` is called with the title of each step."""
    state, settings = state or CrawlState(), settings or ReportSettings()
    report_step = say or (lambda _: None)
    folder = shlex.quote(str(views.folder))
    sites = [(str(row["site"]), int(row["urls"])) for row in views.rows(_SITES)]
    groups = list(grouped(sites).values())
    parts: dict[str, AnsweredQuestion] = {}
    for question in questions_for(len(groups)):
        report_step(question.title.lower())
        parts[question.name] = _answered(views, question, state)
    if 0 < len(groups) < FEW_SITES:
        report_step("problems")
        parts |= {part.name: part for part in audit_parts(audits_of(views, groups, state), folder)}
    parts |= {part.name: part for part in _parts_of_state(state, folder)}
    report_step("useful links")
    useful = _useful(views, settings, folder)
    return Report(name, folder, made_at, parts, useful, state.freshness)


def _answered(views: Views, question: Question, state: CrawlState) -> AnsweredQuestion:
    sql = question.sql
    if question.name in _OVER_TIME:
        sql = sql.format(step=_step(views, *_OVER_TIME[question.name]), where="")
    rows = [{key: _plain(value) for key, value in row.items()} for row in views.rows(sql)]
    if any(column.name == "meaning" for column in question.columns):
        rows = [row | {"meaning": _meaning(str(row["reason"]), state)} for row in rows]
    if question.name == "outages":
        rows = [row | (state.tries.get(str(row["site"]), {}) if row["until"] is None else {}) for row in rows]
    kept = rows[: question.most]
    is_cut = len(rows) > question.most or sql.endswith(f"limit {len(rows)}")
    return AnsweredQuestion(
        name=question.name,
        chapter=question.chapter,
        title=question.title,
        says=question.says,
        advice=question.advice,
        sql=sql,
        columns=question.columns,
        figure=question.figure,
        rows=kept,
        is_cut=is_cut,
    )


def _meaning(reason: str, state: CrawlState) -> str:
    return "queued, not fetched yet" if reason == WAITS else state.explain(reason)


def _plain(value: Any) -> Any:
    """A value as JSON can hold it; `None` for a float that is not finite (0 divided by 0)."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _step(views: Views, column: str, table: str) -> int:
    """The shortest step in seconds that divides the time of the crawl into at most `_MOST_STEPS`."""
    span = views.rows(f"select epoch(min({column})) as began, epoch(max({column})) as ended from {table}")[0]
    seconds = (span["ended"] or 0.0) - (span["began"] or 0.0)
    return next((each for each in STEPS if seconds / each < _MOST_STEPS), STEPS[-1])


_OVER_TIME: Final = {"new_urls": ("first_seen_at", "urls"), "request_rate": ("started_at", "fetches")}
"""Questions whose SQL has steps that fit the collection: the column and the table of the times."""


def _parts_of_state(state: CrawlState, folder: str) -> list[AnsweredQuestion]:
    """The budgets and the reliability of signals, which only the crawl's state has."""
    site, command = Column("site", "site"), f"periplus info {folder} SITE"
    return [
        AnsweredQuestion(
            name="budgets",
            chapter="budget",
            title="How the next fetches are divided",
            says="How many of the next pages of a site come from each source, and how often this was evaluated.",
            advice="The crawl adjusts this itself; set `[balance]` in `periplus.toml` to fix it.",
            columns=(
                site,
                counts("sitemaps", "from sitemaps"),
                counts("links", "from links"),
                counts("epochs", "evaluations"),
            ),
            rows=[asdict(each) for each in state.budgets],
            command=command,
            figure="budgets",
        ),
        AnsweredQuestion(
            name="trusts",
            chapter="freshness",
            title="Which signals are reliable",
            says="Whether what a site reports about its changes (lastmod, feeds, headers) proved true.",
            advice="Unreliable signals are ignored; `periplus audit` shows the owner of the site what to fix.",
            columns=(
                site,
                Column("signal", "signal"),
                Column("verdict", "verdict"),
                Column("says", "why"),
            ),
            rows=[asdict(each) for each in state.trusts],
            command=command,
        ),
    ]


def _useful(views: Views, settings: ReportSettings, folder: str) -> list[UsefulLinks]:
    """The useful links of the largest sites."""
    groups = list(grouped(sites_of(views)).values())[: settings.sites]
    samples = [Sample(pages_of(views, names)) for names in groups]
    chosen = [chosen_ulinks(sample, settings.links, settings.links) for sample in samples]
    command = f"periplus ulinks {folder} -k {settings.links} --site"
    return [
        UsefulLinks(names[0], sample.total, links, f"{command} {shlex.quote(names[0])}")
        for names, sample, links in zip(groups, samples, entitled_sites(chosen, views), strict=True)
    ]
