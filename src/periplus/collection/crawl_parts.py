"""The parts of a crawl, and what they are made for."""

from __future__ import annotations

from msgspec.structs import replace

from periplus.engine.part import Setup
from periplus.engine.sitemaps.settings import SCORES
from periplus.parts import kinds

from . import trust
from .collection import CollectionSetup
from .config.settings import Config


def setup_of(collection: CollectionSetup, *personal: str) -> Setup:
    """What the parts of a collection are made for outside of a crawl.

    Raises `ConfigError` if one of the `personal` settings, which are used then, was not given by a person.
    """
    trust.check([name for name in collection.untrusted if name in personal], collection.folder)
    config = collection.config
    return Setup(
        config, collection.layout, seeds=collection.seeds, shards=collection.workers, identity=config.crawler_identity
    )


def check_parts(setup: Setup) -> None:
    """Raise `ConfigError` if this machine lacks what the settings ask for."""
    for kind in kinds(setup.settings):
        kind.check(setup)


def prepared(collection: CollectionSetup) -> CollectionSetup:
    """A collection for whose crawl everything was read that its settings name. Its folder is held by the caller."""
    if not collection.config.topic:
        return collection
    from periplus.parts.focus.reading import read_examples  # loads the wire

    changed = read_examples(setup_of(collection))
    return replace(collection, config=collection.config.with_options(changed)) if changed else collection


def rank_pages(setup: Setup, config: Config) -> None:
    """Compute the importance of pages, as far as the settings ask for it: of those that are listed, and in a watch."""
    from periplus.engine.sitemaps.scheduler import listed_ranks_by  # loads what reads sitemaps

    listed, weight = config.scores.score, config.refresh.weight
    if listed != "priority":
        listed_ranks_by(setup, listed).save(setup.layout.listed_ranks)
    if setup.visits_a_day and weight in SCORES:
        listed_ranks_by(setup, weight).save(setup.layout.weights(weight))
