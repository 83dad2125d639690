"""`periplus report`: writes a collection's report (`apps.report`) as one HTML file.

The tables hold what happened. How a site's budget is divided, how reliable its signals are, how fresh its copies are
and its robots.txt come from the committed state of the shards, read as `periplus info` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import msgspec
from rich.text import Text

from periplus.apps.report.making import check_report_file, report_of, write_report
from periplus.collection.collection import CollectionSetup, existing
from periplus.collection.facts.freshness_words import TELLERS, trust
from periplus.model import SignalFacts
from periplus.view.terminal import print_line

from . import options
from .commands import Option
from .consoles import stderr_console, stdout_console
from .options import JobsCluster, executor_at

if TYPE_CHECKING:
    from periplus.apps.report import Report

NAME = "report.html"
"""The default file, in the folder of the collection."""
_STEP = "report: "
"""How the progress lines of single questions begin: they are shown on a terminal only."""

Out = Annotated[
    Path | None,
    Option("--out", "-o", metavar="FILE", help=f"The file to write; by default {NAME} in the collection."),
]


def report(
    collection: options.Collected, out: Out = None, json: options.Json = False, cluster: JobsCluster = None
) -> None:
    """Write a report of a collection as one HTML file: problems, figures, tables, and what to do about them.

    Example: periplus report docs
    """
    found = existing(collection)
    if json and out is None:
        made, file = reported(found, cluster), None
    else:
        made, file = written_report(found, out, cluster)
    if json:
        click.echo(msgspec.json.encode(made))
        return
    print_line(stdout_console(), f"{file}")


def written_report(
    collection: CollectionSetup, out: Path | None = None, cluster: str | None = None
) -> tuple[Report, Path]:
    """The report of a collection, and the file that it was written to."""
    file = out or collection.folder / NAME
    check_report_file(file)
    made = reported(collection, cluster)
    write_report(made, file)
    return made, file


def reported(collection: CollectionSetup, cluster: str | None = None) -> Report:
    """The report of a collection as data."""
    with executor_at(cluster) as executor, _progress() as say:
        return report_of(collection, _described, say=say, on_step=lambda what: say(f"{_STEP}{what}"), executor=executor)


def _described(facts: SignalFacts) -> tuple[str, str]:
    """The name of a signal, and how far it can be trusted, as `periplus info` prints it."""
    return TELLERS[facts.kind], trust(facts)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Progress on stderr: one changing line on a terminal, the main steps elsewhere."""
    console = stderr_console()
    if not console.is_terminal:
        yield lambda what: None if what.startswith(_STEP) else print_line(console, what)
        return
    with console.status("writing the report") as status:
        yield lambda what: status.update(Text(what, style="dim"))
