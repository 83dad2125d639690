"""`periplus report`: a collection as one HTML file. What is in it is in `insight.report`; here is what the state knows.

The tables tell what happened; how the budget of a site is shared, how far it is believed and how fresh its copies are
is in what the shards have committed, which is read as `periplus info` reads it.
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
from periplus.model import UsageError
from periplus.store import DiskState, SiteState

from . import options
from .cluster_option import Cluster, executor_at
from .consoles import stderr_console, stdout_console
from .info.freshness import TELLERS, trust

if TYPE_CHECKING:
    from periplus.insight.report import Beside, Report

NAME = "report.html"
"""The file, in the folder of the collection, if none is named."""
_SITES = 50
"""Sites whose state is shown: those with the most pages."""

Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help=f"The file to write; by default {NAME} in the collection."),
]


def report(collection: options.Collected, out: Out = None, json: options.Json = False, cluster: Cluster = None) -> None:
    """Write a report on a collection as one HTML file: figures, tables, what they show and what to do.

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
    """All numbers of the report of a collection."""
    from periplus.insight.report import gathered  # DuckDB: not before a crawl, and not for who needs none
    from periplus.insight.views import Views

    name = collection.folder.resolve().name
    folder, spooled = collection.folder, collection.layout.spooled
    with (
        executor_at(cluster) as executor,
        _telling() as say,
        Views(folder, spooled=spooled, say=say, executor=executor) as views,
    ):
        return gathered(views, name, time.time(), beside_of(collection), say=lambda what: say(f"asking: {what}"))


@contextmanager
def _telling() -> Iterator[Callable[[str], None]]:
    """What is being done, on stderr: in one line that changes on a terminal, in a few elsewhere."""
    console = stderr_console()
    if not console.is_terminal:
        yield lambda what: None if what.startswith("asking") else console.print(Text(what), soft_wrap=True)
        return
    with console.status("making the report") as status:
        yield lambda what: status.update(Text(what, style="dim"))


# what the state knows


def beside_of(collection: Collection) -> Beside:
    """How fresh all copies are; how the largest sites share their budget, and how far they are believed."""
    from periplus.insight.report import Beside, Budget, KnownFreshness, Trust

    budgets: list[Budget] = []
    trusts: list[Trust] = []
    with states(collection.layout) as opened:
        fresh = freshness.of_collection(opened.values(), time.time())
        for state, kept in _largest(opened.values()):
            balance = balance_of(kept, collection.config.balance)
            if balance is not None:
                budgets.append(Budget(str(kept.site), balance.sitemaps, balance.links, balance.epochs))
            known = freshness.of_site(kept, state, collection.config.churn)
            signals = () if known is None else known.signals
            trusts += [Trust(str(kept.site), TELLERS[each.kind], each.verdict, trust(each)) for each in signals]
    known_fresh = None
    if fresh is not None and fresh.checked:
        known_fresh = KnownFreshness(fresh.pages, fresh.fresh, fresh.low, fresh.high, fresh.age)
    return Beside(known_fresh, tuple(budgets), tuple(trusts), explained)


def _largest(opened: Iterable[DiskState]) -> list[tuple[DiskState, SiteState]]:
    """The sites with the most pages, each with the state of its shard."""
    sites = ((state, kept) for state in opened for kept in state.sites)
    return nlargest(_SITES, sites, key=lambda each: (each[1].pages, each[1].site))
