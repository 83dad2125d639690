"""Where the tags of a page are, before it is parsed: what can be known from its bytes alone, all at once.

Every tag is a "<" and its name. Three letters of it, in five bits each so that case does not matter, are a key, and
keys tell cheaply whether what is opened is closed. Whole names tell the same for certain, and cost more. Scripts and
comments hold such letters too, which nobody but the parser can know.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

KEYS: Final = 1 << 16
"""So many keys there are, of start tags and of end tags."""
END: Final = 1 << 15
"""What the key of an end tag has more than that of its start tag."""
_LESS_THAN, _SLASH = ord("<"), ord("/")
_PADDING: Final = bytes(10)
_EIGHT_BYTES: Final = np.dtype("V8")
_NUMBER: Final = np.dtype("<u8")
"""Of numbers, those at odd addresses are slow to gather; of mere bytes, they are not."""
_ONE_BYTE: Final = np.uint64(8)
_END: Final = np.uint32(END)
_MIX: Final = 0x29CC83B5
"""Makes keys of letters, different ones for all beginnings of names in HTML."""
_MIX_SHIFT: Final = 17
_ENDS_NAME: Final = np.isin(np.arange(256), [*b"\t\n\f\r />\0"])
_FIRST: Final = np.array([(1 << 8 * size) - 1 for size in range(8)], dtype=np.uint64)
_NAME: Final = re.compile(rb"[^\t\n\f\r />\0]*+")


class Tags(NamedTuple):
    """Where each "<" is, and the eight bytes after it as a number."""

    at: NDArray[np.intp]
    after: NDArray[np.uint64]


def count_tags(html: bytes) -> int:
    """How many tags a page has at most. `bytes.count` would pay for each."""
    return int(np.count_nonzero(np.frombuffer(html, dtype=np.uint8) == _LESS_THAN))


def tags_of(html: bytes) -> Tags:
    """All tags of a page, and what looks like one."""
    codes = np.frombuffer(html + _PADDING, dtype=np.uint8)
    at = (codes == _LESS_THAN).nonzero()[0]
    return Tags(at, _eight_bytes(codes, at + 1))


def keys_of(tags: Tags) -> NDArray[np.intp]:
    """The key of each tag: of its name, and of whether it is an end tag. What is no letter ends a name."""
    is_end = (tags.after & 0xFF) == _SLASH
    letters = (tags.after >> is_end * _ONE_BYTE).astype(np.uint32)
    keys: NDArray[np.uint32] = letters >> 6
    keys &= 0x010101
    keys &= keys << 8 | 0x0101
    keys *= 0x1F
    keys &= letters
    keys *= _MIX
    keys >>= _MIX_SHIFT
    keys |= is_end * _END
    return keys.astype(np.intp)


def key_of(name: str) -> int:
    """The key of the start tag of a name."""
    return int(keys_of(tags_of(f"<{name}>".encode()))[0])


class TagCounter:
    """How many start tags of each of some names a page can have; names are of three letters or more."""

    def __init__(self, names: Sequence[str], others: dict[str, str]) -> None:
        """`others` are names that count as one of `names`."""
        self._size = len(names)
        self._places = np.full(END, self._size, dtype=np.uint8)
        for name in (*names, *others):
            self._places[self._hashed(tags_of(f"<{name}>".encode()))] = names.index(others.get(name, name))

    def counts(self, tags: Tags) -> list[int]:
        """One count a name: at least as many as there are."""
        counts: list[int] = np.bincount(self._places[self._hashed(tags)], minlength=self._size).tolist()
        return counts

    @staticmethod
    def _hashed(tags: Tags) -> NDArray[np.uint32]:
        letters = tags.after.astype(np.uint32)
        letters &= 0x1F1F1F
        letters *= _MIX
        letters >>= _MIX_SHIFT
        return letters


def names_of(html: bytes, tags: Tags) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """The whole name of each tag as a number, and whether it is an end tag."""
    html = html.lower() + _PADDING
    is_end = (tags.after & 0xFF) == _SLASH
    starts = tags.at + 1 + is_end
    names = _eight_bytes(np.frombuffer(html, dtype=np.uint8), starts)
    ends = _ENDS_NAME[names.view(np.uint8)].reshape(-1, 8)
    sizes = ends.argmax(axis=1)
    is_short = ends[np.arange(len(ends)), sizes]
    names &= _FIRST[sizes]
    for place in np.flatnonzero(~is_short).tolist():
        found = _NAME.match(html, int(starts[place]))
        names[place] = xxhash.xxh3_64_intdigest(found[0] if found else b"")
    return names, is_end


def name_of(name: str) -> int:
    """The number of a name."""
    html = f"<{name}>".encode()
    return int(names_of(html, tags_of(html))[0][0])


def _eight_bytes(codes: NDArray[np.uint8], at: NDArray[np.intp]) -> NDArray[np.uint64]:
    windows = np.ndarray((len(codes) - 7,), _EIGHT_BYTES, codes.data, strides=(1,))
    numbers: NDArray[np.uint64] = windows[at].view(_NUMBER)
    return numbers
