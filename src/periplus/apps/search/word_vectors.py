"""The vectors of the package `wordllama`: the mean of the vectors of a text's tokens.

Its weights and tokenizer are read from its folder: its own loader asks the network for them. Tokens do not cross
blanks, so the sum of a word's vectors is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from periplus.model import UsageError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_WEIGHTS: Final = "weights/l2_supercat_256.safetensors"
_TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"
_KEPT: Final = 50_000
"""Words whose vectors are kept: 50 MB."""
_LONGEST: Final = 100
"""Letters of a word that are read."""

Floats = npt.NDArray[np.float32]


def embed(texts: Sequence[str]) -> Floats:
    """The mean of the vectors of each text's tokens."""
    return _model().embed(texts)


@cache
def _model() -> _WordVectors:
    try:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        home = find_spec("wordllama")
    except ImportError:
        home = None
    if home is None or not home.submodule_search_locations:
        raise UsageError("wordllama is not installed", hint="Install it with: pip install 'periplus[vectors]'")
    folder = Path(home.submodule_search_locations[0])
    return _WordVectors(load_file(folder / _WEIGHTS)["embedding.weight"], Tokenizer.from_file(str(folder / _TOKENIZER)))


class _WordVectors:
    """The sum of the vectors of each word's tokens, with their number as one more column."""

    def __init__(self, weights: npt.NDArray[np.float16], tokenizer: Tokenizer) -> None:
        self._weights = weights
        self._tokenizer = tokenizer
        self._sums: Floats = np.zeros((_KEPT, weights.shape[1] + 1), np.float32)
        self._rows: dict[str, int] = {}

    def embed(self, texts: Sequence[str]) -> Floats:
        """The mean of the vectors of each text's tokens; 0 for an empty text."""
        found = np.zeros((len(texts), self._sums.shape[1]), np.float32)
        for place, text in enumerate(texts):
            words = text.split()[:_KEPT]
            if len(self._rows) + len(words) > _KEPT:
                self._rows.clear()
            found[place] = self._sums[[self._row(word[:_LONGEST]) for word in words]].sum(axis=0)
        counts = found[:, -1:]
        return np.divide(found[:, :-1], counts, out=np.zeros_like(found[:, :-1]), where=counts > 0)

    def _row(self, word: str) -> int:
        row = self._rows.get(word)
        if row is None:
            row = self._rows[word] = len(self._rows)
            ids = self._tokenizer.encode(word, add_special_tokens=False).ids
            self._sums[row, :-1] = self._weights[ids].sum(axis=0, dtype=np.float32)
            self._sums[row, -1] = len(ids)
        return row
