"""Settings of the topic of a focused crawl."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from periplus.model.flags import FAR, PERSONAL, Flag


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
