"""Vectors of passages: how near in meaning the best passage of a page is to a query.

An index has them if it was made with a function that turns texts into vectors: `wordllama`, which comes with the extra
`vectors`, or one of your own by its name (`module:function`, or an entry point of the group `periplus.vectors`).
Vectors are kept in one byte a number, and are read for the first results only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from periplus.model import UsageError

VECTORS: Final = "periplus.vectors"
"""The group of entry points."""
PASSAGE: Final = 100
"""Words of a passage."""
MAX_PASSAGES: Final = 100
"""Passages of a page that have a vector."""
MAX_SIZE: Final = 4_096
"""Numbers of a vector."""

Floats = npt.NDArray[np.float32]
Embed = Callable[[Sequence[str]], Any]
"""Turns texts into vectors, a row each."""


class VectorModel(Struct, frozen=True):
    """What makes vectors, by name and in use."""

    name: str
    embed: Embed

    def vectors_of(self, texts: Sequence[str]) -> Floats:
        """A vector of length 1 for each text; that of an empty text may be 0."""
        found: Floats = np.asarray(self.embed(texts), np.float32)
        if found.ndim != 2 or len(found) != len(texts) or not 0 < found.shape[1] <= MAX_SIZE:
            raise UsageError(
                f"{self.name} gave {found.shape} for {len(texts)} texts",
                hint=f"it must return a row of at most {MAX_SIZE:,} numbers for each text",
            )
        return _of_length_one(np.nan_to_num(found, posinf=0.0, neginf=0.0))


def passages_of(title: str, text: str) -> list[str]:
    """The passages of a page, each after its title."""
    words = text.split(None, PASSAGE * MAX_PASSAGES)[: PASSAGE * MAX_PASSAGES]
    starts = range(0, len(words), PASSAGE)
    return [" ".join((title, *words[start : start + PASSAGE])) for start in starts] or [title]


def packed(vectors: Floats) -> bytes:
    """Vectors in a byte a number, each in the scale of its largest."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(127.0 * vectors, largest, out=np.zeros_like(vectors), where=largest > 0)
    return bytes(np.rint(scaled).astype(np.int8).tobytes())


def similarities(asked: Floats, pages: Mapping[int, bytes]) -> dict[int, float]:
    """How much nearer the best passage of each page is to the query than that of the pages on average.

    Relative, so that it can be added to the score of some results alone, and compared between indexes. A page whose
    vectors have another size has none.
    """
    size = len(asked)
    best = {
        id_: float((_of_length_one(np.frombuffer(data, np.int8).reshape(-1, size).astype(np.float32)) @ asked).max())
        for id_, data in pages.items()
        if data and not len(data) % size
    }
    mean = sum(best.values()) / len(best) if best else 0.0
    return {id_: similarity - mean for id_, similarity in best.items()}


def _of_length_one(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return found
