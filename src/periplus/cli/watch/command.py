"""`periplus watch`: keeps a collection fresh within a budget of visits, until it is stopped.

This file turns options into settings and runs the crawl; `output` prints the progress. The budgets and the objective
are saved with the collection's settings, so that the same command without options continues; `--for` holds for this
run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from msgspec.structs import replace
from rich.text import Text

from periplus.assembly import budget as budget_of
from periplus.assembly.collection import Collection, existing, held, planned, tally_of
from periplus.assembly.options import duration
from periplus.assembly.progress import Progress
from periplus.crawl.sharding import Gather
from periplus.crawl.stats import CrawlStats
from periplus.model import UsageError
from periplus.policy.refresh import DAY
from periplus.policy.refresh import objective as check_objective

from .. import options
from ..app import INTERRUPTED
from ..consoles import stderr_console, stdout_console
from ..crawl.command import run
from ..crawl.live import PLAIN_EVERY
from ..crawl.on_cluster import gathering
from .output import line_of, plain_line, since, view_of

_BUDGET = re.compile(r"(\d{1,12})(?:/(?:d|day))?", re.ASCII)


def watch(
    collection: options.Collected,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="VISITS", help="Requests a day over all sites: 10000, 10000/day."),
    ] = None,
    per_site: Annotated[
        int | None,
        typer.Option("--per-site", metavar="VISITS", min=0, help="Maximum requests a day to one site; 0: no limit."),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            "--objective",
            metavar="NAME",
            help="What to optimise: mixed (the default), binary, harmonic, longevity, age, capture.",
        ),
    ] = None,
    for_: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="How long to watch; by default until Ctrl-C.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", metavar="N", min=1, max=256, help="Number of processes: that of the shards of the collection."
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ADDRESS", help="Run the shards on Ray: auto, local, or an address."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="For programs: a JSON line every 10 s on stdout.")] = False,
) -> None:
    """Keep a collection fresh: visit pages again when it is worth it, within a budget. Ctrl-C keeps everything.

    Example: periplus watch docs --budget 10000
    """
    asked: dict[str, object] = {
        "watch.visits_a_day": None if budget is None else visits_a_day(budget),
        "watch.per_site": per_site,
        "refresh.objective": None if objective is None else check_objective(objective).name,
        "crawl.workers": workers,
    }
    watched = _watched(collection, asked)
    seconds = duration("--for", for_)
    if seconds is not None and not seconds:
        raise UsageError(
            "--for must be more than 0, got 0", hint="write --for 12h, or leave --for out to watch until Ctrl-C"
        )
    now = for_this_run(watched, seconds)
    with held(collection), gathering(cluster, now) as (now, gather, most):
        watched.save()
        ended = _run(now, gather, most, is_json=json)
    if ended == "interrupted":
        raise typer.Exit(INTERRUPTED)


def visits_a_day(text: str) -> int:
    """What was typed after `--budget`."""
    found = _BUDGET.fullmatch(text.strip().replace(",", "").replace("_", ""))
    if found is None or not int(found[1]):
        raise UsageError(
            f"--budget must be a number of visits a day, got {text}", hint="write --budget 10000 or 10000/day"
        )
    return int(found[1])


def _watched(folder: Path, asked: dict[str, object]) -> Collection:
    """The collection, with what was asked of it. There must be something to come back to."""
    if not tally_of(existing(folder).layout).pages:
        raise UsageError(
            f"{folder} has no page yet, so that there is nothing to come back to",
            hint=f"periplus crawl -o {shlex.quote(str(folder))} fetches them; then watch",
        )
    return planned(folder, seeds=[], options=asked)


def for_this_run(collection: Collection, seconds: float | None) -> Collection:
    """What is not written down: a watch has no limit of pages, and no end but the one that is asked for now.

    How often a site may be asked becomes what it is left alone for; its neighbours at the same address are not slowed
    down by that.
    """
    settings: dict[str, object] = {"crawl.limit": 0, "crawl.for": seconds or 0.0}
    politeness, per_site = collection.config.politeness, collection.config.watch.per_site
    if per_site:
        settings["politeness.delay"] = max(politeness.delay, DAY / per_site)
        settings["politeness.ip_delay"] = politeness.between_requests_to_an_address
    return replace(collection, config=collection.config.with_options(settings))


def _run(collection: Collection, gather: Gather | None, most: int, *, is_json: bool) -> str:
    """Watch, and say how it goes and how it ended: `time` or `interrupted`."""
    before, budget = tally_of(collection.layout), budget_of(collection.config, collection.layout)
    name = str(collection.folder)
    teller = Teller(lambda progress: _print(line_of(name, progress, before, budget)) if is_json else None)
    title = f"periplus watch {shlex.quote(name)}"
    summary = run(
        collection,
        stderr_console(),
        title=title,
        view=view_of(before, budget),
        watches=True,
        gather=gather,
        most=most,
        tell=teller.hear,
    )
    ended = "interrupted" if summary.ended == "interrupted" else "time"
    if teller.last is not None:
        if is_json:
            _print(line_of(name, teller.last, before, budget, ended))
        else:
            _say_end(name, teller.last, before, ended)
    return ended


class Teller:
    """Reports progress as soon as freshness is known, and then every `PLAIN_EVERY` seconds."""

    def __init__(self, tell: Callable[[Progress], None]) -> None:
        self.last: Progress | None = None
        self._tell = tell
        self._next = 0.0

    def hear(self, progress: Progress) -> None:
        """Take the next progress."""
        self.last = progress
        is_known = progress.freshness is not None and progress.freshness.pages > 0
        if is_known and progress.elapsed >= self._next:
            self._next = progress.elapsed + PLAIN_EVERY
            self._tell(progress)


def _print(line: msgspec.Struct) -> None:
    typer.echo(msgspec.json.encode(line))


_ENDS = {"time": "done: the time is over", "interrupted": "stopped: everything is kept"}


def _say_end(name: str, progress: Progress, before: CrawlStats, ended: str) -> None:
    folder = shlex.quote(name)
    lines = [
        (_ENDS[ended], "bold"),
        (f"  {plain_line(progress, since(before, progress.tally))}", ""),
        ("next:", "bold"),
        (f"  periplus watch {folder}", ""),
        (f"  periplus changes {folder}", ""),
        (f"  periplus info {folder} SITE   (how far what it says of changes can be trusted)", ""),
    ]
    console = stdout_console()
    for line, style in lines:
        console.print(Text(line, style=style), soft_wrap=True)
