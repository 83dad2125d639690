"""What `--help` prints: plain text in which no name of an option is cut and no bracket is read as markup.

An option without a panel of `model.flags` is one that a newcomer needs. `--help` shows these, and `--help-all` the
others too.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

_SHOWS_ALL: Final = "periplus.help_all"


def _show_all(ctx: typer.Context, asked: bool) -> None:
    if asked:
        ctx.meta[_SHOWS_ALL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option("--help-all", callback=_show_all, is_eager=True, help="Show all options and exit."),
]


class Command(TyperCommand):
    """A command whose further options are shown by `--help-all`."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options, panel by panel."""
        from periplus.model.flags import PANELS  # the list of all commands needs none of the rooms

        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if each.param_type_name == "argument" else "Options"
                panels.setdefault(getattr(each, "rich_help_panel", None) or usual, []).append(record)
        hides = any(each.name == "help_all" for each in self.params) and not ctx.meta.get(_SHOWS_ALL)
        further = [name for name in PANELS if hides and name in panels]
        left_out = sum(len(panels.pop(name)) for name in further)
        for name, records in panels.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)
        if left_out:
            formatter.write_paragraph()
            formatter.write_text(f"{left_out} more options: {ctx.command_path} --help-all")


class CommandGroup(TyperGroup):
    """Commands, listed with the whole first line of each."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the interface has it
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, (each.help or "").partition("\n\n")[0]) for name, each in self.commands.items()])


def command_of(found: Any, name: str) -> Any:
    """Make a command of a function, or of a `Typer` with one or several."""
    made = found
    if not isinstance(found, typer.Typer):
        made = typer.Typer(add_completion=False)
        made.command(name=name)(found)
    made.rich_markup_mode = None
    made.info.cls = CommandGroup
    for each in made.registered_commands:
        each.cls = Command if each.cls is TyperCommand else each.cls
    return typer.main.get_command(made)
