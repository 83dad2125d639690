"""Settings of the topic of a focused crawl."""

from __future__ import annotations

from msgspec import Struct


class TopicSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What a focused crawl looks for. Without words, examples or a program, a crawl has no topic."""

    words: str = ""
    """Words of the topic; a phrase in double quotes is one word of double weight."""
    like: tuple[str, ...] = ()
    """URLs, files or folders with pages on the topic."""
    unlike: tuple[str, ...] = ()
    """URLs, files or folders with pages that are not; without any, pages of the crawl are used."""
    program: str = ""
    """An entry point in `periplus.topics` that returns the relevance of a page."""
    explore: float = 0.05
    """Share of pages fetched whatever their links say."""
    examples: int = 0
    """Number of the file in `learnt` with the examples; written by `periplus crawl`."""

    def __bool__(self) -> bool:
        """Whether there is a topic."""
        return bool(self.words or self.like or self.program)
