"""Settings as people and programs give them: by flags, by keywords, and each by its name.

A setting declares its flags on its field (`model.flags`). From these come the options of a command (`--limit`), the
keywords of a function (`limit=`), and what is asked of the settings. Any other setting is given by its name:
`--set politeness.slow_factor=0`, `settings={"politeness.slow_factor": 0}`. `None` leaves a setting as it is in the
collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from keyword import iskeyword
from pathlib import Path
from typing import Any, Final, get_origin

from msgspec import Struct

from periplus.model import ConfigError, UsageError
from periplus.model.flags import PANELS, Flag, ForAgents

from .config.fields import parse_duration, parse_size, settings_of
from .config.settings import Config
from .config.toml_files import read_assignments, read_settings

FOCUSED: Final = "focused"
"""The ordering of a crawl with a topic, unless another is asked for."""
_PATHS: Final = ("FILE", "DIR")


class Option(Struct, frozen=True):
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
        if self.type is float:
            return duration(name, given)
        if self.type is int:
            return byte_count(name, given)
        return given


@cache
def options_of(verb: str) -> tuple[Option, ...]:
    """The options that settings declare for a command, by the panels of its help and in the order of the settings."""
    found = [
        Option(f"{table}.{name}", field.type, note)
        for table, room in settings_of(Config).items()
        for name, field in settings_of(room.type).items()
        for note in field.notes
        if isinstance(note, Flag) and verb in note.verbs
    ]
    return tuple(sorted(found, key=lambda option: PANELS.index(option.flag.panel)))


def agents_settings() -> tuple[str, ...]:
    """The settings that agents may set."""
    return tuple(
        f"{table}.{name}"
        for table, room in settings_of(Config).items()
        for name, field in settings_of(room.type).items()
        if any(isinstance(note, ForAgents) for note in field.notes)
    )


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
    return found | _implied(found) | named_settings(settings)


def _implied(asked: Mapping[str, object]) -> dict[str, object]:
    """What some options ask for besides their own settings."""
    implied: dict[str, object] = {}
    if any(asked.get(name) for name in ("topic.words", "topic.like", "topic.program")):
        implied["crawl.ordering"] = asked.get("crawl.ordering") or FOCUSED
        implied["sitemaps.follow"] = asked.get("sitemaps.follow", False)
    if asked.get("topic.like") or asked.get("topic.unlike"):
        implied["topic.examples"] = 0
    if asked.get("sitemaps.submitted"):
        implied["sitemaps.follow"] = True
    return implied


def named_settings(settings: Mapping[str, object] | None, source: str = "settings") -> dict[str, object]:
    """Settings by their names, checked as those of a file are."""
    return read_settings(Config(), settings or {}, source)


def assigned_settings(texts: Sequence[str] | None) -> dict[str, object]:
    """The settings of `--set TABLE.KEY=VALUE`, checked as those of a file are."""
    return read_assignments(Config(), texts or (), "--set")


def with_fixed(asked: Mapping[str, object], fixed: Mapping[str, object], verb: str) -> dict[str, object]:
    """The settings with those that make a command what it is. Raises `UsageError` if one was asked to be another."""
    for name, value in fixed.items():
        if asked.get(name, value) != value:
            raise UsageError(f"{name} is {value!r} in periplus {verb}", hint=f"leave {name} out")
    return {**asked, **fixed}


def several(option: str, values: str | Iterable[str] | None, separator: str = "") -> list[str] | None:
    """The values of an option that may be repeated; a single text is one value, or several with a separator between."""
    if not values:
        return None
    if not isinstance(values, Iterable):
        raise UsageError(f"{option}: expected a text or a list of texts, got {values!r}")
    texts = [values] if isinstance(values, str) else list(values)
    if separator:
        texts = [one.strip() for text in texts for one in text.split(separator) if one.strip()]
    return texts or None


def duration(option: str, value: str | float | None) -> float | None:
    """A length of time in seconds; a text such as `1h30m` is read as it is on the command line."""
    if value is None or isinstance(value, int | float):
        return value
    try:
        return parse_duration(value)
    except ConfigError as error:
        raise UsageError(f"{option}: {error}", hint=error.hint) from error


def byte_count(option: str, value: str | int | None) -> int | None:
    """A number of bytes; a text such as `10MB` is read as it is on the command line."""
    if value is None or isinstance(value, int):
        return value
    try:
        return parse_size(value)
    except ConfigError as error:
        raise UsageError(f"{option}: {error}", hint=error.hint) from error


def addresses(pairs: Iterable[str] | Mapping[str, str]) -> dict[str, str] | None:
    """Names with their addresses: a table, or texts of the form `NAME=IP`."""
    if isinstance(pairs, Mapping):
        return {name.lower(): address for name, address in pairs.items()} or None
    found = {}
    for pair in pairs:
        name, equals, address = pair.partition("=")
        if not (name and equals and address):
            raise UsageError(
                f"--resolve must be NAME=ADDRESS, got {pair}", hint="write --resolve www.example.org=192.0.2.1"
            )
        found[name.lower()] = address
    return found or None


def moment_of(text: str | None, now: float) -> float | None:
    """A time as people write it: a date, a time of a day, or how long ago."""
    if text is None:
        return None
    hint = "write 2026-11-14, 2026-11-14T10:30Z, 2d or 1h30m"
    try:
        written = datetime.fromisoformat(text.strip())
        at = (written if written.tzinfo else written.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        try:
            at = now - parse_duration(text)
        except ConfigError as error:
            raise UsageError(f"{text!r} is not a time", hint=hint) from error
    try:
        datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{text!r} is not a time between the years 1 and 9999", hint=hint) from error
    return at
