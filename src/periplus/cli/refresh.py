"""`periplus refresh`: request the pages of a collection again, once, and show what changed.

`apps.changes.refreshing` chooses the pages and counts what was found; this file shows it.
"""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import click
import msgspec
from click.exceptions import Exit
from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text

from periplus.apps.changes.refreshing import (
    Refreshed,
    RefreshPlan,
    announce_refreshed,
    begin_refresh,
    end_refresh,
    for_new_pages,
    for_revisits,
    selection_of,
)
from periplus.collection.collection import CollectionSetup, existing, held, planned, tally_of
from periplus.collection.progress import Progress
from periplus.collection.typed_values import duration
from periplus.engine.plugins import NO_PARTS
from periplus.engine.stats import CrawlStats
from periplus.model import UsageError
from periplus.view.terminal import print_line
from periplus.view.wording import count, counted, lasting, pace, top

from . import NOTHING_FETCHED, options
from .app import INTERRUPTED
from .commands import Argument, Option
from .consoles import stderr_console, stdout_console
from .crawl.live import Row, View, host_rows
from .crawl.resizing import gathering
from .crawl.running import run, signed_in
from .setting_options import takes_settings, typed_settings

_SHOWN = 20
"""URLs of each kind on a terminal: one screen; `periplus changes` and `--json` have the others."""
_GONE = ("http-404", "http-410")


class RefreshResult(Struct, frozen=True):
    """What `--json` prints at the end: counts of pages, and the URLs, at most 10,000 of each kind.

    `ended` is `complete` or `interrupted`; an interrupted refresh is continued by the same command. `minor` of the
    pages that changed did so but little; of those that are the same, `template` differ in what their site shares, and
    `elsewhere` outside of their main text.
    """

    collection: str
    ended: str
    asked: int
    new: int
    changed: int
    same: int
    gone: int
    failed: int
    seconds: float
    new_urls: tuple[str, ...]
    changed_urls: tuple[str, ...]
    gone_urls: tuple[str, ...]
    minor: int = 0
    template: int = 0
    elsewhere: int = 0


@takes_settings("refresh")
def refresh(
    collection: options.Collected,
    urls: Annotated[list[str] | None, Argument(metavar="URL", help="Only these pages.")] = None,
    site: Annotated[
        list[str] | None,
        Option("--site", metavar="HOST", help="Only pages of this host or below it. May be repeated."),
    ] = None,
    older_than: Annotated[
        str | None,
        Option("--older-than", metavar="TIME", help="Only pages that were last visited before that: 2d, 12h."),
    ] = None,
    new: Annotated[
        bool | None,
        Option(
            "--new/--no-new",
            help="Fetch new pages that are found, too. By default if no URL is given and the collection was crawled to"
            " its end.",
        ),
    ] = None,
    *,
    login: options.Login = None,
    cookies: options.Cookies = None,
    cluster: Annotated[
        str | None,
        Option("--cluster", metavar="ADDRESS", help="Run the shards on Ray: auto, local, or an address."),
    ] = None,
    json: Annotated[bool, Option("--json", help="Print the result as JSON on stdout.")] = False,
    **given: Any,
) -> None:
    """Ask every page again, once, and show what changed. Unchanged pages are not sent again (304).

    Ctrl-C keeps everything; the same command continues.

    Example: periplus refresh docs --older-than 2d
    """
    if not tally_of(existing(collection).layout).pages:
        raise UsageError(
            f"{collection} has no pages yet",
            hint=f"periplus crawl SEED -o {shlex.quote(str(collection))} fetches some",
        )
    age = duration("--older-than", older_than) or 0.0
    selection = selection_of(existing(collection), site or (), urls or (), age)
    asked, parts = signed_in(planned(collection, options=typed_settings("refresh", given)), NO_PARTS, login, cookies)
    with held(collection), gathering(cluster, asked) as (now, gather, most):
        plan = begin_refresh(now.config, now.layout, now.seeds, selection, fetches_new=new)
        title = f"periplus refresh {shlex.quote(str(collection))}"
        console = stderr_console()
        first = replace(now, config=for_revisits(now.config))
        summary = run(
            first, console, title=title, view=view_of(plan), revisits_only=True, gather=gather, most=most, parts=parts
        )
        is_complete, has_failed_login = summary.ended != "interrupted", summary.has_failed_login
        further = for_new_pages(now.config, now.layout, plan) if is_complete else None
        if further is not None:
            title = f"{title}: new pages"
            summary = run(replace(now, config=further), console, title=title, gather=gather, most=most, parts=parts)
            is_complete = summary.ended != "interrupted"
            has_failed_login |= summary.has_failed_login
        found = end_refresh(now.layout, plan, is_complete=is_complete)
        announce_refreshed(now, found)
    _print_result(now, found, plan.started_at, is_json=json)
    if not is_complete:
        raise Exit(INTERRUPTED)
    if has_failed_login:
        raise Exit(NOTHING_FETCHED)


# while it runs


class _Done(Struct, frozen=True):
    """What was found since a refresh began."""

    changed: int
    same: int
    gone: int
    errors: dict[str, int]

    @property
    def asked(self) -> int:
        return self.changed + self.same + self.gone


def _since(before: CrawlStats, now: CrawlStats) -> _Done:
    errors = {reason: number - before.errors.get(reason, 0) for reason, number in now.errors.items()}
    return _Done(
        max(now.changed - before.changed, 0),
        max(now.same - before.same, 0),
        max(sum(errors.get(reason, 0) for reason in _GONE), 0),
        {reason: number for reason, number in errors.items() if number > 0 and reason not in _GONE},
    )


def view_of(plan: RefreshPlan) -> View:
    """How a refresh is shown while it runs."""

    def rows(progress: Progress) -> list[Row]:
        done = _since(plan.before, progress.tally)
        left = max(plan.pages - done.asked, 0)
        errors = sum(done.errors.values())
        wrong = (
            Text(f"errors {count(errors)} ({top(done.errors)})", style="yellow") if errors else Text("no errors", "dim")
        )
        found = Text(f"changed {count(done.changed)} · same {count(done.same)} · gone {count(done.gone)}")
        hosts = host_rows(replace(progress, left=_time_left(progress, left)))
        return [
            ("asked", count(done.asked), Text(f"of {counted(plan.pages, 'page')}, {pace(progress.rate)}"), wrong),
            ("found", "", found, Text("")),
            *hosts,
        ]

    def plain(progress: Progress) -> str:
        done = _since(plan.before, progress.tally)
        found = f"changed {count(done.changed)}, same {count(done.same)}, gone {count(done.gone)}"
        errors = f", {count(sum(done.errors.values()))} errors" if done.errors else ""
        return (
            f"{lasting(progress.elapsed)}: asked {count(done.asked)} of {counted(plan.pages, 'page')}, {found}{errors}"
        )

    return View(rows, plain, lambda tally: tally.changed + tally.same)


def _time_left(progress: Progress, pages: int) -> float | None:
    """Seconds for the pages that are left, at the rate of the last seconds."""
    return pages / progress.rate if progress.rate > 0.0 else None


# at the end


def _print_result(collection: CollectionSetup, found: Refreshed, began_at: float, *, is_json: bool) -> None:
    if is_json:
        click.echo(msgspec.json.encode(result_of(str(collection.folder), found)))
        return
    console = stdout_console()
    for line, style in _lines(shlex.quote(str(collection.folder)), found, began_at):
        print_line(console, line, style)


def result_of(collection: str, found: Refreshed) -> RefreshResult:
    """The result for programs."""
    return RefreshResult(
        collection=collection,
        ended="complete" if found.is_complete else "interrupted",
        asked=found.asked,
        new=found.new,
        changed=found.changed,
        same=found.same,
        gone=found.gone,
        failed=found.failed,
        seconds=round(found.seconds, 3),
        new_urls=found.new_urls,
        changed_urls=found.changed_urls,
        gone_urls=found.gone_urls,
        minor=found.minor,
        template=found.template,
        elsewhere=found.elsewhere,
    )


def _lines(folder: str, found: Refreshed, began_at: float) -> list[tuple[str, str]]:
    head = "done" if found.is_complete else "stopped: everything is kept, the same command continues"
    counts = f"  {counted(found.asked, 'page')}: {count(found.changed)} changed, {count(found.same)} same"
    counts += f", {count(found.gone)} gone; {count(found.new)} new"
    failed = "failed" if found.is_complete else "failed or not asked yet"
    if found.is_complete and not found.asked and not found.new:
        return [("done: there was no page to ask (URL, --site, --older-than)", "bold")]
    lines = [(f"{head}, in {lasting(found.seconds)}", "bold"), (counts, "")]
    if found.minor or found.template or found.elsewhere:
        template, elsewhere = counted(found.template, "page"), count(found.elsewhere)
        of_these = f"  {count(found.minor)} of the changes are minor; {template} changed in their template only"
        lines.append((f"{of_these}, {elsewhere} outside of their main text", ""))
    if found.failed:
        lines.append((f"  {count(found.failed)} {failed}", "yellow"))
    for name, urls in (("new", found.new_urls), ("changed", found.changed_urls), ("gone", found.gone_urls)):
        lines += [(f"  {name:<8}{url}", "cyan") for url in urls[:_SHOWN]]
        if len(urls) > _SHOWN:
            lines.append((f"  {name:<8}and {count(len(urls) - _SHOWN)} more", "dim"))
    if not (found.new or found.changed or found.gone or found.elsewhere):
        return lines
    from .changes.output import iso  # what it loads was loaded to find the changes

    command = f"periplus changes {folder} --since {iso(began_at)}"  # new pages were fetched by a run of their own
    return [*lines, ("next:", "bold"), (f"  {command}   (shows what differs)", "")]
