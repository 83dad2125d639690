"""The program itself: its name, the options before a command, and how it ends.

Exit codes: 0 done; 1 finished, but nothing could be done or read; 2 wrong usage or configuration; 3 the collection is
in use or damaged; 4 `audit` or `logs` found a problem that `--fail-on` names; 130 interrupted.
"""

from __future__ import annotations

import atexit
import gc
import logging
import os
import sys
from importlib import import_module
from io import TextIOWrapper
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import click
from click.exceptions import Exit

from . import INTERRUPTED
from .closed_pipe import unless_closed
from .commands import CommandGroup, Option, command_of
from .installed import ELSEWHERE, installed_command
from .verbs import VERBS, overview
from .version import version_line

if TYPE_CHECKING:
    from periplus.model import PeriplusError

__all__ = ["INTERRUPTED", "VERBS", "app", "print_error", "run"]

_SHORT = ("info", "query", "search", "changes")
"""Commands that people run again and again on one collection, and that should end at once."""
_GARBAGE: Final = 1_000_000
"""Objects after which such a command looks for garbage: more than what it loads."""
_COMPLETION: Final = {
    "bash": ("~/.bashrc", 'eval "$(_PERIPLUS_COMPLETE=bash_source periplus)"'),
    "zsh": ("~/.zshrc", 'eval "$(_PERIPLUS_COMPLETE=zsh_source periplus)"'),
    "fish": ("~/.config/fish/completions/periplus.fish", "_PERIPLUS_COMPLETE=fish_source periplus | source"),
}
"""Shells with the file and the line that make them complete commands."""


def _imported(verb: str) -> Any:
    """The function or the group of a command."""
    name = f"{verb}_" if iskeyword(verb) else verb
    module = import_module(f"periplus.cli.{name}")
    if not hasattr(module, name):  # a package, which other commands may use without loading this one
        module = import_module(f"periplus.cli.{name}.command")
    return getattr(module, name)


def _leave() -> None:
    """Spare the interpreter its last search for garbage, which takes long; DuckDB complains of what is left then."""
    if "duckdb" not in sys.modules:
        gc.freeze()


class Verbs(CommandGroup):
    """Imports a command when it is used."""

    def __init__(self, **attributes: Any) -> None:
        """Enter the names of the commands, for completion and the suggestions after a mistyped name."""
        super().__init__("periplus", **attributes)
        self.commands = {name: click.Command(name, help=line) for name, line in VERBS.items()}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return a command; `None` if there is no such command."""
        if cmd_name in VERBS and cmd_name not in ELSEWHERE:
            return command_of(_imported(cmd_name), cmd_name)
        return installed_command(cmd_name)  # type: ignore[no-any-return]

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002
        """The commands by kinds of work."""
        return overview().rstrip("\n")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; end quietly if the program that reads stdout has ended."""
        try:
            with unless_closed():
                result = super().invoke(ctx)
                sys.stdout.flush()
        except KeyboardInterrupt:
            raise Exit(INTERRUPTED) from None
        return result


def _show_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(version_line())
        ctx.exit()


def _complete(ctx: click.Context, option: click.Parameter, asked: bool) -> None:
    """Print what completes commands in the user's shell, or add it to the file that the shell reads."""
    if not asked:
        return
    shell = Path(os.environ.get("SHELL", "bash")).name
    if shell not in _COMPLETION:
        raise click.UsageError(f"no completion for {shell}: there is one for {', '.join(_COMPLETION)}")
    file, line = _COMPLETION[shell]
    path = Path(file).expanduser()
    if option.name == "show_completion":
        click.echo(line)
    elif not (path.is_file() and line in path.read_text()):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as opened:
            opened.write(f"\n{line}\n")
        click.echo(f"{path}: done; open a new terminal")
    ctx.exit()


def periplus(
    version: Annotated[bool, Option("--version", callback=_show_version, is_eager=True)] = False,
    debug: Annotated[bool, Option("--debug")] = False,
    install_completion: Annotated[bool, Option("--install-completion", callback=_complete, is_eager=True)] = False,
    show_completion: Annotated[bool, Option("--show-completion", callback=_complete, is_eager=True)] = False,
) -> None:
    """Define the options before the command; `run` looks for `--debug` itself, after the command has failed."""


app = Verbs(params=command_of(periplus).params)


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
        if sys.argv[1:2] and sys.argv[1] in _SHORT:
            gc.set_threshold(_GARBAGE)
            atexit.register(_leave)
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
