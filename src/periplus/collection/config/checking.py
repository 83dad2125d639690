"""Checks of settings by the rooms that obey them. Imported when settings are checked: it loads most of `policy`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from periplus.engine.revisit.settings import RefreshTables
from periplus.model import ConfigError, Ordering, Url
from periplus.parts import others
from periplus.parts.focus.ordering import ORDERINGS as FOCUSED
from periplus.parts.focus.settings import FocusTables
from periplus.parts.targets.ordering import ORDERINGS as TARGETED
from periplus.parts.targets.settings import check as check_targets
from periplus.policy.filters import Extensions, FilterStates, MediaTypes, Patterns, Scope, Sessions, Traps
from periplus.policy.ordering import ALIASES, make_ordering, ordering

if TYPE_CHECKING:
    from .settings import Config


def check(config: Config) -> None:
    """Raise `ConfigError` for a value that some room would not take."""
    config.some(FocusTables).check(config)
    config.some(RefreshTables).check(config)
    check_targets(config)
    for tables in (each.tables() for each in others() if each.settings):
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
    of_parts = {**FOCUSED, **TARGETED}
    if name in of_parts:
        return make_ordering(name, of_parts[name], settings)
    return ordering(name, sorted(of_parts), oracle=oracle if by else None, **settings)
