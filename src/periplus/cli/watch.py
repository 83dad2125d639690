"""`periplus watch`: keeps a collection fresh within a budget of visits, until it is stopped.

It turns options into settings, runs the crawl and prints its progress. The budgets and the objective
are saved with the collection's settings, so that the same command without options continues; `--for` holds for this
run.

All have the same numbers, from a `Progress`: freshness, visits, the price of a visit, and the next visits with the
reason of each. docs/freshness.md explains them.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from subprocess import DEVNULL, PIPE, Popen
from typing import Annotated, Any

import click
import msgspec
from click.exceptions import Exit
from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text

from periplus.apps.changes.watching import planned_watch
from periplus.apps.search.indexing import current_generation, update_index
from periplus.collection.collection import CollectionSetup, held, tally_of
from periplus.collection.facts.freshness_words import share, too_wide, when, why
from periplus.collection.opening import budget as budget_of
from periplus.collection.progress import Progress
from periplus.engine.plugins import NO_PARTS, OwnParts
from periplus.engine.sharding import Gather
from periplus.engine.stats import CrawlStats
from periplus.model import CollectionInUse, Freshness, NextVisit, Url
from periplus.view.terminal import print_line
from periplus.view.wording import count, counted, lasting, top

from . import options
from .app import INTERRUPTED
from .commands import Option
from .consoles import stderr_console, stdout_console
from .crawl.live import PLAIN_EVERY, Row, View, host_rows
from .crawl.resizing import gathering
from .crawl.running import run, signed_in
from .setting_options import takes_settings, typed_settings

_PRIORITY = 10
"""Of the process that keeps the index up to date: low."""
_WIDE = 124
"""Width in columns from which a URL and the reason of its visit share a line."""


class UpcomingVisit(Struct, frozen=True):
    """A visit to come, for programs: due in `due_in` seconds (0: now), the `reason` as a key and `why` as text."""

    url: Url
    due_in: float
    reason: str
    why: str


class WatchLine(Struct, frozen=True):
    """What `--json` prints, every few seconds and at the end.

    `at` is POSIX time by the clock of the crawl, `seconds` how long the command has run; neither jumps when the
    machine's clock is set. `fresh` is the estimated share of `pages` whose copies are what the pages say now, between
    `fresh_low` and `fresh_high` with 95 % probability; these three are null as long as `checked`, the number of pages
    that were visited more than once, is 0. `age` is the mean of the seconds since pages were last visited, `price` what
    a visit must be worth; both are null until they are known. `visits`, `changed`, `same`, `new`, `errors` and
    `fetches` are of this run, `needless` is the share of `visits` that found no change. `ended` is empty until the last
    line.
    """

    collection: str
    at: float
    seconds: float
    pages: int
    fresh: float | None
    fresh_low: float | None
    fresh_high: float | None
    age: float | None
    price: float | None
    checked: int
    budget: float
    visits: int
    changed: int
    same: int
    needless: float | None
    new: int
    errors: int
    fetches: int
    waiting: int
    next_visits: tuple[UpcomingVisit, ...]
    ended: str = ""
    minor: int = 0
    template: int = 0
    elsewhere: int = 0


class Watched(Struct, frozen=True):
    """What was done since the command began."""

    changed: int
    same: int
    new: int
    fetches: int
    errors: dict[str, int]
    levels: dict[str, int]

    @property
    def visits(self) -> int:
        """Revisits that could be compared with the visit before."""
        return self.changed + self.same

    @property
    def needless(self) -> float | None:
        """The share of visits that found no change."""
        return self.same / self.visits if self.visits else None


def since(before: CrawlStats, now: CrawlStats) -> Watched:
    """The difference of two counts; not negative, even while some shards have not reported yet."""
    errors = {reason: number - before.errors.get(reason, 0) for reason, number in now.errors.items()}
    return Watched(
        max(now.changed - before.changed, 0),
        max(now.same - before.same, 0),
        max(now.new - before.new, 0),
        max(now.fetches - before.fetches, 0),
        {reason: number for reason, number in errors.items() if number > 0},
        {level: max(number - before.levels.get(level, 0), 0) for level, number in now.levels.items()},
    )


def view_of(before: CrawlStats, budget: float) -> View:
    """Return the display of a watch that began with this tally and may make `visits_a_day` visits."""

    def rows(progress: Progress) -> list[Row]:
        done = since(before, progress.tally)
        hosts = host_rows(replace(progress, left=None))  # it has no end
        return [_fresh_row(progress), *_visit_rows(done, budget), *_next_rows(progress), *hosts]

    def plain(progress: Progress) -> str:
        return plain_line(progress, since(before, progress.tally))

    return View(rows, plain, lambda tally: tally.fetches, _WIDE)


def _fresh_row(progress: Progress) -> Row:
    seen = _known(progress)
    if seen is None:
        return "fresh", "…", Text("not known yet"), Text()
    age = Text(f"visited {lasting(seen.age)} ago on average")
    if not seen.checked:
        return "fresh", "…", Text(f"not checked yet: none of {counted(seen.pages, 'page')} was visited twice"), age
    if not seen.is_narrow:
        return "fresh", "…", Text(f"{too_wide(seen)} (95 %: {_interval(seen)})"), age
    fact = f"of {counted(seen.pages, 'page')} (95 %: {_interval(seen)})"
    return "fresh", f"{100 * seen.fresh:.1f} %", Text(fact), age


def _known(progress: Progress) -> Freshness | None:
    """The freshness, as soon as there is a page."""
    return progress.freshness if progress.freshness is not None and progress.freshness.pages else None


def _interval(seen: Freshness) -> str:
    return f"{100 * seen.low:.1f} to {100 * seen.high:.1f} %"


def _visit_rows(done: Watched, budget: float) -> list[Row]:
    fact = "none to compare yet"
    if done.needless is not None:
        fact = f"changed {count(done.changed)} · same {count(done.same)}: needless {share(done.needless)}"
    errors = sum(done.errors.values())
    wrong = Text(f"errors {count(errors)} ({top(done.errors)})", style="yellow") if errors else Text("no errors", "dim")
    return [
        ("visits", count(done.visits), Text(fact), Text(f"{count(round(budget))} a day allowed")),
        ("new", count(done.new), Text("pages fetched for the first time"), wrong),
    ]


def _next_rows(progress: Progress) -> list[Row]:
    seen = _known(progress)
    price = "" if seen is None else f"price of a visit {seen.price:.3g}"
    return [
        ("next", "", Text("visits, and why", style="dim"), Text(price, style="dim")),
        *(
            ("", when(visit, progress.at), Text(visit.url, style="cyan"), Text(why(visit, progress.at)))
            for visit in progress.next_visits
        ),
    ]


def plain_line(progress: Progress, done: Watched) -> str:
    """The progress on one line."""
    seen = _known(progress)
    parts = []
    if seen is None:
        parts.append("freshness not known yet")
    elif not seen.checked:
        parts.append(f"freshness of {counted(seen.pages, 'page')} not checked yet")
    elif not seen.is_narrow:
        parts.append(f"freshness {too_wide(seen)} (95 %: {_interval(seen)})")
    else:
        parts.append(f"fresh {100 * seen.fresh:.1f} % (95 %: {_interval(seen)}) of {counted(seen.pages, 'page')}")
    if seen is not None:
        parts.append(f"visited {lasting(seen.age)} ago on average")
    needless = "" if done.needless is None else f", {share(done.needless)} needless"
    parts.append(f"{counted(done.visits, 'visit')}{needless}")
    parts.append(f"{count(done.new)} new")
    if done.errors:
        parts.append(counted(sum(done.errors.values()), "error"))
    if progress.next_visits:
        first = progress.next_visits[0]
        parts.append(f"next {when(first, progress.at)}: {first.url} ({why(first, progress.at)})")
    return f"{lasting(progress.elapsed)}: {', '.join(parts)}"


def line_of(collection: str, progress: Progress, before: CrawlStats, budget: float, ended: str = "") -> WatchLine:
    """The progress for programs."""
    done, seen = since(before, progress.tally), _known(progress)
    checked = seen if seen is not None and seen.checked else None
    return WatchLine(
        collection=collection,
        at=round(progress.at, 3),
        seconds=round(progress.elapsed, 3),
        pages=seen.pages if seen else 0,
        fresh=round(checked.fresh, 5) if checked else None,
        fresh_low=round(checked.low, 5) if checked else None,
        fresh_high=round(checked.high, 5) if checked else None,
        age=round(seen.age, 1) if seen else None,
        price=seen.price if seen else None,
        checked=seen.checked if seen else 0,
        budget=round(budget, 1),
        visits=done.visits,
        changed=done.changed,
        same=done.same,
        needless=None if done.needless is None else round(done.needless, 5),
        new=done.new,
        errors=sum(done.errors.values()),
        fetches=done.fetches,
        waiting=progress.queued,
        next_visits=tuple(_upcoming_visit(visit, progress.at) for visit in progress.next_visits),
        ended=ended,
        minor=done.levels.get("minor", 0),
        template=done.levels.get("template", 0),
        elsewhere=done.levels.get("elsewhere", 0),
    )


def _upcoming_visit(visit: NextVisit, now: float) -> UpcomingVisit:
    due_in = 0.0 if visit.is_waiting else max(visit.due_at - now, 0.0)
    return UpcomingVisit(visit.url, round(due_in, 1), visit.reason, why(visit, now))


@takes_settings("watch")
def watch(
    collection: options.Collected,
    budget: Annotated[
        str | None,
        Option("--budget", metavar="VISITS", help="Requests a day over all sites: 10000, 10000/day."),
    ] = None,
    *,
    login: options.Login = None,
    cookies: options.Cookies = None,
    cluster: Annotated[
        str | None,
        Option("--cluster", metavar="ADDRESS", help="Run the shards on Ray: auto, local, or an address."),
    ] = None,
    json: Annotated[bool, Option("--json", help="For programs: a JSON line every 10 s on stdout.")] = False,
    **given: Any,
) -> None:
    """Keep a collection fresh: visit pages again when it is worth it, within a budget. Ctrl-C keeps everything.

    Example: periplus watch docs --budget 10000
    """
    watched, now = planned_watch(collection, typed_settings("watch", given), budget)
    now, parts = signed_in(now, NO_PARTS, login, cookies)
    with held(collection), gathering(cluster, now) as (now, gather, most):
        watched.save()
        with _following_index(now):
            ended = _run(now, parts, gather, most, is_json=json)
    if ended == "interrupted":
        raise Exit(INTERRUPTED)


@contextmanager
def _following_index(collection: CollectionSetup) -> Iterator[None]:
    """Keep the search index up to date if there is one, by a process that gives way to the crawl, and at the end."""
    if current_generation(collection.layout) is None:
        yield
        return
    words = ["index", str(collection.folder), "--follow"]
    command = [sys.executable, "-P", "-m", "periplus.cli.stopped_by_parent", *words]
    with Popen(command, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL) as indexing:  # noqa: S603 - this program
        with suppress(OSError):  # it has ended already
            os.setpriority(os.PRIO_PROCESS, indexing.pid, _PRIORITY)
        try:
            yield
        finally:
            indexing.terminate()
    with suppress(CollectionInUse):  # another process indexes, which sees the last pages as well
        update_index(collection, say=lambda _: None)


def _run(collection: CollectionSetup, parts: OwnParts, gather: Gather | None, most: int, *, is_json: bool) -> str:
    """Watch, show the progress, and return how it ended: `time` or `interrupted`."""
    before, budget = tally_of(collection.layout), budget_of(collection.config, collection.layout)
    name = str(collection.folder)
    reporter = ProgressReporter(lambda progress: _print(line_of(name, progress, before, budget)) if is_json else None)
    title = f"periplus watch {shlex.quote(name)}"
    summary = run(
        collection,
        stderr_console(),
        title=title,
        view=view_of(before, budget),
        watches=True,
        gather=gather,
        most=most,
        parts=parts,
        tell=reporter.update,
    )
    ended = "interrupted" if summary.ended == "interrupted" else "time"
    if reporter.last is not None:
        if is_json:
            _print(line_of(name, reporter.last, before, budget, ended))
        else:
            _print_end(name, reporter.last, before, ended)
    return ended


class ProgressReporter:
    """Reports progress as soon as freshness is known, and then every `PLAIN_EVERY` seconds."""

    def __init__(self, tell: Callable[[Progress], None]) -> None:
        self.last: Progress | None = None
        self._tell = tell
        self._next = 0.0

    def update(self, progress: Progress) -> None:
        """Take the next progress."""
        self.last = progress
        is_known = progress.freshness is not None and progress.freshness.pages > 0
        if is_known and progress.elapsed >= self._next:
            self._next = progress.elapsed + PLAIN_EVERY
            self._tell(progress)


def _print(line: msgspec.Struct) -> None:
    click.echo(msgspec.json.encode(line))


_ENDS = {"time": "done: the time is over", "interrupted": "stopped: everything is kept"}


def _print_end(name: str, progress: Progress, before: CrawlStats, ended: str) -> None:
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
        print_line(console, line, style)
