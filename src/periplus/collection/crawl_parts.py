"""The parts of a crawl, found in their folders, and what they are made for."""

from __future__ import annotations

from functools import cache

from msgspec.structs import replace

from periplus.engine.fetch import RequestSigner
from periplus.engine.part import MakeMarket, Part, RankPages, Setup
from periplus.model import Clock, Discovery
from periplus.parts import offered

from . import trust
from .collection import CollectionSetup
from .config.settings import Config


@cache
def part_kinds() -> tuple[type[Part], ...]:
    """Every part that is there, in the order in which they are called."""
    found = [
        kind
        for module in offered("part")
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Part) and kind.__module__ == module.__name__
    ]
    return tuple(sorted(found, key=lambda kind: kind.order))


def setup_of(collection: CollectionSetup, *personal: str) -> Setup:
    """What the parts of a collection are made for outside of a crawl.

    Raises `ConfigError` if one of the `personal` settings, which are used then, was not given by a person.
    """
    trust.check([name for name in collection.untrusted if name in personal], collection.folder)
    config = collection.config
    return Setup(
        config, collection.layout, seeds=collection.seeds, shards=collection.workers, identity=config.crawler_identity
    )


def signer_of(setup: Setup, clock: Clock) -> RequestSigner | None:
    """What signs the requests of a crawl, if something does."""
    return next((signer for kind in part_kinds() if (signer := kind.signer(setup, clock))), None)


def check_parts(setup: Setup) -> None:
    """Raise `ConfigError` if this machine lacks what the settings ask for."""
    for kind in part_kinds():
        kind.check(setup)


def prepared(collection: CollectionSetup) -> CollectionSetup:
    """A collection for whose crawl everything was read that its settings name. Its folder is held by the caller."""
    setup = setup_of(collection)
    for kind in part_kinds():
        if changed := kind.prepared(setup):
            collection = replace(collection, config=collection.config.with_options(changed))
    return collection


def rank_pages(setup: Setup) -> None:
    """Compute the importance of pages, as far as the settings ask for it."""
    rankers: dict[str, RankPages] = {}
    for kind in part_kinds():
        rankers |= kind.rankers(setup)
    for kind in part_kinds():
        kind.rank(setup, rankers)


def make_market() -> MakeMarket | None:
    """What makes the market for the visits of a watch."""
    return next((make for kind in part_kinds() if (make := kind.market()) is not None), None)


def seed_of(config: Config, seed: Discovery) -> Discovery:
    """A seed, or what is fetched in its place."""
    for kind in part_kinds():
        seed = kind.seed(config, seed)
    return seed
