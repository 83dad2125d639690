"""Checks of settings by the rooms that obey them. Imported when settings are checked: it loads most of `policy`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from periplus.model import ConfigError, Ordering, Url
from periplus.parts.focus.ordering import any_ordering, focused_orderings
from periplus.parts.focus.words import TopicTerms
from periplus.parts.revisit.objectives import objective
from periplus.policy.filters import Extensions, FilterStates, MediaTypes, Patterns, Scope, Sessions, Traps
from periplus.policy.ordering import ALIASES
from periplus.policy.weights import PageWeights, check_importance

if TYPE_CHECKING:
    from .settings import Config


def check(config: Config) -> None:
    """Raise `ConfigError` for a value that some room would not take."""
    for table, make in (
        ("crawl", lambda: (ordered(config, lambda _url: 0.0), config.identity)),
        ("scope", lambda: Scope((), config.scope)),
        ("patterns", lambda: Patterns(config.patterns)),
        ("extensions", lambda: Extensions(config.extensions)),
        ("media", lambda: MediaTypes(config.media)),
        ("sessions", lambda: Sessions(config.sessions)),
        ("traps", lambda: Traps(FilterStates(), config.traps)),
        ("refresh", lambda: _check_refresh(config)),
        ("topic", lambda: _check_topic(config)),
    ):
        try:
            make()
        except ConfigError as error:
            raise ConfigError(f"[{table}] {error}", hint=error.hint) from error


def _check_refresh(config: Config) -> None:
    objective(config.refresh.objective)
    check_importance(config.refresh.weight)
    PageWeights(config.refresh.weights)


def _check_topic(config: Config) -> None:
    if config.topic.words:
        TopicTerms.parse(config.topic.words)
    if not 0.0 <= config.topic.explore <= 0.5:
        raise ConfigError(f"explore must be from 0 to 0.5, got {config.topic.explore}")
    if config.crawl.ordering == "context_graph":
        raise ConfigError(
            "the ordering 'context_graph' needs links backwards, which only `periplus simulate focused` knows",
            hint=f"write --order {', '.join(focused_orderings())}",
        )
    is_focused = config.crawl.ordering in focused_orderings()
    if is_focused and not config.topic:
        raise ConfigError(f"the ordering {config.crawl.ordering!r} needs a topic", hint='write --topic "words"')
    if config.topic and not is_focused:
        raise ConfigError(
            f"the ordering {config.crawl.ordering!r} does not use the topic",
            hint=f"write --order {', '.join(focused_orderings())}",
        )


def ordered(config: Config, oracle: Callable[[Url], float] | None) -> Ordering:
    """The ordering of the settings. `oracle` returns what a URL is worth by an earlier collection."""
    name, by = config.crawl.ordering, config.ordering.by
    is_optimal = ALIASES.get(name, name) == "optimal"
    if by and not is_optimal:
        raise ConfigError(f"the ordering {name!r} does not use an earlier collection", hint="only optimal does")
    chance = {"seed": config.crawl.random_seed} if name == "random" else {}
    return any_ordering(name, oracle=oracle if by else None, **chance, **config.ordering.changed)
