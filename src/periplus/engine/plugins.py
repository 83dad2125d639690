"""A program's own filter, ordering, extractor, topic and credentials.

A plugin is a function, or a name: `module:function`, whose module may be a file in the current folder, or an entry
point of an installed package. Names and functions of modules can be sent to worker processes and may be given again by
every command; lambdas and nested functions run in the process that made them.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoints, entry_points
from typing import Any, Final, cast

from msgspec import Struct

from periplus.model import ConfigError, UsageError
from periplus.policy.found import Score, Want
from periplus.policy.settings import nearest

from .fetch import NO_CREDENTIALS, NO_SESSION, Credentials, SessionPlan

FILTERS: Final = "periplus.filters"
ORDERINGS: Final = "periplus.orderings"
EXTRACTORS: Final = "periplus.extractors"
TOPICS: Final = "periplus.topics"
LOGINS: Final = "periplus.logins"
REFRESH_POLICIES: Final = "periplus.refresh_policies"


class OwnParts(Struct, frozen=True):
    """The parts that a shard needs. A string names a plugin."""

    want: Want | str | None = None
    score: Score | str | None = None
    credentials: Credentials = NO_CREDENTIALS
    session: SessionPlan = NO_SESSION

    @property
    def wants(self) -> Want | None:
        """The filter, loaded."""
        return cast("Want | None", load_plugin(FILTERS, self.want))

    @property
    def scores(self) -> Score | None:
        """The ordering, loaded."""
        return cast("Score | None", load_plugin(ORDERINGS, self.score))

    def check_sendable(self, workers: int) -> None:
        """Raise `UsageError` if worker processes are needed and a function cannot be sent to them."""
        call = None if self.session.login is None else self.session.login.call
        for name, part in (("want", self.want), ("score", self.score), ("login", call)):
            if workers > 1 and part is not None and not _is_picklable(part):
                raise UsageError(
                    f"{name}= cannot be sent to {workers} worker processes: it is not a function of a module",
                    hint="define it in a module that can be imported, or begin a collection with workers=1",
                )


NO_PARTS: Final = OwnParts()


def own_parts(
    want: Want | str | None,
    score: Score | str | None,
    order: str | None,
    credentials: Credentials = NO_CREDENTIALS,
) -> OwnParts:
    """The parts that were asked for, checked: names exist, and there is one ordering."""
    if score is not None and order is not None:
        raise UsageError(f"score and order ({order}) are two orderings", hint="give one of them")
    parts = OwnParts(want, score, credentials)
    load_plugin(FILTERS, want)
    load_plugin(ORDERINGS, score)
    return parts


def load_plugin(group: str, part: Callable[..., Any] | str | None) -> Callable[..., Any] | None:
    """A function as it is, or the one of this name: `module:function`, or an entry point of the group."""
    if not isinstance(part, str):
        return part
    if ":" in part:
        return _imported(part)
    offered = _entry_points(group)
    if part not in offered.names:
        names = sorted(offered.names)
        hint = f"did you mean {nearest(part, names)!r}?" if names else f"no installed package offers one in {group}"
        raise ConfigError(f"there is no entry point {part[:100]!r} in the group {group}", hint=hint)
    try:
        loaded = offered[part].load()
    except Exception as error:
        raise ConfigError(
            f"the entry point {part!r} in {group} cannot be loaded: {type(error).__name__}: {error}",
            hint="reinstall the package that offers it",
        ) from error
    if not callable(loaded):
        raise ConfigError(f"the entry point {part!r} in {group} is not a function", hint="name a function in it")
    return cast("Callable[..., Any]", loaded)


def is_plugin(group: str, name: str) -> bool:
    """Whether a name is that of a plugin: it names a function, or an entry point of the group."""
    return ":" in name or name in _entry_points(group).names


def _imported(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = import_module(module)
        for part in function.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever the module raises while it is imported
        raise ConfigError(
            f"{name[:100]} cannot be loaded: {type(error).__name__}: {error}",
            hint="name a function as module:function, of an installed package or of a file in this folder",
        ) from error
    if not callable(found):
        raise ConfigError(f"{name[:100]} is not a function", hint="name a function as module:function")
    return cast("Callable[..., Any]", found)


def _entry_points(group: str) -> EntryPoints:
    return entry_points(group=group)


def _is_picklable(part: object) -> bool:
    try:
        pickle.dumps(part)
    except Exception:  # whatever a foreign object's own pickling raises
        return False
    return True
