"""`periplus audit`: audit a site, after a crawl made for it, or a collection as it is.

A site is crawled first, within a budget, into a temporary folder, or with `--out` into a collection; what that knows
already is asked for again, on condition. Then embedded files are checked (`requests`). Exit codes: 0 done; 1 no page
could be read, or the site did not answer; 4 something was found that `--fail-on` names, or the site is over a budget.

On a terminal an audit is the verdict on each area, then each finding with what to do.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import click
import msgspec
from click.exceptions import Exit
from msgspec.structs import replace
from rich.console import Console
from rich.table import Table
from rich.text import Text

from periplus.apps.audit import Audit, AuditComparison
from periplus.apps.audit.html_page import budget_line, limits, seen, summary
from periplus.apps.report.making import judged, still_referred
from periplus.collection.collection import CollectionSetup, existing, held, planned, tally_of
from periplus.collection.facts.site_list import is_collection
from periplus.model import UsageError
from periplus.view.findings import SIGNS, failing
from periplus.view.terminal import SEVERITIES, print_finding, print_line
from periplus.view.wording import count, counted, one_line, size

from .. import NOTHING_FETCHED, options
from ..app import INTERRUPTED
from ..commands import Argument, Option
from ..consoles import stderr_console, stdout_console
from ..fail_on import FAILED, wanted_findings
from ..setting_options import takes_settings, typed_settings

if TYPE_CHECKING:
    from periplus.apps.audit import AuditSettings, JudgedAudit, TrendPoint

_CHANGES = 10
"""New and fixed URLs of each finding that are printed; `--json` and `--csv` have all."""


def print_audit(
    console: Console, audit: Audit, failed: list[str], comparison: AuditComparison | None, written: Sequence[str]
) -> None:
    """Print an audit. `written` are the files that have it as well."""
    console.print(Text(audit.site, style="bold") + Text(f"  {_facts(audit)}", style="dim"), soft_wrap=True)
    if audit.pages and (text := limits(audit)):
        advice = "Raise --limit and --for, or --limit 0 for all pages."
        print_line(console, f"{text} {advice}", "yellow")
    grid = Table.grid(padding=(0, 2, 0, 0))
    for mark in audit.marks:
        style = SEVERITIES[mark.verdict]
        grid.add_row(Text(f"  {SIGNS[mark.verdict]}", style=style), mark.question, Text(mark.says, style=style))
    console.print(grid)
    for found in audit.findings:
        print_finding(console, found)
    console.print()
    for check in audit.budgets:
        style = SEVERITIES["error" if check.is_over else "good"]
        sign = SIGNS["error" if check.is_over else "good"]
        print_line(console, f"{sign} budget {check.name}: {budget_line(check)}", style)
    for name, why in audit.unjudged.items():
        print_line(console, f"not checked: {name} ({why})", "dim")
    if comparison is not None:
        _print_comparison(console, comparison)
    print_line(console, summary(audit), "bold")
    if written:
        print_line(console, f"written: {', '.join(written)}")
    if failed:
        print_line(console, f"failed on {', '.join(failed)}", "bold red")


def _print_comparison(console: Console, comparison: AuditComparison) -> None:
    counts = f"{count(comparison.new)} new, {count(comparison.fixed)} fixed, {count(comparison.remaining)} remaining"
    print_line(console, f"since the last audit: {counts}", "bold")
    for change in comparison.changes:
        for sign, urls, style in (("+", change.new, "yellow"), ("-", change.fixed, "green")):
            for url in urls[:_CHANGES]:
                print_line(console, f"  {sign} {change.name} {one_line(url)}".rstrip(), style)
            if len(urls) > _CHANGES:
                more = f"  {sign} {change.name} and {count(len(urls) - _CHANGES)} more"
                print_line(console, more, style)
    if comparison.unknown:
        print_line(console, f"  not comparable: {', '.join(comparison.unknown)}", "dim")


def _facts(audit: Audit) -> str:
    cost = audit.cost
    listed = f"{counted(audit.listed, 'URL')} listed, {count(audit.visited)} of them fetched"
    asked = counted(cost.requests, "request")
    return f"{counted(audit.pages, 'page')}; {listed}; {asked}, {size(cost.bytes)}{seen(audit)}"


CHECKS = 200
"""Embedded files, and external links, that are requested: at one request a second, three minutes of each."""
_SHOWN = 5

What = Annotated[str, Argument(metavar="SITE|DIR", help="A site to crawl, or the folder of a collection.")]
OfSite = Annotated[str | None, Option("--site", metavar="SITE", help="Of a collection with several: this site.")]
Out = Annotated[
    Path | None,
    Option(
        "--out",
        "-o",
        metavar="DIR",
        help="Of a site: keep the crawl in this collection; audit again to see what changed.",
    ),
]
NEW = "new"
"""The word of `--fail-on` for findings that an earlier audit did not have."""
FailOn = Annotated[
    list[str] | None,
    Option(
        "--fail-on",
        metavar="WHAT",
        help="Exit with 4 if this was found: error, warning, notice (or worse), or a finding by name; new: only what is"
        " new since the last audit. May be repeated.",
    ),
]
_FORMATS = "Output"
Html = Annotated[Path | None, Option("--html", metavar="FILE", panel=_FORMATS, help="Write one HTML file.")]
Csv = Annotated[Path | None, Option("--csv", metavar="FILE", panel=_FORMATS, help="Write one row for each fault.")]
Junit = Annotated[
    Path | None,
    Option("--junit", metavar="FILE", panel=_FORMATS, help="Write JUnit XML for CI systems."),
]
Sarif = Annotated[
    Path | None,
    Option("--sarif", metavar="FILE", panel=_FORMATS, help="Write SARIF 2.1.0 for code scanners."),
]
Grid = Annotated[
    Path | None,
    Option(
        "--grid",
        metavar="FILE",
        panel=_FORMATS,
        help="Write a table of all pages, as HTML if the name ends in .html, else as CSV.",
    ),
]
Baseline = Annotated[
    Path | None,
    Option("--baseline", metavar="FILE", help="Compare with this earlier --json output, not with the last audit."),
]
External = Annotated[
    bool, Option("--external", help="Of a site: request links to other sites, too, each once with HEAD.")
]
CheckLimit = Annotated[
    int,
    Option("--checks", metavar="N", min=0, help="Of a site: maximum number of images, styles, ... to request."),
]
Clicks = Annotated[
    int, Option("--clicks", metavar="N", min=1, help="How many clicks from the home page a page may be.")
]
Slow = Annotated[float, Option("--slow", metavar="SECONDS", min=0.001, help="How long a page may take.")]
Examples = Annotated[int, Option("--examples", metavar="N", min=0, max=1000, help="Examples of each finding.")]


@takes_settings("audit")
def audit(
    what: What,
    site: OfSite = None,
    fail_on: FailOn = None,
    html: Html = None,
    csv: Csv = None,
    junit: Junit = None,
    sarif: Sarif = None,
    grid: Grid = None,
    baseline: Baseline = None,
    external: External = False,
    checks: CheckLimit = CHECKS,
    slow: Slow = 2.0,
    clicks: Clicks = 5,
    examples: Examples = _SHOWN,
    out: Out = None,
    *,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Audit a site for its owner: findings with examples, why they matter and what to do.

    Example: periplus audit docs.example.org --html audit.html
    """
    from periplus.apps.audit import KINDS, AuditSettings
    from periplus.apps.audit.comparison import MAX_FAULTS

    wanted = wanted_findings(fail_on or [], KINDS, "docs/audit.md", (NEW,))
    before = _baseline(baseline)
    asked: dict[str, object] = {
        "crawl.workers": 1,
        "scope.kind": "host",
        "sitemaps.follow": True,
        "dust.enabled": False,  # duplicates are among what an audit is for
        **typed_settings("audit", given),
    }
    began_at = 0.0 if is_collection(what) else time.time()
    settings = AuditSettings(
        slow=slow, deep=clicks, examples=max(examples, MAX_FAULTS), since=began_at, has_grid=grid is not None
    )
    with _crawled(what, out, asked) as collection:
        judged_now = (
            judged(collection, site, settings, _print_note)
            if is_collection(what)
            else _checked(collection, site, settings, checks, external=external)
        )
        found = judged_now.audit
        comparison, trend = _compared(collection, found, before)
        _announce(collection, found, comparison)
    failed = [*failing_now(found, wanted, comparison), *(each.name for each in found.budgets if each.is_over)]
    if NEW in wanted and comparison is None:
        _print_note("nothing is new: there is no earlier audit to compare with; this one is kept for the next")
    asked_files = {html: "html", csv: "csv", junit: "junit", sarif: "sarif", grid: "grid"}
    files = {path: kind for path, kind in asked_files.items() if path}
    _write_files(judged_now, failed if fail_on else None, comparison, trend, files)
    if Path("-") not in files:
        _print(found, failed, comparison, trend, examples, [str(path) for path in files], is_json=json)
    is_dead = not found.pages or (found.seen_until or 0.0) < began_at
    if is_dead:
        _print_dead(found)
    raise Exit(FAILED if failed else NOTHING_FETCHED if is_dead else 0)


def _baseline(path: Path | None) -> Audit | None:
    from periplus.apps.audit.comparison import read_audit

    if path is None:
        return None
    before = read_audit(path)
    if before is None:
        raise UsageError(f"--baseline {path}: not an audit", hint="give a file that periplus audit --json wrote")
    return before


def failing_now(found: Audit, wanted: Collection[str], comparison: AuditComparison | None) -> list[str]:
    """The findings to fail on. With `new`, only those with faults that are new: of the other words, or of all."""
    others = set(wanted) - {NEW}
    names = failing(found.findings, others) if others or NEW not in wanted else [each.name for each in found.findings]
    if NEW not in wanted:
        return names
    added = comparison.new_findings if comparison is not None else frozenset()
    return [name for name in names if name in added]


def _compared(
    collection: CollectionSetup, found: Audit, before: Audit | None
) -> tuple[AuditComparison | None, tuple[TrendPoint, ...]]:
    """Compare with the baseline, or else with the last audit of the collection; keep this one as the last.

    The trend has all audits of the collection, and this one.
    """
    from periplus.apps.audit import compare, load_last, load_trend, save_last, save_trend, with_audit

    before = before or load_last(collection.folder, found.site)
    comparison = compare(before, found) if before is not None else None
    trend = with_audit(load_trend(collection.folder, found.site), found, comparison)
    if found.pages:
        with suppress(OSError):  # a collection on a read-only disk can be audited as well
            save_last(collection.folder, found)
            save_trend(collection.folder, found.site, trend)
    return comparison, trend


def _announce(collection: CollectionSetup, found: Audit, comparison: AuditComparison | None) -> None:
    from periplus.apps.audit.comparison import announce_faults

    announce_faults(collection, found, comparison)


@contextmanager
def _crawled(what: str, out: Path | None, asked: dict[str, object]) -> Iterator[CollectionSetup]:
    """The collection to audit: the one that was named, or that of a site, crawled now."""
    if is_collection(what):
        yield existing(Path(what))
        return
    with TemporaryDirectory(prefix="periplus-audit-") as folder:
        place = out or Path(folder) / "crawl"
        if out is not None and asked["crawl.workers"] and len(list((out / "state").glob("shard-*"))) > 1:
            asked = asked | {"crawl.workers": None}
        collection = planned(place, typed=[what], options=asked)
        title = f"periplus audit {what}" + (f" -o {out}" if out else "")
        with held(place):
            collection.save()
            has_pages = not collection.is_new and bool(tally_of(collection.layout).pages)
            pages = _ask_again(collection, title) if has_pages else _crawl(collection, title)
        if not pages:
            raise Exit(INTERRUPTED)
        yield collection


def _crawl(collection: CollectionSetup, title: str) -> bool:
    """Crawl; whether there is something to audit."""
    from ..crawl.running import run

    summary = run(collection, stderr_console(), title=title)
    return summary.ended != "interrupted" or bool(summary.pages)


def _ask_again(collection: CollectionSetup, title: str) -> bool:
    """Ask for everything that is known again, on condition, and for what is new; last for what was gone.

    Pages that were gone are asked for again only if the site still refers to them.
    """
    from periplus.apps.changes.refreshing import ask_again, ask_gone, end_refresh, gone_before

    from ..crawl.running import run

    layout, console = collection.layout, stderr_console()
    plan, config = ask_again(collection.config, layout, collection.seeds)
    ended = run(replace(collection, config=config), console, title=title).ended
    if ended in ("complete", "limit") and (gone := still_referred(collection, gone_before(layout, plan))):
        config = ask_gone(collection.config, layout, collection.seeds, gone)
        ended = run(replace(collection, config=config), console, title=f"{title}: pages that were gone").ended
    end_refresh(layout, plan, is_complete=ended != "interrupted")
    return True


def _checked(
    collection: CollectionSetup, site: str | None, settings: AuditSettings, limit: int, *, external: bool
) -> JudgedAudit:
    """The audit of a site, after requests for what it embeds and links to."""
    from periplus.apps.audit import load_checks, save_checks

    from .requests import check_urls, look_again, merged

    first, console = judged(collection, site, settings, _print_note), stderr_console()
    urls = [*first.files[:limit], *(first.external[:limit] if external else ())]
    needs_look = "lastmod-always-now" in first.audit.unjudged
    if not first.audit.pages or not (urls or needs_look):
        return first
    answers = check_urls(collection, urls, collection.config.crawl.duration, console)
    looks = look_again(collection, first.audit.site, console) if needs_look else ()
    checks = merged(load_checks(collection.folder), answers, looks, external=external)
    save_checks(collection.folder, checks)
    return judged(collection, site, settings, _print_note, first.facts)


def _print_note(line: str) -> None:
    stderr_console().print(line, style="dim", highlight=False)


def _write_files(
    judged_now: JudgedAudit,
    failed: Sequence[str] | None,
    comparison: AuditComparison | None,
    trend: Sequence[TrendPoint],
    files: dict[Path, str],
) -> None:
    """Write the audit in every format that was asked for; `-` is standard output."""
    from periplus.apps.audit import grid_text, page, to_csv, to_junit, to_sarif

    found, now = judged_now.audit, time.time()
    for path, kind in files.items():
        match kind:
            case "csv":
                text = to_csv(found, comparison)
            case "junit":
                text = to_junit(found, failed)
            case "sarif":
                text = to_sarif(found, comparison)
            case "grid":
                text = grid_text(found.site, judged_now.grid, path, now)
            case _:
                text = page(found, now, comparison, trend)
        if path == Path("-"):
            click.echo(text, nl=False)
            continue
        try:
            path.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}", hint="name a file that can be written") from error


def _print(
    found: Audit,
    failed: list[str],
    comparison: AuditComparison | None,
    trend: Sequence[TrendPoint],
    examples: int,
    written: list[str],
    *,
    is_json: bool,
) -> None:
    shown = [replace(each, examples=each.examples[:examples]) for each in found.findings]
    found = replace(found, findings=tuple(shown))
    if is_json:
        more = {"failed_on": failed, "comparison": comparison, "trend": trend}
        click.echo(msgspec.json.encode({**msgspec.structs.asdict(found), **more}))
        return
    print_audit(stdout_console(), found, failed, comparison, written)


def _print_dead(found: Audit) -> None:
    """Say on stderr that the audit has nothing current to judge."""
    if found.pages:
        why = f"{found.site} did not answer; this audit is of earlier answers"
    else:
        why = next((mark.says for mark in found.marks if mark.verdict == "unknown"), "No page could be read")
        why = f"{found.site}: {why[:1].lower()}{why[1:]}"
    stderr_console().print(f"error: {why}", style="bold red", highlight=False, markup=False, soft_wrap=True)
