"""Values of options and keywords as people type them: durations, sizes, lists, addresses, times.

Errors name the option.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from periplus.model import ConfigError, UsageError

from .config.fields import parse_duration, parse_size


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


def byte_count(option: str, value: str) -> int:
    """A number of bytes, such as `10MB`."""
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
