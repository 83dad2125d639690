"""An ordering as a user names it: a name, and settings that differ from the defaults.

Written `batch:every=5000,damping=0.9`. What an ordering is and which settings it has, `policy.ordering` knows; here a
text is read, and refused before the experiment begins.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from msgspec import Struct

from periplus.model import ConfigError, Ordering, Url
from periplus.policy.ordering import ALIASES, ordering
from periplus.policy.settings import nearest

Value = int | float | str | bool
_WORDS = {"true": True, "false": False}


class PolicyChoice(Struct, frozen=True):
    """An ordering and its settings, checked: `ordering` never refuses them."""

    name: str
    settings: dict[str, Value] = {}

    def __post_init__(self) -> None:
        known = _settings_of(self.name)
        for key, value in self.settings.items():
            if key not in known:
                hint = f"did you mean {nearest(key, known)!r}?" if known else "it has no settings"
                raise ConfigError(f"no such setting of {self.name}: {key[:100]!r}", hint=hint)
            wanted = type(known[key])
            if not (type(value) is wanted or (wanted is float and type(value) is int)):
                raise ConfigError(
                    f"{self.name}:{key}={str(value)[:100]} is not a {_KINDS.get(wanted, wanted.__name__)}",
                    hint=f"by default it is {known[key]}",
                )
        ordering(self.name, oracle=_worthless, **self.settings)

    @classmethod
    def parse(cls, text: str) -> PolicyChoice:
        """Read `name` or `name:setting=value,setting=value`."""
        name, colon, rest = text.strip().partition(":")
        settings: dict[str, Value] = {}
        for part in rest.split(",") if colon else []:
            key, equals, value = (piece.strip() for piece in part.partition("="))
            if not (key and equals and value):
                raise ConfigError(
                    f"cannot read the settings of {text[:100]!r}", hint="write them like batch:every=5000,damping=0.9"
                )
            if key in settings:
                raise ConfigError(f"{key!r} is set twice in {text[:100]!r}", hint="set it once")
            settings[key] = _value(value)
        return cls(name.strip(), settings)

    def __str__(self) -> str:
        written = ",".join(f"{key}={_text(value)}" for key, value in self.settings.items())
        return f"{self.name}:{written}" if written else self.name

    def ordering(self, oracle: Callable[[Url], float], seed: int) -> Ordering:
        """The ordering itself, new. Randomness comes from `seed`, unless its own was set."""
        settings = self.settings
        if ALIASES.get(self.name, self.name) == "random":
            settings = {"seed": seed, **settings}
        return ordering(self.name, oracle=oracle, **settings)


_KINDS: dict[type, str] = {int: "whole number", float: "number", bool: "truth value (true or false)", str: "word"}


def _settings_of(name: str) -> dict[str, Value]:
    """The settings of an ordering, with their defaults. Raises `ConfigError` for a name that is not there."""
    parameters = inspect.signature(type(ordering(name, oracle=_worthless))).parameters.values()
    return {each.name: each.default for each in parameters if isinstance(each.default, Value)}


def _worthless(_: Url) -> float:
    return 0.0


def _value(text: str) -> Value:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
