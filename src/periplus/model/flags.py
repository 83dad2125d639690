"""How a setting is given, and read: its flags are declared on its field, beside type, default and explanation.

    limit: Annotated[int, Flag("--limit", metavar="PAGES", least=1, help="Maximum pages to fetch in all.")] = 0

`collection.options` makes of it the options of commands and the keywords of the library. A setting whose option differs
from command to command has several flags.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct

Tables = TypeVar("Tables", bound=Struct)

FAR: Final = "How far"
HOW: Final = "How it is done and shown"
PANELS: Final = ("", FAR, HOW)
"""The panels of `--help-all`, in their order. `--help` shows only the options of the first, which newcomers need."""

CRAWL: Final = ("crawl",)
REQUESTS: Final = ("crawl", "map", "survey", "audit", "ulinks")
"""The commands that send requests to sites which a person names."""


class Flag(Struct, frozen=True):
    """An option of the commands `verbs` that gives a setting.

    `metavar` says what is typed: TIME is a duration, SIZE a number of bytes, FILE and DIR are paths that must exist;
    anything else is a value of the setting's type. A name `--x/--no-x` is a switch. `choices` are the allowed values,
    `values` the two of a switch whose setting is not a boolean. With a `separator`, one text may hold several values.
    `least` and `most` are the bounds of a number, `default` is the value without the option.
    """

    name: str
    help: str
    metavar: str | None = None
    panel: str = ""
    verbs: tuple[str, ...] = CRAWL
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    values: tuple[str, str] | None = None
    separator: str = ""
    default: int | str | None = None


class Personal(Struct, frozen=True):
    """Marks a setting that only the person who runs Periplus may give (`collection.trust`).

    It opens an address, runs a program, or names a place outside of the collection. With `or_inside` it names a file,
    and needs no person if the file is in the collection.
    """

    or_inside: bool = False


PERSONAL: Final = Personal()


class ForAgents(Struct, frozen=True):
    """Marks a setting that agents may set, over MCP and REST: it opens nothing and makes no crawl less polite."""


FOR_AGENTS: Final = ForAgents()


class Settings(Protocol):
    """Every setting of a crawl, for code that knows only some of their tables."""

    def some(self, kind: type[Tables]) -> Tables:
        """The tables that a struct has as its fields."""

    def value(self, name: str) -> Any:
        """One setting, by its name: `table.key`."""
