"""`periplus export`: writes a collection in another format. The work is done by `apps.export`."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, BinaryIO, cast
from urllib.parse import urlsplit

from click.exceptions import Exit

from periplus.apps.export.explaining import PagePermissions
from periplus.apps.export.explaining import explain as page_permissions
from periplus.apps.export.exporting import FOLDERS, FORMATS, Export, ExportOptions
from periplus.apps.export.retrieval import DEFAULT_INDEX
from periplus.bridges.bulk import BulkTarget
from periplus.collection.collection import CollectionSetup, existing
from periplus.model import CollectionDamaged, PeriplusError, UsageError
from periplus.policy.permissions import UNEXPLAINED
from periplus.store.export import Exported, Selection
from periplus.store.export.bulk import mapping
from periplus.store.export.chunks import DEFAULT_SIZE, WORDS
from periplus.store.export.documents import DAMAGED
from periplus.store.export.exporting import NOT_INCLUDED, OTHER_SITE
from periplus.view.terminal import print_line, print_table
from periplus.view.values import sheet_of
from periplus.view.wording import count, counted, top

from . import options
from .commands import Option
from .consoles import stderr_console, stdout_console

NOTHING_WRITTEN = 1
_ANSWER_COLUMNS = ("<use", "<answer", "<decided by", "<conditions", "<conflict", "<explained")
_STATEMENT_COLUMNS = ("<source", "<use", "<answer", "<status", "<place", "<statement", "<SHA-256", "<record")
_UNITS = {"parquet": "row", "warc": "WARC file", "wacz": "capture", "cc-index": "capture", "urls": "URL"}


class ExportPurpose(StrEnum):
    """What an export is for."""

    TRAINING = "training"
    RETRIEVAL = "retrieval"
    SEARCH = "search"
    ARCHIVE = "archive"


class UnknownPages(StrEnum):
    """What becomes of pages of which nothing is stated."""

    KEEP = "keep"
    DROP = "drop"


def export(
    collection: options.Collected,
    form: Annotated[
        str | None,
        Option(
            "--format",
            "-f",
            metavar="FORMAT",
            shell_complete=lambda *_: list(FORMATS),
            help=f"{', '.join(FORMATS)}; {', '.join(FOLDERS)} are folders, all others one file.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="OUT",
            help="A file or folder that does not exist yet, or - for standard output. By default it is named after DIR"
            " and FORMAT; a file goes to standard output if that is a pipe or a file.",
        ),
    ] = None,
    markdown: Annotated[
        bool, Option("--markdown", help="Add the main text of each page in Markdown to jsonl, csv or parquet.")
    ] = False,
    site: Annotated[
        list[str] | None,
        Option("--site", metavar="HOST", help="Export pages of this site and its subdomains. May be repeated."),
    ] = None,
    include: Annotated[
        list[str] | None,
        Option("--include", metavar="PATTERN", help="Export URLs like /docs/* or re:REGEX. May be repeated."),
    ] = None,
    lang: Annotated[
        list[str] | None,
        Option("--lang", metavar="TAG", help="Export pages whose text is in this language: de. May be repeated."),
    ] = None,
    dedupe: Annotated[bool, Option("--dedupe", help="Export pages with the same main text only once.")] = False,
    where: Annotated[str, Option("--where", metavar="SQL", help="For urls: a condition over the view urls.")] = "",
    title: Annotated[str, Option("--title", help="For wacz: what the package is called.")] = "",
    wants_all: Annotated[
        bool, Option("--all", help="For wacz: list captures of pages that say noarchive, too.")
    ] = False,
    sign: Annotated[
        Path | None,
        Option("--sign", metavar="KEY", help="For wacz: sign with this key (PEM: P-384, or with a certificate)."),
    ] = None,
    timestamp: Annotated[
        str, Option("--timestamp", metavar="URL", help="With --sign, the authority that confirms the time.")
    ] = "",
    for_: Annotated[
        ExportPurpose | None,
        Option("--for", help="Leave out pages that may not be used for it, or whose site was not asked."),
    ] = None,
    unknown: Annotated[
        UnknownPages,
        Option("--unknown", help="With --for, whether pages that nothing is stated of are left out."),
    ] = UnknownPages.KEEP,
    explain: Annotated[
        str | None,
        Option("--explain", metavar="URL", help="Show what a page may be used for and why, instead of exporting."),
    ] = None,
    index: Annotated[
        str, Option("--index", metavar="NAME", help="With bulk, the index that documents go to.")
    ] = DEFAULT_INDEX,
    since: Annotated[
        str | None,
        Option("--since", metavar="TIME", help="Only what is new, changed or gone since a date, or 2d ago."),
    ] = None,
    changed: Annotated[
        bool,
        Option("--changed", help="Only what is new, changed or gone since the last export with --changed."),
    ] = False,
    name: Annotated[
        str, Option("--name", metavar="NAME", help="With --changed, which exports follow each other.")
    ] = "",
    to: Annotated[
        str | None,
        Option("--to", metavar="URL", help="With bulk, send documents to this OpenSearch or Elasticsearch."),
    ] = None,
    size: Annotated[int, Option("--size", metavar="N", help="With chunks, how long they are at most.")] = DEFAULT_SIZE,
    unit: Annotated[
        str,
        Option("--unit", metavar="UNIT", help="With chunks: words, characters, or tokens:NAME of a tokenizer."),
    ] = WORDS,
    overlap: Annotated[
        int, Option("--overlap", metavar="N", help="With chunks, how much of one the next begins with.")
    ] = 0,
) -> None:
    """Export the last good version of every page, the tables, or the whole archive.

    Example: periplus export docs --format markdown -o pages
    """
    if explain is not None:
        _print_permissions(page_permissions(existing(collection), explain))
        return
    if form is None:
        raise UsageError("Missing option '--format' / '-f'.", hint=f"one of {', '.join(FORMATS)}")
    asked = ExportOptions(
        form=form,
        selection=Selection(
            tuple(site or ()), tuple(include or ()), tuple(lang or ()), dedupe, for_ or "", unknown.value
        ),
        markdown=markdown,
        where=where,
        title=title,
        wants_all=wants_all,
        sign=sign,
        timestamp=timestamp,
        index=index,
        since=since,
        changed=changed,
        name=name,
        size=size,
        unit=unit,
        overlap=overlap,
    )
    asked.check(is_sent=to is not None)
    found = existing(collection)
    exporting = Export(found, asked)
    if to is not None:
        _send(found, exporting, to, index)
        return
    is_terminal = sys.stdout.buffer.isatty()
    if str(out) == "-":
        exporting.check_stream(is_terminal=is_terminal)
    elif out is not None or is_terminal or not exporting.is_stream:
        place = out or exporting.usual_place
        _end(found, exporting, asked.form, exporting.to_path(place), str(place))
        return
    exported = exporting.to_stream(sys.stdout.buffer)
    sys.stdout.buffer.flush()
    exporting.finish()
    _end(found, exporting, asked.form, exported, "stdout")


def _print_permissions(found: PagePermissions) -> None:
    """Show the answer for each use, and all statements with their proof."""
    console = stdout_console()
    when = "not in the ledger" if found.fetched_at is None else f"fetched {found.fetched_at:%Y-%m-%d %H:%M:%S} UTC"
    print_line(console, f"{found.url}: {when}")
    answers = [
        (
            each.use,
            each.answer,
            ", ".join(each.decided_by),
            ", ".join(each.conditions),
            "yes" if each.conflict else "no",
            "yes" if each.explained else "no",
        )
        for each in found.answers
    ]
    print_table(console, sheet_of("answers", _ANSWER_COLUMNS, answers))
    said = [
        (
            each.source,
            each.use,
            each.answer,
            each.status,
            f"{each.place}{f' line {each.line}' if each.line else ''}",
            each.text,
            each.digest,
            each.record,
        )
        for each in found.statements
    ]
    if said:
        print_table(console, sheet_of("statements", _STATEMENT_COLUMNS, said))


def _send(found: CollectionSetup, exporting: Export, to: str, index: str) -> None:
    target = BulkTarget(to, index)
    target.make_index(mapping())
    exported = exporting.to_stream(cast("BinaryIO", target))
    sent = target.finish()
    if not sent.refused:
        exporting.finish()
    if sent.refused:
        _print("bulk", exported, urlsplit(to).hostname or to)
        raise PeriplusError(f"{counted(sent.refused, 'document')} refused", hint="\n".join(sent.errors))
    _end(found, exporting, "bulk", exported, urlsplit(to).hostname or to)


def _end(found: CollectionSetup, exporting: Export, form: str, exported: Exported, where: str) -> None:
    """Show what was written. What the archive should have and does not is an error, after all else was written."""
    _print(form, exported, where)
    if lost := exported.left_out.get(DAMAGED):
        raise CollectionDamaged(
            f"{counted(lost, 'page')} could not be exported: the WARC file is damaged there, or missing",
            hint=f"periplus repair {shlex.quote(str(found.folder))} --dry-run names the file; restore it from a backup",
        )
    if exporting.fits_nothing(exported):
        folder = shlex.quote(str(found.folder))
        raise PeriplusError(
            "no page fits what was selected: nothing was written",
            hint=f"periplus info {folder} lists the largest sites; --site, --include and --lang must fit a page",
        )
    if not exported.written and not exported.deleted:
        raise Exit(NOTHING_WRITTEN)


def _print(form: str, exported: Exported, where: str) -> None:
    left = exported.left_out
    aside = f"; left out {count(sum(left.values()))} ({top(left)})" if left else ""
    deleted = f" and {counted(exported.deleted, 'deletion')}" if exported.deleted else ""
    if exported.refused:
        aside += f"; {count(exported.refused)} of them were refused by filters or robots.txt, and not requested"
    if UNEXPLAINED in left:
        aside += f"; periplus crawl --permissions records what sites permit ({UNEXPLAINED}: no complete record)"
    chunks = f"{counted(exported.chunks, 'chunk')} of " if form == "chunks" else ""
    line = f"{chunks}{counted(exported.written, _UNITS.get(form, 'page'))}{deleted} to {where}{aside}"
    print_line(stderr_console(), line)
    unexpected = sum(number for reason, number in left.items() if reason not in (OTHER_SITE, NOT_INCLUDED))
    if unexpected > exported.written:
        most = f"most was left out: {count(unexpected)} of {counted(unexpected + exported.written, 'page')}"
        print_line(stderr_console(), f"{most}; docs/export.md explains each reason", "yellow")
