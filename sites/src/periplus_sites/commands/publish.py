"""`periplus publish`: sitemaps, archives and feeds of one's own site, whose dates can be believed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from threading import Thread
from typing import Annotated

import click
import msgspec
from click.exceptions import Exit

from periplus.cli import options
from periplus.cli.commands import Argument, CommandGroup, Option
from periplus.cli.consoles import stderr_console, stdout_console
from periplus.model import UsageError
from periplus.store.folders import FolderLocked
from periplus.view.terminal import print_line
from periplus.view.wording import count, counted
from periplus_sites.publish import Published, Publisher, PublishSettings
from periplus_sites.publish.collections import (
    inventories,
    load_settings,
    save_settings,
    scans_of_changes,
    settings_path,
)
from periplus_sites.publish.push import PushResult
from periplus_sites.publish.trial_server import folder_app, trial_server

publish = CommandGroup(
    "publish",
    "Write honest sitemaps, archives and feeds for your own site.\n\n"
    "Example: periplus publish scan public --base-url https://www.example.org/ -o public",
)

Out = Annotated[
    Path,
    Option("--out", "-o", metavar="OUT", help="The folder for the published files, which your server serves."),
]
LedgerFolder = Annotated[
    Path | None,
    Option("--ledger", metavar="DIR", help="The folder for the ledger and publish.toml; by default inside OUT."),
]
Watch = Annotated[bool, Option("--watch", help="Stay, and scan again whenever files of the folder have changed.")]
BaseUrl = Annotated[
    str | None, Option("--base-url", metavar="URL", help="The address of the site's root. Needed once.")
]


_SHOWN = 5
"""Problems that are shown one by one."""


@publish.verb
def init(
    out: Out,
    base_url: BaseUrl = None,
    folder: Annotated[Path | None, Argument(metavar="FOLDER")] = None,
    ledger: LedgerFolder = None,
) -> None:
    """Write publish.toml with every setting explained, to edit before the first scan.

    Example: periplus publish init public --base-url https://www.example.org/ -o public
    """
    settings = _settings(out, ledger, base_url, folder)
    path = save_settings(settings, out, ledger)
    print_line(stdout_console(), f"{path}: edit it, then run: periplus publish scan -o {out}")


@publish.verb
def scan(
    out: Out,
    folder: Annotated[
        Path | None, Argument(metavar="FOLDER", help="The files of the site. Needed once; publish.toml keeps it.")
    ] = None,
    base_url: BaseUrl = None,
    ledger: LedgerFolder = None,
    rows: Annotated[
        str | None,
        Option(
            "--rows", metavar="FILE", help="A CSV or JSONL file of url, updated_at, digest, ... instead; - is stdin."
        ),
    ] = None,
    git: Annotated[bool, Option("--git", help="Take dates from the commits of a git work tree.")] = False,
    clean_urls: Annotated[bool, Option("--clean-urls", help="Leave .html out of addresses.")] = False,
    robots: Annotated[bool, Option("--robots", help="Add the Sitemap lines to OUT/robots.txt.")] = False,
    deep: Annotated[bool, Option("--deep", help="Read every file, also those with the same size and time.")] = False,
    allow_removals: Annotated[bool, Option("--allow-removals", help="Accept that most of the site is gone.")] = False,
    watch: Watch = False,
    json: options.Json = False,
) -> None:
    """Find out what changed since the last scan, and write sitemaps, archives and the feed. Run it after every build.

    Example: periplus publish scan public --base-url https://www.example.org/ -o public
    """
    chosen = {
        "source.rows": rows,
        "source.dates": "git" if git else None,
        "source.clean_urls": clean_urls or None,
        "robots.manage": robots or None,
    }
    settings = _settings(out, ledger, base_url, folder, chosen)
    with Publisher(out, settings, ledger=ledger) as publisher:
        console = stderr_console()
        shown = console.status("scanning") if console.is_terminal else nullcontext()
        with inventories(publisher, settings) as sources, shown:
            done = publisher.scan(sources, is_deep=deep, allows_removals=allow_removals)
        save_settings(settings, out, ledger)
        _print_scanned(done, out, is_json=json)
        if watch:
            for again in scans_of_changes(publisher, settings, say=_complain):
                _print_scanned(again, out, is_json=json)


@publish.verb
def status(out: Out, ledger: LedgerFolder = None, json: options.Json = False) -> None:
    """Show what is published, what is hidden and why, and the last changes.

    Example: periplus publish status -o public
    """
    settings = _known_settings(out, ledger)
    with Publisher(out, settings, ledger=ledger) as publisher:
        facts = publisher.status()
    if json:
        click.echo(msgspec.json.encode(facts))
        return
    console = stdout_console()
    hidden = ", ".join(f"{count(number)} {reason}" for reason, number in facts.hidden.items()) or "none"
    published = f"{counted(facts.published, 'address', 'addresses')} published, {count(facts.dated)} with a date"
    print_line(console, f"{publisher.base_url}: {published}")
    print_line(console, f"  hidden: {hidden}; gone: {count(facts.gone)}; files: {count(len(facts.files))}")
    for crawler in facts.crawlers:
        claims = f", {count(crawler.false_claims)} by others with its name" if crawler.false_claims else ""
        visits = f"{counted(crawler.visits, 'visit')} in a day, {count(crawler.needless)} of them needless"
        print_line(console, f"  {crawler.name}: {visits}{claims}")
    for each in facts.signed:
        who = each.agent or f"signature not verified ({each.reason})"
        print_line(console, f"  {who}: {counted(each.visits, 'signed visit')} in a day")
    for change in facts.last_changes:
        print_line(console, f"  {change.kind:8} {change.url}")


@publish.verb
def push(
    out: Out,
    ledger: LedgerFolder = None,
    now: Annotated[bool, Option("--now", help="Do not wait for further changes to send with these.")] = False,
    follow: Annotated[
        bool, Option("--follow", help="Stay, write what applications report, and send what becomes due.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Send what changed to the receivers of [push]: IndexNow, WebSub, sitemap pings.

    Example: periplus publish push -o public
    """
    settings = _known_settings(out, ledger)
    with Publisher(out, settings, ledger=ledger) as publisher:
        while True:
            if not publisher.is_written():
                with suppress(FolderLocked):  # a scan runs, and writes the files itself
                    publisher.write()
            sent = publisher.push(is_early=now)
            _print_sent(sent, publisher.status().waiting, is_json=json, is_quiet=follow)
            if not follow:
                break
            time.sleep(max(settings.push.debounce, 1.0))
    if any(result.next_at is None and not result.is_sent for result in sent):
        raise Exit(1)


@publish.verb
def serve(
    out: Out,
    ledger: LedgerFolder = None,
    port: Annotated[
        int, Option("--port", metavar="PORT", min=0, max=65535, help="Port to listen on; 0: any free port.")
    ] = 8000,
    watch: Watch = False,
) -> None:
    """Serve the published site on this machine, as the middleware would: to try it out. Ctrl-C stops.

    Example: periplus publish serve -o public
    """
    settings = _known_settings(out, ledger)
    folders = [Path(settings.source.folder), out] if settings.source.folder else [out]
    with Publisher(out, settings, ledger=ledger) as publisher:
        app = publisher.wsgi(folder_app(folders, clean_urls=settings.source.clean_urls))
        with trial_server(app, port) as server:
            print_line(stderr_console(), f"Serving {out} at http://127.0.0.1:{server.server_port}/")
            if watch:
                Thread(target=_scan_changes, args=(out, ledger, settings), daemon=True).start()
            server.serve_forever()


def _scan_changes(out: Path, ledger: Path | None, settings: PublishSettings) -> None:
    """Scan the folder beside the server, with a publisher of its own, whenever it has changed."""
    with Publisher(out, settings, ledger=ledger) as publisher:
        for done in scans_of_changes(publisher, settings, say=_complain):
            _print(done, out)


def _complain(message: str) -> None:
    print_line(stderr_console(), message)


def _print_scanned(done: Published, out: Path, *, is_json: bool) -> None:
    if is_json:
        click.echo(msgspec.json.encode(done))
    else:
        _print(done, out)


def _print_sent(sent: list[PushResult], waiting: int, *, is_json: bool, is_quiet: bool) -> None:
    if is_json:
        for result in sent:
            click.echo(msgspec.json.encode(result))
        return
    console = stdout_console()
    for result in sent:
        later = "" if result.next_at is None else "; it is sent again"
        text = f"{result.target}: {counted(result.messages, 'message')}: {result.answer}{later}"
        print_line(console, text)
    if not is_quiet:
        print_line(console, f"{counted(waiting, 'message')} waiting")


def _known_settings(out: Path, ledger: Path | None) -> PublishSettings:
    if not settings_path(out, ledger).exists():
        raise UsageError(f"{out} has no publish.toml", hint="run: periplus publish scan FOLDER --base-url URL -o OUT")
    return load_settings(out, ledger)


def _print(done: Published, out: Path) -> None:
    found = done.scan
    console = stdout_console()
    unread = f" ({count(found.unread)} not read: same size and time)" if found.unread else ""
    print_line(console, f"{counted(found.resources, 'resource')}{unread}")
    print_line(
        console,
        f"  {count(found.new)} new, {count(found.changed)} changed, {count(found.gone)} gone;"
        f" other bytes but no change: {count(found.raw_only + found.minor + found.template_pages)}",
    )
    if found.hidden:
        reasons = ", ".join(f"{reason} {count(number)}" for reason, number in sorted(found.hidden.items()))
        print_line(console, f"  not published: {reasons}")
    if found.build_dates:
        print_line(
            console,
            f"  {count(found.build_dates)} without a date: their files were all written in the same few minutes",
        )
    for problem in found.examples[:_SHOWN]:
        print_line(console, f"  problem: {problem.reason}: {problem.detail}")
    if len(found.examples) > _SHOWN or sum(found.problems.values()) > len(found.examples):
        total = ", ".join(f"{reason} {count(number)}" for reason, number in sorted(found.problems.items()))
        print_line(console, f"  problems in all: {total}")
    if done.robots:
        print_line(console, f"  robots.txt was not written: {done.robots}")
    if done.unsent:
        text = f"  not sent to IndexNow: the {counted(done.unsent, 'page')} of the first scan; changes from now on are"
        print_line(console, text)
    files = counted(done.sitemaps.files, "sitemap file")
    print_line(console, f"wrote {files} and {counted(done.archives, 'archive')} in {out}")


def _settings(
    out: Path,
    ledger: Path | None,
    base_url: str | None,
    folder: Path | None,
    chosen: Mapping[str, object] | None = None,
) -> PublishSettings:
    named = {
        "site.base_url": base_url,
        "source.folder": None if folder is None else str(folder.resolve()),
        **(chosen or {}),
    }
    settings = load_settings(out, ledger, named)
    if not settings.site.base_url:
        raise UsageError("the address of the site is not known", hint="add --base-url https://www.example.org/")
    return settings
