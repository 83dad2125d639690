"""The topic of a crawl, made from its settings."""

from __future__ import annotations

from functools import partial
from typing import Final, cast

from periplus.crawl.focus import MakeTopic
from periplus.model import CollectionDamaged
from periplus.policy.topic import Examples, Relevance, Topic, TopicSettings, TopicTerms
from periplus.store import LearntFiles

from .parts import TOPICS, load_part

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
