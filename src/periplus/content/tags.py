"""Where the tags of a page are, before it is parsed: what can be known from its bytes alone, all at once.

Every tag is a "<" and its name. Three letters after each "<", in five bits each so that case does not matter, tell
which names can be in a page at all, and whether what is opened is closed. Scripts and comments hold such letters too,
so this never proves that something is there, only that it is not.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

KEYS: Final = 1 << 16
"""So many keys there are, of start tags and of end tags."""
END: Final = 1 << 15
"""What the key of an end tag has more than that of its start tag."""
_LESS_THAN, _SLASH = ord("<"), ord("/")
_PADDING: Final = bytes(9)
_EIGHT_BYTES: Final = np.dtype("V8")
_NUMBER: Final = np.dtype("<u8")
"""Of numbers, those at odd addresses are slow to gather; of mere bytes, they are not."""
_ONE_BYTE: Final = np.uint64(8)
_END: Final = np.uint32(END)
_MIX: Final = 0x29CC83B5
"""Makes keys of letters, different ones for all beginnings of names in HTML."""
_MIX_SHIFT: Final = 17


class Tags(NamedTuple):
    """Where each "<" is, and the key of the name after it."""

    at: NDArray[np.intp]
    keys: NDArray[np.intp]


def key_of(name: str) -> int:
    """The key of the start tag of a name."""
    return int(tags_of(f"<{name}>".encode()).keys[0])


def tags_of(html: bytes) -> Tags:
    """All tags of a page, and what looks like one."""
    codes = np.frombuffer(html + _PADDING, dtype=np.uint8)
    at = (codes == _LESS_THAN).nonzero()[0]
    after = np.ndarray((len(html),), _EIGHT_BYTES, codes.data, offset=1, strides=(1,))[at].view(_NUMBER)
    is_end = (after & 0xFF) == _SLASH
    after >>= is_end * _ONE_BYTE
    letters = after.astype(np.uint32)
    keys: NDArray[np.uint32] = letters >> 6
    keys &= 0x010101
    keys &= keys << 8 | 0x0101  # what is no letter ends a name
    keys *= 0x1F
    keys &= letters
    keys *= _MIX
    keys >>= _MIX_SHIFT
    keys |= is_end * _END
    return Tags(at, keys.astype(np.intp))
