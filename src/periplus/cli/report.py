"""`periplus report`: writes a collection's report (`insight.report`) as one HTML file.

The tables hold what happened. How a site's budget is divided, how reliable its signals are, how fresh its copies are
and its robots.txt come from the committed state of the shards, read as `periplus info` reads it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.text import Text

from periplus.assembly.collection import Collection, existing, states
from periplus.assembly.facts import freshness
from periplus.assembly.facts.sources import balance_of
from periplus.insight.reasons import explained
from periplus.model import Lane, RobotsFile, UsageError
from periplus.store import DiskState, SiteState

from . import options
from .cluster_option import Cluster, executor_at
from .consoles import stderr_console, stdout_console
from .info.freshness import TELLERS, trust

if TYPE_CHECKING:
    from periplus.insight.report import CrawlState, Report

NAME = "report.html"
"""The default file, in the folder of the collection."""
_STEP = "report: "
"""How the progress lines of single questions begin: they are shown on a terminal only."""
_SITES = 50
"""Sites whose state is shown, those with the most pages: as many rows as a table of the report has."""

_LINK_LANES = (Lane.DISCOVERY, Lane.SITEMAPS)
"""Queues of URLs that were never fetched."""

Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help=f"The file to write; by default {NAME} in the collection."),
]


def report(collection: options.Collected, out: Out = None, json: options.Json = False, cluster: Cluster = None) -> None:
    """Write a report of a collection as one HTML file: problems, figures, tables, and what to do about them.

    Example: periplus report docs
    """
    found = existing(collection)
    if json and out is None:
        made, file = reported(found, cluster), None
    else:
        made, file = written_report(found, out, cluster)
    if json:
        typer.echo(msgspec.json.encode(made))
        return
    stdout_console().print(Text(f"{file}"), soft_wrap=True)


def written_report(collection: Collection, out: Path | None = None, cluster: str | None = None) -> tuple[Report, Path]:
    """The report of a collection, and the file that it was written to."""
    from periplus.insight.report import page

    file = out or collection.folder / NAME
    made = reported(collection, cluster)
    draft = file.with_name(file.name + ".part")
    try:
        draft.write_text(page(made), encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}", hint="name a file that can be written: -o FILE") from error
    return made, file


def reported(collection: Collection, cluster: str | None = None) -> Report:
    """The report of a collection as data."""
    from periplus.insight.report import gather_report  # imports DuckDB: only where it is used
    from periplus.insight.views import Views

    name = collection.folder.resolve().name
    folder, spooled = collection.folder, collection.layout.spooled
    with (
        executor_at(cluster) as executor,
        _progress() as say,
        Views(folder, spooled=spooled, say=say, executor=executor) as views,
    ):
        return gather_report(
            views, name, time.time(), crawl_state_of(collection), say=lambda what: say(f"{_STEP}{what}")
        )


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Progress on stderr: one changing line on a terminal, the main steps elsewhere."""
    console = stderr_console()
    if not console.is_terminal:
        yield lambda what: None if what.startswith(_STEP) else console.print(Text(what), soft_wrap=True)
        return
    with console.status("writing the report") as status:
        yield lambda what: status.update(Text(what, style="dim"))


# from the state of the shards


def crawl_state_of(collection: Collection) -> CrawlState:
    """Freshness of all copies; budgets, signals, robots.txt and queued URLs of the largest sites."""
    from periplus.insight.report import Budget, CrawlState, KnownFreshness, Trust

    budgets: list[Budget] = []
    trusts: list[Trust] = []
    robots: dict[str, RobotsFile] = {}
    waiting: dict[str, int] = {}
    with states(collection.layout) as opened:
        fresh = freshness.of_collection(opened.values(), time.time())
        for state, kept in _largest(opened.values()):
            balance = balance_of(kept, collection.config.balance)
            if balance is not None:
                budgets.append(Budget(str(kept.site), balance.sitemaps, balance.links, balance.epochs))
            known = freshness.of_site(kept, state, collection.config.churn)
            file = state.robots.get(kept.site)
            if file is not None:
                robots[str(kept.site)] = file
            waiting[str(kept.site)] = sum(state.queues.length(kept.site, lane) for lane in _LINK_LANES)
            signals = () if known is None else known.signals
            trusts += [Trust(str(kept.site), TELLERS[each.kind], each.verdict, trust(each)) for each in signals]
    known_fresh = None
    if fresh is not None:
        low, high = max(fresh.fresh - fresh.half, 0.0), min(fresh.fresh + fresh.half, 1.0)
        known_fresh = KnownFreshness(fresh.pages, fresh.fresh, low, high, fresh.age)
    return CrawlState(known_fresh, tuple(budgets), tuple(trusts), explained, robots, waiting)


def _largest(opened: Iterable[DiskState]) -> list[tuple[DiskState, SiteState]]:
    """The sites with the most pages, each with the state of its shard."""
    sites = ((state, kept) for state in opened for kept in state.sites)
    return nlargest(_SITES, sites, key=lambda each: (each[1].pages, each[1].site))
