"""The program itself: its name, the options before a command, and how it ends.

Exit codes: 0 done; 1 finished, but nothing could be done or read; 2 wrong usage or configuration; 3 the collection is
in use or damaged; 4 `audit` or `logs` found a problem that `--fail-on` names; 130 interrupted.
"""

from __future__ import annotations

import atexit
import gc
import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from keyword import iskeyword
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand

from . import INTERRUPTED
from .closed_pipe import unless_closed
from .help import CommandGroup, command_of
from .installed import ELSEWHERE, installed_command, other_commands
from .plain_arguments import plain_values
from .version import version_line

if TYPE_CHECKING:
    from periplus.model import PeriplusError

__all__ = ["INTERRUPTED", "VERBS", "app", "print_error", "run"]

VERBS = {
    "crawl": "Crawl sites into a collection, or continue a crawl.",
    "map": "List every URL a site publishes, without fetching pages.",
    "survey": "Fetch robots.txt and sitemaps of many domains, with statistics.",
    "watch": "Keep a collection fresh within a budget of visits.",
    "refresh": "Ask every page of a collection again, once; show what changed.",
    "changes": "Show what appeared, changed and vanished.",
    "info": "Show what is known of a collection, a site or a URL.",
    "export": "Export a collection: jsonl, parquet, warc, wacz, text, markdown.",
    "import": "Make a collection of WARC, ARC and WACZ files, or of seeds.",
    "repair": "Check a collection and rebuild damaged parts.",
    "trust": "Accept the private addresses and programs that a collection names.",
    "forms": "List the forms of a collection, and what submitting them brought.",
    "judge": "Find mirrors and parked domains of a collection.",
    "index": "Index a collection for searching, or update the index.",
    "search": "Search an indexed collection.",
    "serve": "Serve collections in a browser: search, pages about them, an API.",
    "mcp": "Offer collections to an agent over MCP: search, read, map, crawl.",
    "frontier": "Serve a durable frontier to other crawlers over gRPC (URLFrontier).",
    "openapi": "Print the API of serve as an OpenAPI document.",
    "query": "Query a collection in SQL.",
    "report": "Write a report on a collection: one HTML file.",
    "audit": "Check a site's metadata for its owner: findings and what to do.",
    "spam": "Judge a collection for spam, and explain the verdicts.",
    "publish": "Write honest sitemaps, archives and feeds for your own site.",
    "logs": "Show which crawlers visit your site, from its access logs.",
    "identity": "Make, replace and publish the key that signs your requests.",
    "ulinks": "List the most useful links of a site.",
    "read": "Show what is read from a sitemap, robots.txt, feed, page or log.",
    "cluster": "Change the number of shards of a collection, or restart them.",
    "simulate": "Compare policies in virtual time; reproduce published experiments.",
    "lab": "Serve a small test web on this machine.",
    "demo": "Crawl the test web and write a report: a minute, no network.",
}
"""Commands with the line that `--help` prints, in the order in which a newcomer needs them.

Each is a function or a group of that name in `cli/NAME.py` or `cli/NAME/command.py` (`import_` for the keyword), or in
a distribution of its own (`installed`), imported when it is used, and not to print this line.
"""


_PLAIN = ("info", "query", "search", "changes")
"""Commands that people run again and again on one collection, and that should start at once."""
_GARBAGE: Final = 1_000_000
"""Objects after which such a command looks for garbage: more than what it loads."""


def _imported(verb: str) -> Any:
    """The function or the group of a command."""
    name = f"{verb}_" if iskeyword(verb) else verb
    module = import_module(f"periplus.cli.{name}")
    if not hasattr(module, name):  # a package, which other commands may use without loading this one
        module = import_module(f"periplus.cli.{name}.command")
    return getattr(module, name)


def _run_plainly(args: Sequence[str]) -> None:
    """Run a command with plain arguments, and exit. All others are for Typer, which takes a while to load."""
    if not args or args[0] not in _PLAIN:
        return
    gc.set_threshold(_GARBAGE)
    atexit.register(_leave)
    found = _imported(args[0])
    command: Any = found.registered_commands[0].callback if isinstance(found, typer.Typer) else found
    values = plain_values(command, args[1:])
    if values is None:
        return
    try:
        with unless_closed():
            command(**values)
            sys.stdout.flush()
    except typer.Exit as end:
        sys.exit(end.exit_code)
    sys.exit(0)


def _leave() -> None:
    """Spare the interpreter its last search for garbage, which takes long; DuckDB complains of what is left then."""
    if "duckdb" not in sys.modules:
        gc.freeze()


class Verbs(CommandGroup):
    """Imports a command when it is used."""

    def __init__(self, **attributes: Any) -> None:
        """Enter the names and help lines of the commands, for `--help` and the suggestions after a mistyped name."""
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name=name, help=line) for name, line in VERBS.items()}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the interface has it
        """Import and return a command; `None` if there is no such command."""
        if cmd_name in VERBS and cmd_name not in ELSEWHERE:
            return command_of(_imported(cmd_name), cmd_name)
        return installed_command(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands, then those of installed packages."""
        super().format_commands(ctx, formatter)
        if others := other_commands(VERBS):
            with formatter.section("Commands of installed packages"):
                formatter.write_dl(others)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; end quietly if the program that reads stdout has ended."""
        with unless_closed():
            result = super().invoke(ctx)
            sys.stdout.flush()
        return result


app = typer.Typer(
    cls=Verbs,
    name="periplus",
    help="A search engine's crawler that one person can run.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(version_line())
        raise typer.Exit


@app.callback()
def _before_any_verb(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and which page scanner is used."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when the program fails.")] = False,
) -> None:
    """Define the options before the command; `run` looks for `--debug` itself, after the command has failed."""


def run() -> None:
    """Run the program, and end with one line and the right exit code when it fails."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may not have every character of the web
    warnings = logging.StreamHandler(sys.stderr)
    warnings.setFormatter(logging.Formatter("warning: %(message)s"))
    logging.getLogger("periplus").addHandler(warnings)
    gc.enable()
    try:
        _run_plainly(sys.argv[1:])
        app()
    except Exception as error:
        if "--debug" in sys.argv[1:]:
            raise
        known = _known(error)
        print_error(known)
        sys.exit(known.exit_code)
    finally:
        logging.getLogger("periplus").removeHandler(warnings)


def _known(error: Exception) -> PeriplusError:
    """Return the error itself if it is one of ours; else a bug, or trouble with the disk or the machine."""
    from periplus.model import CollectionError, PeriplusError

    if isinstance(error, PeriplusError):
        return error
    if isinstance(error, OSError):
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        return CollectionError(what, hint="Fix this and run the same command again: everything stored is safe")
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return PeriplusError(
        f"internal error: {message}", hint="Run the same command with periplus --debug and report the traceback"
    )


def print_error(error: PeriplusError) -> None:
    """Print what is wrong and the next step on stderr."""
    from rich.text import Text

    from .consoles import stderr_console

    console = stderr_console()
    console.print(Text("error: ", style="bold red") + Text(str(error)), soft_wrap=True)
    if error.hint:
        console.print(Text(f"  {error.hint}"), soft_wrap=True)
