"""`periplus logs`: which crawlers visit a site, from its access logs.

Exit codes: 0 done; 1 no request could be read; 4 something was found that `--fail-on` names.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import msgspec
from click.exceptions import Exit

from periplus.cli import options
from periplus.cli.commands import Argument, Option
from periplus.cli.consoles import stderr_console, stdout_console
from periplus.cli.fail_on import FAILED, FailOn, wanted_findings
from periplus.collection.typed_values import duration
from periplus.model import UsageError
from periplus.view.findings import failing
from periplus_sites.logs import KINDS, LogReport, SystemResolver, read_logs

if TYPE_CHECKING:
    from periplus.apps.identity.verifier import DirectoryAnswer

NOTHING_READ = 1
"""The exit code if no line of any file is a request."""

Files = Annotated[
    list[Path],
    Argument(metavar="LOG...", help="Access logs, plain or gzipped, in any order."),
]
LedgerFolder = Annotated[
    Path | None,
    Option("--ledger", metavar="DIR", help="The ledger of the published site: then needless requests are exact."),
]
Since = Annotated[str | None, Option("--since", metavar="TIME", help="Only the last 30d, 12h, ...")]
RobotsFile = Annotated[
    Path | None,
    Option("--robots", metavar="FILE", help="The robots.txt to check with; by default that beside the ledger."),
]
Html = Annotated[Path | None, Option("--html", metavar="FILE", help="Write one HTML file.")]
Parquet = Annotated[
    Path | None, Option("--parquet", metavar="FILE", help="Write a row for each crawler to a Parquet file.")
]
Paper = Annotated[bool, Option("--paper", help="Show the figures of the paper on crawler-friendly servers.")]
Addresses = Annotated[bool, Option("--addresses", help="Show addresses, not hashes that differ every day.")]
Refresh = Annotated[
    bool,
    Option(
        "--refresh",
        help="Verify crawlers: look up the names of their addresses in DNS, fetch the keys that signed requests name"
        " and, with --ledger, the ranges that operators publish.",
    ),
]


def logs(
    files: Files,
    ledger: LedgerFolder = None,
    since: Since = None,
    robots: RobotsFile = None,
    html: Html = None,
    parquet: Parquet = None,
    paper: Paper = False,
    fail_on: FailOn = None,
    addresses: Addresses = False,
    refresh: Refresh = False,
    json: options.Json = False,
) -> None:
    """Show which crawlers visit your site, whether they are genuine, and which requests are needless.

    Example: periplus logs /var/log/nginx/access.log* --html crawlers.html
    """
    wanted = wanted_findings(fail_on or [], KINDS, "docs/logs.md")
    seconds = duration("--since", since)
    if refresh and ledger is not None:
        _refresh_ranges(ledger)
    report = read_logs(
        files,
        ledger=ledger,
        since=None if seconds is None else time.time() - seconds,
        robots_file=robots,
        resolver=SystemResolver() if refresh else None,
        shows_addresses=addresses,
        fetch_keys=_fetch_keys if refresh else None,
    )
    failed = failing(report.findings, wanted)
    if html is not None:
        _write(html, report, paper=paper)
    if parquet is not None:
        _write_parquet(parquet, report)
    if json:
        click.echo(msgspec.json.encode({**msgspec.structs.asdict(report), "failed_on": failed}))
    else:
        from .terminal import print_report

        print_report(stdout_console(), report, failed, paper=paper, html=str(html or ""))
    if not report.requests:
        why = "every request is older than --since" if report.before_since else "no line is a request"
        stderr_console().print(f"error: {why}", style="bold red", highlight=False, markup=False, soft_wrap=True)
        raise Exit(NOTHING_READ)
    if failed:
        raise Exit(FAILED)


def _fetch_keys(url: str) -> DirectoryAnswer:
    from periplus.apps.identity.verifier import fetch_directory  # loads the wire

    return fetch_directory(url)


def _refresh_ranges(ledger: Path) -> None:
    """Fetch the address ranges that operators publish; failures are printed, and the older file is used."""
    from periplus_sites.address_ranges import range_requests, refresh_ranges
    from periplus_sites.identity import range_urls

    if not ledger.is_dir():
        return  # read_logs says what is wrong
    for url, reason in refresh_ranges(ledger, range_urls(), range_requests()).failed.items():
        stderr_console().print(f"{url}: not refreshed: {reason}", highlight=False, markup=False, soft_wrap=True)


def _write_parquet(path: Path, report: LogReport) -> None:
    from .parquet import write_parquet

    try:
        write_parquet(path, report)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", hint="name a file that can be written") from error


def _write(path: Path, report: LogReport, *, paper: bool) -> None:
    from .tables import page

    try:
        path.write_text(page(report, time.time(), paper=paper), encoding="utf-8", newline="")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint="name a file that can be written") from error
