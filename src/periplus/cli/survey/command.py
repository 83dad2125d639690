"""`periplus survey`: the Berkeley study of web site metadata for the user's own list of domains.

A survey is a crawl that fetches no pages (`sitemaps.only`): robots.txt files, with the look under `www.`, and the
sitemaps that they name. It is as polite as any crawl, and goes on where it stopped. When it has come to its end, and at
any time with `--tables-only`, what was found is counted (`insight.survey`) and written to `DIR/survey`.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace
from rich.console import Console

from periplus.assembly import Layout
from periplus.assembly.collection import Collection, existing, held, planned
from periplus.assembly.options import duration, wire_settings
from periplus.config import Config
from periplus.insight.survey import Survey, facts_of_collection, summary_of, write_survey
from periplus.model import UsageError
from periplus.urls import site_of

from .. import NOTHING_FETCHED, options
from ..app import INTERRUPTED
from ..consoles import can_draw, say_left_out, stderr_console
from ..crawl.running import run, title_of
from .domains import DomainList, read_domains
from .output import FILES, FOLDER, counts_of, drawn, say_bad_lines, say_survey, summary_of_survey

_FAR = "How far"
_GENTLE = "How gently"
_NEVER_AGAIN = 10 * 365 * 86_400.0
"""Seconds between two readings of a file: a survey reads each once, however long it takes."""

Domains = Annotated[
    str | None,
    typer.Argument(
        metavar="DOMAINS.txt", show_default=False, help="A file of domains or URLs, one a line; - is standard input."
    ),
]
WellKnown = Annotated[
    bool,
    typer.Option(
        "--well-known",
        rich_help_panel=_FAR,
        help="Also look for sitemaps in the usual places if robots.txt names none.",
    ),
]
SampleLeast = Annotated[
    int | None,
    typer.Option(
        "--sample-least",
        metavar="N",
        min=0,
        rich_help_panel=_FAR,
        help="Minimum number of files read of a sitemap index...",
    ),
]
SampleShare = Annotated[
    float | None,
    typer.Option(
        "--sample-share",
        metavar="SHARE",
        min=0,
        max=1,
        rich_help_panel=_FAR,
        help="...and this share of them. By default all are read.",
    ),
]
Rate = Annotated[
    float | None,
    typer.Option(
        "--rate", metavar="N", min=0, rich_help_panel=_GENTLE, help="Maximum requests a second over all sites."
    ),
]
TablesOnly = Annotated[
    bool, typer.Option("--tables-only", help="Fetch nothing: count what was fetched, also while a survey runs.")
]


def survey(
    out: options.Out,
    domains: Domains = None,
    well_known: WellKnown = False,
    sample_least: SampleLeast = None,
    sample_share: SampleShare = None,
    for_: options.For = None,
    delay: options.Delay = None,
    rate: Rate = None,
    contact: options.Contact = None,
    workers: options.Workers = None,
    config: options.SettingsFile = None,
    resolve: options.Resolve = None,
    allow_private: options.AllowPrivate = None,
    proxy: options.Proxy = None,
    ca_file: options.CaFile = None,
    tables_only: TablesOnly = False,
    json: options.Json = False,
) -> None:
    """Fetch robots.txt and sitemaps of many domains, with statistics. The same command continues a survey.

    Example: periplus survey domains.txt -o my-survey
    """
    console = stderr_console()
    if tables_only:
        _say_counted(existing(out), console, is_json=json)
        return
    found = read_domains(domains) if domains is not None else DomainList()
    say_bad_lines(found, console)
    asked: dict[str, object] = {
        **_survey_settings(out, well_known),
        "crawl.for": duration("--for", for_),
        "crawl.rate": rate,
        "crawl.workers": workers,
        "forest.sample_least": sample_least,
        "forest.sample_share": 0.0 if sample_share is None and sample_least is not None else sample_share,
        **wire_settings(contact, delay, resolve, allow_private, proxy, ca_file),
    }
    if not found.urls and not Layout(out).settings.is_file():
        raise UsageError("no domains to survey", hint=f"give a list: periplus survey domains.txt -o {out}")
    collection = planned(out, seeds=found.urls, settings=config, options=asked)
    with held(out):
        collection.save()
        crawled = run(collection, console, title=title_of("survey", collection), view=FILES)
    summary = summary_of_survey(collection, crawled, bad_lines=found.bad_lines)
    if summary.ended == "interrupted":
        say_survey(summary, is_json=json)
        raise typer.Exit(INTERRUPTED)
    surveyed = counted(collection, console)
    say_survey(replace(summary, survey=summary_of(surveyed)), surveyed, is_json=json)
    raise typer.Exit(0 if has_answers(surveyed) else NOTHING_FETCHED)


def _survey_settings(out: Path, well_known: bool) -> dict[str, object]:
    """What makes a crawl a survey. What was asked at its beginning holds when it goes on."""
    path = Layout(out).settings
    is_begun = path.is_file()
    if is_begun and not Config.load(path).sitemaps.only:
        raise UsageError(
            f"{out} is a crawl of pages, not a survey",
            hint=f"name another folder, or count what was fetched: periplus survey -o {out} --tables-only",
        )
    return {
        "sitemaps.only": True,
        "sitemaps.follow": True,
        "sitemaps.well_known": None if is_begun and not well_known else well_known,
        "forest.follows_foreign": True,
        "scope.kind": "any",
        "revisit.shortest": _NEVER_AGAIN,
        "revisit.longest": _NEVER_AGAIN,
    }


def counted(collection: Collection, console: Console) -> Survey:
    """Count what was found, and write it down."""
    with console.status("counting what was found") if console.is_terminal else nullcontext():
        domains = map(site_of, collection.seeds)
        spooled = collection.layout.spooled
        surveyed = Survey().extend(facts_of_collection(collection.folder, domains, spooled=spooled))
        write_survey(surveyed, collection.folder / FOLDER, draw=drawn if can_draw() else None)
    if not can_draw():
        say_left_out()
    return surveyed


def _say_counted(collection: Collection, console: Console, *, is_json: bool) -> None:
    surveyed = counted(collection, console)
    say_survey(replace(counts_of(collection), survey=summary_of(surveyed)), surveyed, is_json=is_json)
    raise typer.Exit(0 if has_answers(surveyed) else NOTHING_FETCHED)


def has_answers(surveyed: Survey) -> bool:
    """Whether any domain answered."""
    return any(row.status is not None for row in surveyed.domains.values())
