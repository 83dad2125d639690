"""The report of a collection: its tables, and what only the committed state of the shards holds.

The state holds how the budget of a site is divided, how reliable its signals are, how fresh its copies are, and its
robots.txt.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterable
from heapq import nlargest
from pathlib import Path
from typing import TYPE_CHECKING

from periplus.insight.reasons import explained
from periplus.model import Executor, Lane, RobotsFile, UsageError
from periplus.store import DiskState, SiteState

from .collection import Collection, states
from .facts import freshness
from .facts.freshness import SignalFacts
from .facts.sources import balance_of

if TYPE_CHECKING:
    from periplus.insight.report import CrawlState, Report

_SITES = 50
"""Sites whose state is shown, those with the most pages: as many rows as a table of the report has."""
_LINK_LANES = (Lane.DISCOVERY, Lane.SITEMAPS)
"""Queues of URLs that were never fetched."""
_OTHER_FILE = "name a file that can be written: -o FILE"

Describe = Callable[[SignalFacts], tuple[str, str]]
"""Names a signal, and describes in a sentence how far it can be trusted."""
Say = Callable[[str], None]


def report_of(
    collection: Collection,
    describe: Describe,
    *,
    say: Say = lambda _: None,
    say_step: Say = lambda _: None,
    executor: Executor | None = None,
) -> Report:
    """The report of a collection as data. `say` is called before what takes time, `say_step` before every question."""
    from periplus.insight.report import gather_report  # imports DuckDB: only where it is used
    from periplus.insight.views import Views

    folder, spooled = collection.folder, collection.layout.spooled
    with Views(folder, spooled=spooled, say=say, executor=executor) as views:
        state = crawl_state_of(collection, describe)
        return gather_report(views, folder.resolve().name, time.time(), state, say=say_step)


def check_report_file(file: Path) -> None:
    """Refuse a file that cannot be written before a long report is made for it."""
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{file}: {os.strerror(errno.ENOENT)}", hint=_OTHER_FILE)


def write_report(report: Report, file: Path) -> None:
    """Write a report as one HTML file, whole or not at all."""
    from periplus.insight.report import page

    draft = file.with_name(file.name + ".part")
    try:
        draft.write_text(page(report), encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}", hint=_OTHER_FILE) from error


def described(facts: SignalFacts) -> tuple[str, str]:
    """A signal by the name of its kind, and its share of right signals in numbers."""
    if facts.judged < 1.0:
        return facts.kind, "no visit has tested it yet"
    share = f"{facts.precision:.0%} of {round(facts.judged):,} signals were followed by a change"
    return facts.kind, share if facts.is_heard else f"{share}; it is ignored"


def crawl_state_of(collection: Collection, describe: Describe) -> CrawlState:
    """Freshness of all copies; budgets, signals, robots.txt and queued URLs of the largest sites."""
    from periplus.insight.report import Budget, CrawlState, KnownFreshness, Trust

    budgets: list[Budget] = []
    trusts: list[Trust] = []
    robots: dict[str, RobotsFile] = {}
    waiting: dict[str, int] = {}
    with states(collection.layout) as opened:
        fresh = freshness.of_collection(opened.values(), time.time(), collection.config.refresh)
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
            for each in signals:
                name, says = describe(each)
                trusts.append(Trust(str(kept.site), name, each.verdict, says))
    known_fresh = None
    if fresh is not None and fresh.checked:
        known_fresh = KnownFreshness(fresh.pages, fresh.fresh, fresh.low, fresh.high, fresh.age)
    return CrawlState(known_fresh, tuple(budgets), tuple(trusts), explained, robots, waiting)


def _largest(opened: Iterable[DiskState]) -> list[tuple[DiskState, SiteState]]:
    """The sites with the most pages, each with the state of its shard."""
    sites = ((state, kept) for state in opened for kept in state.sites)
    return nlargest(_SITES, sites, key=lambda each: (each[1].pages, each[1].site))
