"""Settings as people and programs give them: by flags, by keywords, and each by its name.

A setting declares its flags on its field (`model.flags`). From these come the options of a command (`--limit`), the
keywords of a function (`limit=`), and what is asked of the settings. Any other setting is given by its name:
`--set politeness.slow_factor=0`, `settings={"politeness.slow_factor": 0}`. `None` leaves a setting as it is in the
collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from keyword import iskeyword
from pathlib import Path
from typing import Any, Final, get_origin

from msgspec import Struct

from periplus.engine.sitemaps import settings as of_sitemaps
from periplus.model import UsageError
from periplus.model.flags import FOR_AGENTS, PANELS, Flag
from periplus.parts.focus import settings as of_focus
from periplus.parts.targets import settings as of_targets

from .config.fields import all_settings
from .config.settings import Config
from .config.toml_files import read_assignments, read_settings
from .typed_values import addresses, byte_count, duration, several

_PATHS: Final = ("FILE", "DIR")


class SettingOption(Struct, frozen=True):
    """An option of a command, and the setting that it gives, as `table.key`. `type` is that of the setting."""

    setting: str
    type: Any
    flag: Flag

    @property
    def keyword(self) -> str:
        """Its name in Python: `for_` of `--for`."""
        name = self.flag.name.partition("/")[0].lstrip("-").replace("-", "_")
        return f"{name}_" if iskeyword(name) else name

    @property
    def is_switch(self) -> bool:
        """Whether it is given without a value."""
        return self.type is bool or self.flag.values is not None

    @property
    def is_list(self) -> bool:
        """Whether it may be repeated."""
        return get_origin(self.type) in (tuple, dict)

    @property
    def is_path(self) -> bool:
        """Whether it names a file or folder."""
        return self.flag.metavar in _PATHS

    @property
    def is_text(self) -> bool:
        """Whether people type a number as a text: a duration or a size."""
        return self.flag.metavar in ("TIME", "SIZE")

    def value(self, given: Any) -> object:
        """The value of the setting; `None` if there is none."""
        name = self.flag.name
        if given is None:
            return None
        if self.flag.values is not None:
            return self.flag.values[0] if given else self.flag.values[1]
        if get_origin(self.type) is dict:
            return addresses(given)
        if self.is_list:
            return several(name, given, self.flag.separator)
        if self.is_path:
            return str(Path(given).resolve()) if given else None
        if isinstance(given, str) and self.type in (int, float):
            return duration(name, given) if self.type is float else byte_count(name, given)
        return given


@cache
def options_of(verb: str) -> tuple[SettingOption, ...]:
    """The options that settings declare for a command, by the panels of its help and in the order of the settings."""
    found = [
        SettingOption(name, field.type, note)
        for name, field in all_settings(Config).items()
        for note in field.notes
        if isinstance(note, Flag) and verb in note.verbs
    ]
    return tuple(sorted(found, key=lambda option: PANELS.index(option.flag.panel)))


def agents_settings() -> tuple[str, ...]:
    """The settings that agents may set."""
    return tuple(name for name, field in all_settings(Config).items() if FOR_AGENTS in field.notes)


def asked_settings(
    verb: str, given: Mapping[str, object], settings: Mapping[str, object] | None = None
) -> dict[str, object]:
    """The settings that the options of a command ask for, by keyword; and over them `settings`, by name."""
    options = options_of(verb)
    unknown = given.keys() - {option.keyword for option in options}
    if unknown:
        raise TypeError(f"{verb}() got an unexpected keyword argument {min(unknown)!r}")
    found = {option.setting: option.value(given.get(option.keyword)) for option in options}
    found = {name: value for name, value in found.items() if value is not None}
    return found | of_focus.implied(found) | of_sitemaps.implied(found) | named_settings(settings)


def with_implied_when_new(config: Config, options: Mapping[str, object]) -> Config:
    """The settings of a new collection: with those that options of parts imply only there.

    A collection that was begun with others cannot be continued with these. Only defaults are replaced.
    """
    plain = Config()
    implied = of_targets.implied_when_new(options).items()
    free = {name: value for name, value in implied if config.value(name) == plain.value(name)}
    return config.with_options(free)


def named_settings(settings: Mapping[str, object] | None) -> dict[str, object]:
    """Settings by their names, checked as those of a file are."""
    return read_settings(Config(), settings or {}, "settings")


def assigned_settings(texts: Sequence[str] | None) -> dict[str, object]:
    """The settings of `--set TABLE.KEY=VALUE`, checked as those of a file are."""
    return read_assignments(Config(), texts or (), "--set")


def with_fixed(asked: Mapping[str, object], fixed: Mapping[str, object], verb: str) -> dict[str, object]:
    """The settings with those that make a command what it is. Raises `UsageError` if one was asked to be another."""
    for name, value in fixed.items():
        if asked.get(name, value) != value:
            raise UsageError(f"{name} is {value!r} in periplus {verb}", hint=f"leave {name} out")
    return {**asked, **fixed}
