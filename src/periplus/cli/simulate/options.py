"""The options of `periplus simulate`, each with the line that `--help` shows, and the settings that they stand for.

A setting in a file has the same meaning as its option; the option wins. Nothing of the simulator is imported before an
experiment is run.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from periplus.model import UsageError

if TYPE_CHECKING:
    from periplus.apps.simulate.scenario import Scenario


class Paper(StrEnum):
    """Papers whose experiments can be reproduced."""

    CASTILLO = "castillo"
    BRANDMAN = "brandman"
    SITEMAPS = "sitemaps"


_WEB = "The web"
_NETWORK = "The network"
_RUN = "How it is done"
_OUT = "What is written"

Policy = Annotated[
    str | None,
    typer.Option(
        "--policy", metavar="A,B,...", help="Policies to compare; settings after a colon: batch:every=5000. Or: all."
    ),
]
OnePolicy = Annotated[
    str | None, typer.Option("--policy", metavar="NAME", help="The ordering; by default largest_site.")
]
Budget = Annotated[
    str | None, typer.Option("--budget", metavar="X,Y,...", help="Shares of the pages at which to compare: 0.01,0.05.")
]
DailyBudget = Annotated[
    str | None, typer.Option("--budget", metavar="X,Y,...", help="Shares of the pages to fetch a day: 0.05,0.2.")
]
Graph = Annotated[
    Path | None,
    typer.Option("--graph", metavar="FILE", rich_help_panel=_WEB, help="Read the web from a link file."),
]
Hosts = Annotated[
    Path | None,
    typer.Option(
        "--hosts", metavar="FILE", rich_help_panel=_WEB, help="A file with the host of each page of the graph."
    ),
]
PagesPerSite = Annotated[
    int | None,
    typer.Option(
        "--pages-per-site",
        metavar="N",
        min=1,
        rich_help_panel=_WEB,
        help="Group neighbours of a graph without names into sites of N pages.",
    ),
]
Collection = Annotated[
    Path | None,
    typer.Option("--collection", metavar="DIR", rich_help_panel=_WEB, help="Replay a finished crawl."),
]
Pages = Annotated[
    int | None, typer.Option("--pages", metavar="N", min=1, rich_help_panel=_WEB, help="Pages of a generated web.")
]
Sites = Annotated[
    int | None, typer.Option("--sites", metavar="N", min=1, rich_help_panel=_WEB, help="Its sites; by default N/50.")
]
History = Annotated[
    Path | None,
    typer.Option(
        "--history",
        metavar="PATH",
        rich_help_panel=_WEB,
        help="Read when pages changed: a file, or a folder of Microsoft's crawl set.",
    ),
]
Signals = Annotated[
    str | None,
    typer.Option(
        "--signals",
        metavar="QUALITY",
        rich_help_panel=_WEB,
        help="Add change signals: good, mixed, late, poor or useless.",
    ),
]
Qualities = Annotated[
    str | None,
    typer.Option(
        "--quality", metavar="A,B,...", help="Qualities of signals: good, mixed, late, poor, useless. By default all."
    ),
]
Vary = Annotated[
    str | None,
    typer.Option("--vary", metavar="WHAT", help="Vary precision, recall or delay; all else is good."),
]
Against = Annotated[
    str | None,
    typer.Option("--against", metavar="POLICY", help="Show the gain in freshness over this policy: uniform."),
]
SignalPages = Annotated[
    int | None,
    typer.Option("--pages", metavar="N", min=1, rich_help_panel=_WEB, help="Pages of each site; by default 50."),
]
SignalSites = Annotated[
    int | None, typer.Option("--sites", metavar="N", min=1, rich_help_panel=_WEB, help="Sites; by default 20.")
]
SignalDays = Annotated[
    int | None, typer.Option("--days", metavar="N", min=1, rich_help_panel=_WEB, help="Days; by default 100.")
]
HistoryPages = Annotated[
    int | None, typer.Option("--pages", metavar="N", min=1, rich_help_panel=_WEB, help="Pages of a generated history.")
]
HistorySites = Annotated[
    int | None, typer.Option("--sites", metavar="N", min=1, rich_help_panel=_WEB, help="Sites that share them.")
]
Days = Annotated[
    int | None,
    typer.Option("--days", metavar="N", min=1, rich_help_panel=_WEB, help="The last N days; by default all (100)."),
]
Connections = Annotated[
    int | None,
    typer.Option(
        "--connections", metavar="R", min=1, rich_help_panel=_NETWORK, help="Fetches at once; at most one to a site."
    ),
]
ConnectionsList = Annotated[
    str | None,
    typer.Option("--connections", metavar="R,...", rich_help_panel=_NETWORK, help="Fetches at once: 1,64,256."),
]
Delay = Annotated[
    str | None,
    typer.Option(
        "--delay", metavar="TIME", rich_help_panel=_NETWORK, help="Seconds between two visits of a site: 15s."
    ),
]
PagesPerVisit = Annotated[
    int | None,
    typer.Option("--pages-per-visit", metavar="K", min=1, rich_help_panel=_NETWORK, help="Pages on one connection."),
]
PagesPerVisitList = Annotated[
    str | None,
    typer.Option(
        "--pages-per-visit", metavar="K,...", rich_help_panel=_NETWORK, help="Pages on one connection: 1,100."
    ),
]
Bandwidth = Annotated[
    str | None,
    typer.Option(
        "--bandwidth", metavar="BYTES", rich_help_panel=_NETWORK, help="Bytes a second of the crawler's line: 2M."
    ),
]
BandwidthList = Annotated[
    str | None,
    typer.Option("--bandwidth", metavar="BYTES,...", rich_help_panel=_NETWORK, help="Bytes a second: 20M,2M,200k."),
]
BatchSize = Annotated[
    int | None,
    typer.Option("--size", metavar="PAGES", min=1, help="Pages of the batch; by default a tenth of the web."),
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", metavar="PAGES", min=1, rich_help_panel=_RUN, help="Maximum number of pages of a run."),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", min=0, rich_help_panel=_RUN, help="The same seed, the same results."),
]
Repetitions = Annotated[
    int | None,
    typer.Option(
        "--repetitions", metavar="N", min=1, rich_help_panel=_RUN, help="Repeat with other seeds, for intervals (95 %)."
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", metavar="N", min=1, max=256, rich_help_panel=_RUN, help="Processes; by default one for each core."
    ),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", rich_help_panel=_RUN, help="Settings in TOML; options override them."),
]
Json = Annotated[bool, typer.Option("--json", rich_help_panel=_OUT, help="Print a JSON line for each result.")]
PlotFile = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE.svg",
        rich_help_panel=_OUT,
        help="Draw the curves as SVG.",
    ),
]
CsvFile = Annotated[
    Path | None, typer.Option("--csv", metavar="FILE", rich_help_panel=_OUT, help="Write the results as a table.")
]
TablesFolder = Annotated[
    Path | None,
    typer.Option(
        "--tables", metavar="DIR", rich_help_panel=_OUT, help="The tables of each policy's first run, as Parquet."
    ),
]
Reproduce = Annotated[
    Paper | None, typer.Option("--reproduce", help="Reproduce the experiments of a paper and compare the numbers.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="DIR", help="The folder for the results of --reproduce; by default PAPER-results."
    ),
]
Scale = Annotated[
    int | None,
    typer.Option("--scale", metavar="PAGES", min=1, help="Pages of the web: castillo (100,000) or sitemaps (1,000)."),
]


def web_options(
    graph: Path | None,
    hosts: Path | None,
    pages_per_site: int | None,
    collection: Path | None,
    pages: int | None,
    sites: int | None,
) -> dict[str, object]:
    """What the options of a web stand for."""
    return {
        "input.graph": str(graph) if graph else None,
        "input.hosts": str(hosts) if hosts else None,
        "input.pages_per_site": pages_per_site,
        "input.collection": str(collection) if collection else None,
        "web.pages": pages,
        "web.sites": sites,
    }


def scenario_of(
    config: Path | None, options: dict[str, object], first_web: dict[str, object] | None = None
) -> Scenario:
    """The settings of a file, overridden by options. `first_web` is generated where neither names a web."""
    from periplus.apps.simulate.scenario import PAGES_A_SITE, Scenario

    names = ("input.graph", "input.collection", "web.pages", "web.sites")
    if first_web and config is None and not any(options.get(name) for name in names):
        options = {**options, **first_web}
    pages = options.get("web.pages")
    if isinstance(pages, int) and options.get("web.sites") is None:
        options = {**options, "web.sites": max(1, pages // PAGES_A_SITE)}
    return (Scenario.load(config) if config else Scenario()).with_options(options)


def policies(text: str | None) -> list[str] | None:
    """The names of `--policy`."""
    from periplus.apps.simulate.scenario import split_policies

    if text is None:
        return None
    names = split_policies(text)
    if not names:
        raise UsageError("--policy: no name", hint="write --policy breadth_first,opic, or --policy all")
    return list(names)


def shares(text: str | None) -> list[float] | None:
    """The shares of `--budget`."""
    if text is None:
        return None
    found = [_share(part.strip()) for part in text.split(",") if part.strip()]
    if not found:
        raise UsageError("--budget: no share", hint="write --budget 0.01,0.05")
    return sorted(set(found))


def _share(text: str) -> float:
    hint = "write shares above 0, up to 1, such as --budget 0.01,0.05 or 5%"
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError as error:
        raise UsageError(f"--budget {text[:40]}: no number", hint=hint) from error
    if not 0 < share <= 1:
        raise UsageError(f"--budget {text[:40]}: no share of the pages", hint=hint)
    return share


def counts(option: str, text: str | None) -> list[int] | None:
    """The numbers of an option that takes several, with a prefix or without: `1,64` or `2M,200k`."""
    from periplus.collection.config.fields import parse_size
    from periplus.model import ConfigError

    if text is None:
        return None
    try:
        found = [parse_size(part) for part in text.split(",") if part.strip()]
    except ConfigError as error:
        raise UsageError(f"{option}: {error}", hint=f"write {option} 1,64 or {option} 2M,200k") from error
    if not found or min(found) < 1:
        raise UsageError(f"{option} {text[:40]}: above 0", hint=f"write {option} 1,64")
    return found


def duration(option: str, text: str | None) -> float | None:
    """The seconds of an option that takes a length of time."""
    from periplus.collection.config.fields import parse_duration
    from periplus.model import ConfigError

    try:
        return None if text is None else parse_duration(text)
    except ConfigError as error:
        raise UsageError(f"{option}: {error}", hint=error.hint) from error


def bandwidth(text: str | None) -> float | None:
    """The bytes a second of `--bandwidth`."""
    found = counts("--bandwidth", text)
    if found and len(found) > 1:
        raise UsageError("--bandwidth: one here", hint="periplus simulate speedup compares several")
    return float(found[0]) if found else None
