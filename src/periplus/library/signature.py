"""The signature and docstring of a function whose keywords settings declare on their fields."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, TypeVar

from periplus.collection.options import options_of

Function = TypeVar("Function", bound=Callable[..., Any])


def takes_settings(verb: str, keywords: type) -> Callable[[Function], Function]:
    """Show the keywords of a function's settings in its signature, in place of `**options`, and explain them.

    `keywords` is the `TypedDict` with their types.
    """

    def decorate(function: Function) -> Function:
        given = signature(function)
        *own, _options = given.parameters.values()
        made = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in keywords.__annotations__.items()
        ]
        function.__dict__["__signature__"] = given.replace(parameters=[*own, *made])
        lines = [f"    {option.keyword}: {option.flag.help}" for option in options_of(verb)]
        function.__doc__ = f"{function.__doc__}\n" + "\n".join(lines) + "\n    "
        return function

    return decorate
