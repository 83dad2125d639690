"""Makes a click command of a function, whose parameters declare arguments and options in their annotations.

    def info(
        collection: Annotated[Path, Argument(metavar="DIR", help="The folder of a collection.")],
        json: Annotated[bool, Option("--json", help="Print JSON, for programs.")] = False,
    ) -> None:
        '''Show what is known.'''

A parameter without a default is required. One that declares nothing is an argument, with a default an option. Names of
an option are made of that of the parameter where none are given. An option with a `panel` is one that a newcomer does
not need: `--help` shows the others, and `--help-all` all.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import wraps
from inspect import Parameter, cleandoc, signature
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

import click
from click.exceptions import Exit

from periplus.model.flags import PANELS

Function = TypeVar("Function", bound=Callable[..., Any])
_CONTEXT: Final = {"help_option_names": ["-h", "--help"]}
_METAVARS: Final = {str: "TEXT", int: "N", float: "X", Path: "PATH"}
"""What stands for a value that has no name of its own."""
_SHOWS_ALL: Final = "periplus.help_all"


class Option:
    """An option: its names, the bounds of its number or path, and what `--help` shows."""

    def __init__(
        self,
        *names: str,
        help: str = "",  # noqa: A002 - as click calls it
        metavar: str | None = None,
        min: float | None = None,  # noqa: A002 - as click calls it
        max: float | None = None,  # noqa: A002 - as click calls it
        exists: bool = False,
        file_okay: bool = True,
        dir_okay: bool = True,
        panel: str = "",
        **more: Any,
    ) -> None:
        """`more` is for click: `callback`, `is_eager`, `shell_complete`, `show_default`."""
        self.names, self.help, self.metavar, self.panel = names, help, metavar, panel
        self.min, self.max = min, max
        self.path = {"exists": exists, "file_okay": file_okay, "dir_okay": dir_okay}
        self.more = more

    def type(self, kind: Any) -> Any:
        """The type of click for a type of Python."""
        if get_origin(kind) is Literal:
            return click.Choice(get_args(kind))
        if issubclass(kind, Enum):
            return _EnumChoice(kind)
        if issubclass(kind, Path):
            return click.Path(**self.path, path_type=Path)
        if kind in (int, float) and (self.min, self.max) != (None, None):
            return (click.IntRange if kind is int else click.FloatRange)(self.min, self.max)  # type: ignore[arg-type]
        return kind

    def parameter(self, name: str, kind: Any, *, is_list: bool, **shared: Any) -> click.Parameter:
        """The parameter of click."""
        made = f"--{name.replace('_', '-')}"
        names = self.names or (f"{made}/--no-{made[2:]}" if kind is bool else made,)
        more = {"is_flag": True} if kind is bool else {"multiple": is_list, "type": self.type(kind)}
        more |= {"show_default": shared.get("default") != "", **self.more}
        metavar = self.metavar or _METAVARS.get(kind)
        found = click.Option([name, *names], help=self.help, metavar=metavar, **more, **shared)
        found.panel = self.panel  # type: ignore[attr-defined]
        return found


class Argument(Option):
    """An argument, which has a line in `--help`, too."""

    def parameter(self, name: str, kind: Any, *, is_list: bool, **shared: Any) -> click.Parameter:
        """The parameter of click."""
        nargs = -1 if is_list else 1
        found = _ShownArgument([name], type=self.type(kind), metavar=self.metavar, nargs=nargs, **shared)
        found.declared = self
        return found


class _ShownArgument(click.Argument):
    declared: Argument

    def make_metavar(self, ctx: click.Context) -> str:
        """Its name as the line of usage shows it: in brackets where it may be left out."""
        name = super().make_metavar(ctx)
        if self.metavar is None:
            return name
        several = "..." if self.nargs != 1 and not name.endswith("...") else ""
        return f"{name if self.required else f'[{name}]'}{several}"

    def get_error_hint(self, ctx: click.Context | None) -> str:  # noqa: ARG002 - the interface has it
        """Its name in errors."""
        return f"'{self.human_readable_name}'"

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Its name, and what it is."""
        given = click.Option(["--x"], help=self.declared.help, type=self.type, required=self.required)
        record = given.get_help_record(ctx)
        return self.human_readable_name, record[1] if record else ""


class _EnumChoice(click.Choice[str]):
    """The values of an enumeration."""

    def __init__(self, kind: type[Enum]) -> None:
        super().__init__([each.value for each in kind])
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The member with a value."""
        return self.kind(super().convert(value, param, ctx))


class Command(click.Command):
    """A command whose further options are shown by `--help-all`."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments and options, panel by panel."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if isinstance(each, click.Argument) else "Options"
                panels.setdefault(getattr(each, "panel", "") or usual, []).append(record)
        hides = any(each.name == "help_all" for each in self.params) and not ctx.meta.get(_SHOWS_ALL)
        left_out = sum(len(panels.pop(name)) for name in PANELS if hides and name in panels)
        for name, records in panels.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)
        if left_out:
            formatter.write_paragraph()
            formatter.write_text(f"{left_out} more options: {ctx.command_path} --help-all")


class CommandGroup(click.Group):
    """Commands, listed in their order with the whole first line of each."""

    def __init__(self, name: str, help: str = "", **attributes: Any) -> None:  # noqa: A002 - as click calls it
        super().__init__(name, help=help, context_settings=_CONTEXT, **attributes)

    def verb(self, function: Function) -> Function:
        """Add a function as a command."""
        self.add_command(command_of(function))
        return function

    def alone(self, function: Function) -> Function:
        """Call a function before a command of the group, and without one."""
        of_function = command_of(function)
        self.callback, self.params, self.help = of_function.callback, of_function.params, of_function.help
        self.invoke_without_command, self.no_args_is_help = True, False
        return function

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - the interface has it
        """The names of the commands."""
        return list(self.commands)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then the commands."""
        Command.format_options(self, ctx, formatter)  # type: ignore[arg-type]
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, (each.help or "").partition("\n\n")[0]) for name, each in self.commands.items()])


def command_of(function: Any, name: str | None = None, kind: type[click.Command] = Command) -> click.Command:
    """The command of a function."""
    if isinstance(function, click.Command):
        return function
    hints = get_type_hints(function, include_extras=True)
    declared = {
        each.name: (each.default, hints[each.name] if isinstance(each.annotation, str) else each.annotation)
        for each in signature(function).parameters.values()
        if each.kind is not Parameter.VAR_KEYWORD
    }

    @wraps(function)
    def call(**given: Any) -> Any:
        return function(**{name: _value(value, declared[name][0]) for name, value in given.items()})

    return kind(
        name or function.__name__.replace("_", "-"),
        callback=call,
        params=[_parameter(name, *each) for name, each in declared.items()],
        help=cleandoc(function.__doc__ or ""),
        context_settings=_CONTEXT,
    )


def _value(given: Any, default: Any) -> Any:
    """What a function gets: lists, and its default where nothing was typed."""
    return (list(given) or default) if isinstance(given, tuple) else given


def _parameter(name: str, default: Any, annotation: Any) -> click.Parameter:
    plain = Argument() if default is Parameter.empty else Option()
    kind, declared = get_args(annotation) if get_origin(annotation) is Annotated else (annotation, plain)
    if NoneType in get_args(kind):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    is_list = get_origin(kind) is list
    is_required = default is Parameter.empty
    default = default.value if isinstance(default, Enum) else default
    return declared.parameter(  # type: ignore[no-any-return]
        name,
        get_args(kind)[0] if is_list else kind,
        is_list=is_list,
        required=is_required,
        **({} if is_required else {"default": default}),
    )


def _show_all(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        ctx.meta[_SHOWS_ALL] = True
        click.echo(ctx.get_help())
        raise Exit


def whole_help(app: click.Group, name: str) -> str:
    """What `--help-all` of a command prints."""
    parent = click.Context(app, info_name=app.name)
    command = app.get_command(parent, name) or app
    context = click.Context(command, info_name=name, parent=parent)
    context.meta[_SHOWS_ALL] = True
    return command.get_help(context)


HelpAll = Annotated[bool, Option("--help-all", callback=_show_all, is_eager=True, help="Show all options and exit.")]
