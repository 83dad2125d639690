"""The program itself: its name, its options before any verb, and how it ends.

Exit codes: 0 done; 1 finished, but nothing could be done or read; 2 wrong usage or configuration; 3 the collection is
in use or damaged; 4 an audit found what it was told to fail on; 130 interrupted.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from periplus import __version__
from periplus.model import CollectionError, PeriplusError

INTERRUPTED = 130
VERBS = (
    "crawl",
    "map",
    "survey",
    "watch",
    "refresh",
    "changes",
    "info",
    "export",
    "repair",
    "query",
    "report",
    "audit",
    "ulinks",
    "read",
    "cluster",
    "simulate",
    "lab",
    "demo",
)
"""Each is a function of that name in a file of that name, or a group of verbs."""


class NoPandas(MetaPathFinder):
    """Hides pandas from pyarrow, which imports it for its first array if it is installed.

    The program never uses pandas, which takes 50 MB and a third of a second.
    """

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> None:  # noqa: ARG002
        """Not found, if it is pandas; otherwise for other finders to say."""
        if fullname == "pandas":
            raise ModuleNotFoundError("periplus does not use pandas", name=fullname)


class Verbs(TyperGroup):
    """Loads a verb when it is typed: who reads a sitemap need not wait for the crawl to be imported."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the interface has it
        """In the order in which a newcomer wants to see them."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the interface has it
        """The verb of that name; `None` if there is none."""
        if cmd_name not in VERBS:
            return None
        found = getattr(import_module(f"periplus.cli.{cmd_name}"), cmd_name)
        if isinstance(found, typer.Typer):
            return typer.main.get_command(found)
        alone = typer.Typer(add_completion=False)
        alone.command(name=cmd_name)(found)
        return typer.main.get_command(alone)


app = typer.Typer(
    cls=Verbs,
    name="periplus",
    help="A search engine's crawler that one person can run.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"periplus {__version__}, pages read by the {_scanner()} scanner")
        raise typer.Exit


def _scanner() -> str:
    """What `content.scan.READER` would be, without the imports that reading pages needs."""
    folder = Path(__file__).parents[1] / "content" / "scan"
    is_built = PathFinder.find_spec("_native", [str(folder)]) is not None
    return "native" if is_built and os.environ.get("PERIPLUS_PURE") != "1" else "python"


@app.callback()
def _before_any_verb(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and which page scanner is used."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something of ours fails.")] = False,
) -> None:
    """Options that stand before the verb; `main` looks for `--debug` itself, because it outlives the verb."""


def main() -> None:
    """Run the program, and end it with one line and the right exit code when something of ours fails."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may not know all letters of the web
    warnings = logging.StreamHandler(sys.stderr)
    warnings.setFormatter(logging.Formatter("warning: %(message)s"))
    logging.getLogger("periplus").addHandler(warnings)
    no_pandas = NoPandas()
    sys.meta_path.insert(0, no_pandas)
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if "--debug" in sys.argv[1:]:
            raise
        known = error if isinstance(error, PeriplusError) else _bug(error)
        say_error(known)
        sys.exit(known.exit_code)
    finally:
        sys.meta_path.remove(no_pandas)
        logging.getLogger("periplus").removeHandler(warnings)


def _bug(error: Exception) -> PeriplusError:
    """What nobody foresaw: a bug, or a disk or machine in trouble."""
    if isinstance(error, OSError):
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        return CollectionError(what, hint="mend that and type the same again: what was kept is safe")
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return PeriplusError(
        f"a bug of ours: {said}", hint="periplus --debug and the same again shows where; please tell us"
    )


def say_error(error: PeriplusError) -> None:
    """What is wrong and what to type next, on stderr."""
    console = Console(stderr=True)
    console.print(Text("error: ", style="bold red") + Text(str(error)), soft_wrap=True)
    if error.hint:
        console.print(Text(f"  {error.hint}"), soft_wrap=True)
