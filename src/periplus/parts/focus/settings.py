"""Settings of the topic of a focused crawl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Struct

from periplus.model import ConfigError
from periplus.model.flags import FAR, PERSONAL, Flag, Settings

FOCUSED: Final = "focused"
"""The ordering of a crawl with a topic, unless another is asked for."""


class TopicSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What a focused crawl looks for. Without words, examples or a program, a crawl has no topic."""

    words: Annotated[
        str,
        Flag(
            "--topic",
            "Fetch pages about these words first; a phrase in double quotes counts as one word.",
            "WORDS",
            FAR,
        ),
    ] = ""
    """Words of the topic; a phrase in double quotes is one word of double weight."""
    like: Annotated[
        tuple[str, ...],
        Flag("--like", "Fetch pages like these examples first. May be repeated.", "URL|FILE|FOLDER", FAR),
        PERSONAL,
    ] = ()
    """URLs, files or folders with pages on the topic."""
    unlike: Annotated[
        tuple[str, ...],
        Flag(
            "--unlike", "With --like: examples of pages that are not wanted. May be repeated.", "URL|FILE|FOLDER", FAR
        ),
        PERSONAL,
    ] = ()
    """URLs, files or folders with pages that are not; without any, pages of the crawl are used."""
    program: Annotated[
        str,
        Flag(
            "--topic-by",
            "Measure relevance with a function of an installed package (entry points: periplus.topics).",
            "NAME",
            FAR,
        ),
        PERSONAL,
    ] = ""
    """An entry point in `periplus.topics` that returns the relevance of a page."""
    explore: float = 0.05
    """Share of pages fetched whatever their links say."""
    examples: int = 0
    """Number of the file in `learnt` with the examples; written by `periplus crawl`."""

    def __bool__(self) -> bool:
        """Whether there is a topic."""
        return bool(self.words or self.like or self.program)


class FocusTables(Struct, frozen=True):
    """Its settings."""

    topic: TopicSettings

    def check(self, settings: Settings) -> None:
        """Raise `ConfigError` if there is no such topic, or it does not fit the ordering."""
        from .ordering import focused_orderings

        topic, ordering, hint = self.topic, settings.value("crawl.ordering"), ", ".join(focused_orderings())
        if topic.words:
            from .words import TopicTerms  # loads stemmers

            TopicTerms.parse(topic.words)
        if not 0.0 <= topic.explore <= 0.5:
            raise ConfigError(f"[topic] explore must be from 0 to 0.5, got {topic.explore}")
        if ordering == "context_graph":
            raise ConfigError(
                "[topic] the ordering 'context_graph' needs links backwards, "
                "which only `periplus simulate focused` knows",
                hint=f"write --order {hint}",
            )
        is_focused = ordering in focused_orderings()
        if is_focused and not topic:
            raise ConfigError(f"[topic] the ordering {ordering!r} needs a topic", hint='write --topic "words"')
        if topic and not is_focused:
            raise ConfigError(f"[topic] the ordering {ordering!r} does not use the topic", hint=f"write --order {hint}")


def implied(asked: Mapping[str, object]) -> dict[str, object]:
    """A crawl with a topic goes by it, and not by sitemaps unless they are asked for; new examples are read again."""
    found: dict[str, object] = {}
    if any(asked.get(name) for name in ("topic.words", "topic.like", "topic.program")):
        found["crawl.ordering"] = asked.get("crawl.ordering") or FOCUSED
        found["sitemaps.follow"] = asked.get("sitemaps.follow", False)
    if asked.get("topic.like") or asked.get("topic.unlike"):
        found["topic.examples"] = 0
    return found
