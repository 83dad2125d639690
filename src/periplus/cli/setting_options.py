"""The options of a command that settings declare on their fields, and `--set` for any other setting.

@takes_settings("map")
def map(site: Site, *, json: options.Json = False, **given: Any) -> None:
    asked = typed_settings("map", given)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

from periplus.collection.options import SettingOption, asked_settings, assigned_settings, options_of
from periplus.model.flags import HOW

from .commands import HelpAll, Option

Command = TypeVar("Command", bound=Callable[..., Any])


def takes_settings(verb: str) -> Callable[[Command], Command]:
    """Give a command the options of its settings, between its arguments and its other options (the keyword-only ones).

    The command gets them as `**given`.
    """

    def decorate(command: Command) -> Command:
        hints = get_type_hints(command, include_extras=True)
        own = [each.replace(annotation=hints[each.name]) for each in signature(command).parameters.values()]
        first = [each for each in own if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
        last = [each for each in own if each.kind is Parameter.KEYWORD_ONLY]
        options = options_of(verb)
        made = [_parameter(option.keyword, _type(option), _option(option), option.flag.default) for option in options]
        is_last = HOW if any(option.flag.panel == HOW for option in options) else None
        made.append(_parameter("set_", list[str], _set(is_last), None))
        if any(option.flag.panel for option in options):
            last.append(Parameter("help_all", Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll))
        command.__dict__["__signature__"] = Signature([*first, *made, *last])
        return command

    return decorate


def typed_settings(verb: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a person typed."""
    flags = {name: value for name, value in given.items() if name not in ("set_", "help_all")}
    return asked_settings(verb, flags, assigned_settings(given["set_"]))


def _parameter(name: str, kind: Any, option: Any, default: int | str | None) -> Parameter:
    whole = kind if default is not None else kind | None
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[whole, option])


def _type(option: SettingOption) -> Any:
    """What the command line makes of the text after an option."""
    if option.is_switch:
        return bool
    if option.is_list:
        return list[str]
    if option.is_path:
        return Path
    if option.flag.choices:
        return Literal[tuple(map(str, option.flag.choices))]
    return str if option.is_text else option.type


def _option(option: SettingOption) -> Any:
    flag = option.flag
    return Option(
        flag.name,
        metavar=flag.metavar,
        min=flag.least,
        max=flag.most,
        exists=option.is_path,
        file_okay=flag.metavar != "DIR",
        dir_okay=flag.metavar != "FILE",
        panel=flag.panel,
        help=flag.help,
    )


def _set(panel: str | None) -> Any:
    return Option(
        "--set",
        metavar="TABLE.KEY=VALUE",
        panel=panel or "",
        help="Give any setting, as in periplus.toml: politeness.slow_factor=0. May be repeated.",
    )
