"""Where the tags of a page are, before it is parsed: what can be known from its bytes alone, all at once.

Every tag is a "<" and its name. Three letters after each "<", in five bits each so that case does not matter, tell
which names can be in a page at all, and whether what is opened is closed. Scripts and comments hold such letters too,
so this never proves that something is there, only that it is not.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

KEYS: Final = 1 << 15
_LESS_THAN, _SLASH = ord("<"), ord("/")
_LETTERS: Final = np.array([byte & 31 if byte >= ord("A") else 0 for byte in range(256)], dtype=np.uint16)
_PADDING: Final = b"\0\0\0\0"


class Tags(NamedTuple):
    """Where each "<" is, whether an end tag follows, and the key of the name after it."""

    at: NDArray[np.intp]
    is_end: NDArray[np.bool_]
    keys: NDArray[np.uint16]


def key_of(name: str) -> int:
    """The key of a tag name."""
    first, second, third = (ord(letter) & 31 for letter in f"{name}\0\0"[:3])
    return first << 10 | second << 5 | third


def tags_of(html: bytes) -> Tags:
    """All tags of a page, and what looks like one."""
    codes = np.frombuffer(html + _PADDING, dtype=np.uint8)
    at = (codes[:-4] == _LESS_THAN).nonzero()[0]
    is_end = codes[at + 1] == _SLASH
    names = at + is_end
    letters = [_LETTERS[codes[names + place]] for place in (1, 2, 3)]
    letters[2] = np.where(letters[1], letters[2], 0)  # what is no letter ends a name
    keys: NDArray[np.uint16] = letters[0] << 10 | letters[1] << 5 | letters[2]
    return Tags(at, is_end, keys)
