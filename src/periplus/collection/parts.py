"""Parts of a crawl: a program's own filter, ordering, extractor and credentials; its topic; its browser.

A part is a function, or the name of one that an installed package offers as an entry point. Names and functions of
modules can be sent to worker processes and may be given again by every command; lambdas and nested functions run in
the process that made them. Nothing of the browser is loaded where no page is rendered.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from importlib.metadata import EntryPoints, entry_points
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct

from periplus.engine.fetch import NO_CREDENTIALS, Credentials
from periplus.model import Clock, CollectionDamaged, ConfigError, UsageError
from periplus.parts.focus.examples import Examples
from periplus.parts.focus.part import MakeTopic
from periplus.parts.focus.settings import TopicSettings
from periplus.parts.focus.topic import Relevance, Topic
from periplus.parts.focus.words import TopicTerms
from periplus.policy.found import Score, Want
from periplus.policy.settings import nearest
from periplus.store import LearntFiles

from .config.settings import Config

if TYPE_CHECKING:
    from periplus.engine.fetch import AddressGuard, CurlWire
    from periplus.parts.render.wire import RenderingWire


FILTERS: Final = "periplus.filters"
ORDERINGS: Final = "periplus.orderings"
EXTRACTORS: Final = "periplus.extractors"
TOPICS: Final = "periplus.topics"


class OwnParts(Struct, frozen=True):
    """The parts that a shard needs. A string is the name of an entry point."""

    want: Want | str | None = None
    score: Score | str | None = None
    credentials: Credentials = NO_CREDENTIALS

    @property
    def wants(self) -> Want | None:
        """The filter, loaded."""
        return cast("Want | None", load_part(FILTERS, self.want))

    @property
    def scores(self) -> Score | None:
        """The ordering, loaded."""
        return cast("Score | None", load_part(ORDERINGS, self.score))

    def check_sendable(self, workers: int) -> None:
        """Raise `UsageError` if worker processes are needed and a function cannot be sent to them."""
        for name, part in (("want", self.want), ("score", self.score)):
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
    load_part(FILTERS, want)
    load_part(ORDERINGS, score)
    return parts


def load_part(group: str, part: Callable[..., Any] | str | None) -> Callable[..., Any] | None:
    """A function as it is, or the one that an entry point of this name offers."""
    if not isinstance(part, str):
        return part
    offered = _offered(group)
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


def _offered(group: str) -> EntryPoints:
    return entry_points(group=group)


def _is_picklable(part: object) -> bool:
    try:
        pickle.dumps(part)
    except Exception:  # whatever a foreign object's own pickling raises
        return False
    return True


KIND: Final = "topic"
"""The kind of the files with examples, among what was learnt."""


def topic_maker(settings: TopicSettings, files: LearntFiles) -> MakeTopic | None:
    """What makes the topic of a crawl; `None` if it has none."""
    if not settings:
        return None
    terms = TopicTerms.parse(settings.words) if settings.words else None
    program = cast("Relevance | None", load_part(TOPICS, settings.program or None))
    examples = None
    if settings.like:
        content = files.read(KIND, settings.examples)
        if content is None:
            raise CollectionDamaged("the examples of the topic are missing", hint="give --like again")
        examples = Examples.decode(content)
    return partial(Topic, terms, examples, program)


def check_rendering(config: Config) -> None:
    """Raise `ConfigError` if pages are to be rendered and cannot be on this machine."""
    if config.render.is_on:
        from periplus.parts.render.browser import check_browser

        check_browser(config.render, config.wire.proxy)


def rendering_wire(config: Config, wire: CurlWire, *, guard: AddressGuard, clock: Clock, count: int) -> RenderingWire:
    """A wire that opens pages in a browser, in front of one that fetches. `count` shards share the machine."""
    from periplus.engine.fetch import Resolver
    from periplus.parts.render.pool import BrowserPool
    from periplus.parts.render.wire import RenderingWire

    pool = BrowserPool(
        config.render,
        wire=config.wire,
        agent=config.identity.agent,
        resolver=Resolver(config.dns, clock=clock),
        guard=guard,
        clock=clock,
        processes=count,
    )
    return RenderingWire(wire, pool, max_decoded=config.reading.max_decoded_bytes)
