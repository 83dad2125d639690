"""Evidence about a kind of URL in a few bytes: a window over its last pages, and the number of values of a parameter.

A `Window` keeps one bit for each of the last pages of some kind: were their contents new? When it is full and too few
were, the kind is throttled: from then on only a tenth of its URLs is let through, chosen by a hash of the URL, so that
the same URL gets the same answer whenever it is asked. The window starts afresh. If the next full window is as poor, a
tenth of the tenth is left, and so on, so that an endless trap costs one window for each power of ten of its size; if it
is not, the kind gets its last step back. Nothing is ever closed for good: that is how it can come back.

`Values` is a HyperLogLog (Flajolet, Fusy, Gandouet & Meunier 2007) of 128 registers: about 9 % off, and enough to tell
a hundred values from a thousand. When there are too many it has done its work and is thrown away.

`Paths` are hashes of 32 bits of the paths of which a page was read, at most `MAX_PATHS`.
"""

from __future__ import annotations

import math
import sys

from msgspec import Struct

MAX_STEPS = 9
MAX_WINDOW = 64
MAX_PATHS = 2048
"""Paths of a site that are remembered, at most: 8 KiB, and only of sites whose URLs have parameters."""
_HASH_BYTES = 4
"""Bytes of the hash of a path."""
_REGISTERS = 128
_REGISTER_BITS = 7
_ALPHA = 0.7213 / (1 + 1.079 / _REGISTERS)
_POWERS = tuple(2.0**-rank for rank in range(66))
"""The weight of a register by its rank: 64 bits have at most 65 different ranks."""


class Window(Struct, array_like=True):
    """The last pages of one kind: bit by bit whether they were unique, how many, and how far the kind is throttled."""

    bits: int = 0
    length: int = 0
    steps: int = 0

    def observe(self, is_unique: bool, size: int, least: float) -> int:
        """Note a page. Where `size` were seen, a share of unique ones below `least` throttles one step more.

        Gives how the steps changed: 1, 0 or -1.
        """
        self.bits = (self.bits << 1 | is_unique) & ((1 << size) - 1)
        self.length = min(self.length + 1, size)
        if self.length < size:
            return 0
        is_poor = self.bits.bit_count() < least * size
        change = int(is_poor and self.steps < MAX_STEPS) - int(not is_poor and self.steps > 0)
        if change:
            self.steps += change
            self.bits = self.length = 0
        return change

    def throttle(self) -> None:
        """Throttle one step more, whatever the window says; it starts afresh."""
        self.steps = min(self.steps + 1, MAX_STEPS)
        self.bits = self.length = 0


class Values(Struct, array_like=True):
    """How many different values were there, about."""

    registers: bytes = bytes(_REGISTERS)

    def add(self, key: int) -> bool:
        """Count a value by its hash of 64 bits. Gives whether the estimate has changed."""
        place = key & (_REGISTERS - 1)
        rank = 65 - _REGISTER_BITS - (key >> _REGISTER_BITS).bit_length()
        if rank <= self.registers[place]:
            return False
        self.registers = self.registers[:place] + bytes((rank,)) + self.registers[place + 1 :]
        return True

    def estimate(self) -> float:
        """The number of different values; by the registers still empty (linear counting) where there are few."""
        raw = _ALPHA * _REGISTERS**2 / sum(map(_POWERS.__getitem__, self.registers))
        empty = self.registers.count(0)
        if raw <= 2.5 * _REGISTERS and empty:
            return _REGISTERS * math.log(_REGISTERS / empty)
        return raw

    def exceeds(self, most: float) -> bool:
        """Whether the estimate is above a number. The empty registers alone show that few values are below it."""
        empty = self.registers.count(0)
        if empty and max(_ALPHA * _REGISTERS**2 / empty, _REGISTERS * math.log(_REGISTERS / empty)) <= most:
            return False
        return self.estimate() > most


class Parameter(Struct, array_like=True):
    """One parameter of one path: its number of values (`None`: too many), and a window over pages with it."""

    values: Values | None
    window: Window


class Paths(Struct, array_like=True):
    """The paths of which a page was read."""

    hashes: bytes = b""

    @property
    def is_full(self) -> bool:
        """Whether no more paths are remembered: then nothing follows from not knowing one."""
        return len(self.hashes) >= _HASH_BYTES * MAX_PATHS

    def has(self, key: int) -> bool:
        """Whether a path was read, by its hash of 64 bits; with a chance of one in two million another one was."""
        wanted = _short_hash(key)
        place = self.hashes.find(wanted)
        while place % _HASH_BYTES and place > 0:  # the end of one and the beginning of the next
            place = self.hashes.find(wanted, place + 1)
        return place >= 0

    def add(self, key: int) -> bool:
        """Remember a path. Whether it is new."""
        if self.is_full or self.has(key):
            return False
        self.hashes += _short_hash(key)
        return True


def _short_hash(key: int) -> bytes:
    return (key & 0xFFFFFFFF).to_bytes(_HASH_BYTES, sys.byteorder)
