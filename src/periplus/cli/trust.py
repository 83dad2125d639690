"""`periplus trust`: accept the settings of a collection that somebody else made, or that were edited by hand."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import click
from click.exceptions import Exit
from rich.text import Text

from periplus.collection.collection import existing
from periplus.collection.config.settings import Config
from periplus.collection.config.toml_files import written
from periplus.collection.trust import personal, sign
from periplus.model import UsageError
from periplus.store.layout import Layout
from periplus.view.terminal import print_line

from . import NOTHING_FETCHED, options
from .commands import Option
from .consoles import stdout_console

Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask.")]


def trust(collection: options.Collected, yes: Yes = False) -> None:
    """Show which private addresses, programs and files a collection's settings name, and accept them.

    Needed once for a collection from another machine or person, and after such a setting was edited by hand.

    Example: periplus trust docs
    """
    found = existing(collection)
    config = Config.load(Layout(collection).settings)
    console = stdout_console()
    if not found.untrusted:
        console.print(Text("nothing to accept: later commands take the settings as they are"))
        return
    for name, value in personal(config, collection).items():
        print_line(console, f"  {name} = {written(value)}")
    if not yes:
        _ask(str(collection))
    if not sign(config, collection):
        raise Exit(NOTHING_FETCHED)
    console.print(Text("accepted"))


def _ask(name: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            "there is no terminal to ask on", hint=f"periplus trust {shlex.quote(name)} --yes accepts these"
        )
    if not click.confirm("Accept these settings?"):
        raise Exit(NOTHING_FETCHED)
