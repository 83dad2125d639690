"""Judges a collection on demand, for mirrors, parked domains and whatever else its parts judge."""

from __future__ import annotations

from collections.abc import Sequence

from periplus.insight.views import Views
from periplus.model import SubjectJudged
from periplus.parts import kinds

from .collection import CollectionSetup
from .crawl_parts import setup_of


def judge(collection: CollectionSetup, now: float) -> dict[str, Sequence[SubjectJudged]]:
    """Have every part judge a collection: its view `verdicts` has the results, and a crawl that runs takes them over.

    The verdicts are returned by a name for their kind. Raises `ConfigError` if a file that a person edited cannot be
    read.
    """
    setup = setup_of(collection)
    verdicts: dict[str, Sequence[SubjectJudged]] = {}
    with Views(collection.folder, spooled=collection.layout.spooled) as views:
        for kind in kinds(setup.settings):
            verdicts |= kind.judge(setup, views, now)
    return verdicts
