"""Plain arguments of a command, read from its declaration without Typer.

Typer makes a validator of every parameter with pydantic, which nothing else needs here, and which takes long to load.
`plain_values` reads the usual arguments of a command: texts, numbers, paths and switches. Anything else (`--help`, a
mistake, a value with rules of its own) is left to Typer, which explains it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from pathlib import Path
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo

_READ: Final[dict[Any, Callable[[str], Any]]] = {str: str, int: int, Path: Path}
"""What makes a value of a text, for each type that is plain."""


class _Parameter:
    """A parameter of a command: where its values go, and how they are read."""

    def __init__(self, name: str, default: Any, annotation: Any) -> None:
        """`annotation` is `Annotated[type, declaration]`."""
        given, self.info = get_args(annotation)
        kind = next(each for each in (*(get_args(given) if NoneType in get_args(given) else ()), given) if each)
        self.name = name
        self.is_list = get_origin(kind) is list
        self.kind = get_args(kind)[0] if self.is_list else kind
        self.is_argument = isinstance(self.info, ArgumentInfo)
        self.is_needed = default is Parameter.empty
        self.default = default

    @property
    def switches(self) -> dict[str, bool | None]:
        """Its options, and what they say of a switch: `--diff/--no-diff` are two."""
        if self.is_argument:
            return {}
        is_switch = self.kind is bool
        names = (self.info.default, *(self.info.param_decls or ()))  # of an annotation, the first one is a name
        sides = [name.partition("/")[::2] for name in names if isinstance(name, str)]
        found: dict[str, bool | None] = {yes: True if is_switch else None for yes, _ in sides}
        return found | {no: False for _, no in sides if no}

    def read(self, text: str) -> Any:
        """The value of a text. Raises `ValueError` if only Typer can say what is wrong with it."""
        info, value = self.info, _READ[self.kind](text)
        if any(getattr(info, rule, None) for rule in ("callback", "parser", "click_type", "exists", "resolve_path")):
            raise ValueError(text)
        if isinstance(value, int) and not (text.isdecimal() and (info.min or 0) <= value <= (info.max or value)):
            raise ValueError(text)
        return value


def plain_values(command: Callable[..., None], args: Sequence[str]) -> dict[str, Any] | None:
    """The values of a command's parameters; `None` if the arguments are not all plain."""
    hints = get_type_hints(command, include_extras=True)
    found = [_Parameter(name, each.default, hints[name]) for name, each in signature(command).parameters.items()]
    options = {name: (each, value) for each in found for name, value in each.switches.items()}
    given: dict[str, list[Any]] = {}
    words: list[str] = []
    rest = iter(args)
    try:
        for arg in rest:
            if arg == "--":
                words += rest
            elif arg == "-" or not arg.startswith("-"):
                words.append(arg)
            else:
                name, has_text, text = arg.partition("=")
                option, value = options[name]
                if value is None:
                    text = text if has_text else next(rest)
                    value = None if text.startswith("-") else option.read(text)
                if value is None or (has_text and option.kind is bool):
                    return None
                given.setdefault(option.name, []).append(value)
        _share_out(words, [each for each in found if each.is_argument], given)
        return {each.name: _value(each, given.get(each.name)) for each in found}
    except (KeyError, ValueError, StopIteration):
        return None


def _share_out(words: list[str], arguments: Sequence[_Parameter], given: dict[str, list[Any]]) -> None:
    """Give every argument its words; one with several takes the rest."""
    for each in arguments:
        count = len(words) if each.is_list else 1
        if taken := words[:count]:
            given[each.name] = [each.read(word) for word in taken]
        del words[:count]
    if words:
        raise ValueError(words[0])


def _value(parameter: _Parameter, given: list[Any] | None) -> Any:
    if given is None:
        if parameter.is_needed:
            raise ValueError(parameter.name)
        return parameter.default
    return given if parameter.is_list else given[-1]
