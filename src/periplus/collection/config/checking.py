"""Checks of settings by the rooms that obey them. Imported when settings are checked: it loads most of `policy`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from periplus.model import ConfigError, Ordering, Url
from periplus.parts import offered
from periplus.policy.filters import Extensions, FilterStates, MediaTypes, Patterns, Scope, Sessions, Traps
from periplus.policy.ordering import ALIASES, make_ordering, ordering

from .settings import part_tables

if TYPE_CHECKING:
    from .settings import Config


def check(config: Config) -> None:
    """Raise `ConfigError` for a value that some room would not take."""
    for tables in part_tables():
        if hasattr(tables, "check"):
            config.some(tables).check(config)
    for table, make in (
        ("crawl", lambda: (ordered(config, lambda _url: 0.0), config.crawler_identity)),
        ("scope", lambda: Scope((), config.scope)),
        ("patterns", lambda: Patterns(config.patterns)),
        ("extensions", lambda: Extensions(config.extensions)),
        ("media", lambda: MediaTypes(config.media)),
        ("serve", config.serve.check),
        ("sessions", lambda: Sessions(config.sessions)),
        ("traps", lambda: Traps(FilterStates(), config.traps)),
    ):
        try:
            make()
        except ConfigError as error:
            raise ConfigError(f"[{table}] {error}", hint=error.hint) from error


def ordered(config: Config, oracle: Callable[[Url], float] | None) -> Ordering:
    """The ordering of the settings. `oracle` returns what a URL is worth by an earlier collection."""
    name, by = config.crawl.ordering, config.ordering.by
    is_optimal = ALIASES.get(name, name) == "optimal"
    if by and not is_optimal:
        raise ConfigError(f"the ordering {name!r} does not use an earlier collection", hint="only optimal does")
    chance = {"seed": config.crawl.random_seed} if name == "random" else {}
    settings = chance | config.ordering.changed
    of_parts = {name: make for module in offered("ordering") for name, make in module.ORDERINGS.items()}
    if name in of_parts:
        return make_ordering(name, of_parts[name], settings)
    return ordering(name, sorted(of_parts), oracle=oracle if by else None, **settings)
