"""Commands of other distributions: entry points of the group `periplus.commands`.

An entry point is a function with annotated parameters, or a command of click; its name is the word that people type.
Words of the crawler itself cannot be taken, but for those in `ELSEWHERE`, which our own distributions bring.
"""

from __future__ import annotations

from collections.abc import Container
from importlib.metadata import entry_points
from typing import Any, Final

GROUP: Final = "periplus.commands"
ELSEWHERE: Final = {
    "demo": "lab",
    "lab": "lab",
    "simulate": "lab",
    "publish": "sites",
    "logs": "sites",
    "frontier": "bridges/urlfrontier",
}
"""Commands of the distributions of this repository, and the folder of each."""


def installed_command(name: str) -> Any:
    """The command of an installed distribution; `None` if there is none of this name."""
    from periplus.model import ConfigError, UsageError

    from .commands import command_of  # not needed to list the commands

    offered = entry_points(group=GROUP)
    if name in offered.names:
        try:
            return command_of(offered[name].load(), name)
        except Exception as error:  # whatever the module raises while it is imported
            raise ConfigError(
                f"the command {name!r} of an installed package cannot be loaded: {type(error).__name__}: {error}",
                hint="reinstall the package that offers it",
            ) from error
    if folder := ELSEWHERE.get(name):
        package = f"periplus-{folder.rpartition('/')[2]}"
        raise UsageError(
            f"periplus {name} is in a package of its own, {package}, which is not installed",
            hint=f"pip install {package}, or in a clone of the repository: pip install . ./{folder}",
        )
    return None


def other_commands(known: Container[str]) -> list[tuple[str, str]]:
    """Installed commands that are not `known`, each with the line that describes it."""
    names = sorted(name for name in entry_points(group=GROUP).names if name not in known)
    return [(name, _line(name)) for name in names]


def _line(name: str) -> str:
    from periplus.model import ConfigError

    try:
        return (installed_command(name).help or "").partition("\n")[0]
    except ConfigError as error:
        return str(error)
