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
    keys = (codes[names + 1] & 31).astype(np.uint16)
    for offset in (2, 3):
        letters = codes[names + offset]
        keys <<= 5
        keys |= np.where(letters >= 0x41, letters & 31, 0)  # what is no letter ends a name
    return Tags(at, is_end, keys)
