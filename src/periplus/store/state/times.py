"""Times in keys: eight bytes in the order of times."""

from __future__ import annotations

import struct

from periplus.model import InvariantError

TIME_LENGTH = 8
_BITS = struct.Struct(">d")
_SIGN = 1 << 63
_ALL = (1 << 64) - 1


def sortable(time: float) -> bytes:
    """A time as eight bytes in the order of times: IEEE 754 with the sign bit turned, all bits of negative numbers."""
    if time != time:
        raise InvariantError("a time to wait for is not a number")
    bits = int.from_bytes(_BITS.pack(time + 0.0), "big")  # one zero, not two
    return (bits ^ (_ALL if bits & _SIGN else _SIGN)).to_bytes(TIME_LENGTH, "big")


def time_of(key: bytes) -> float:
    """The time again, of a key that begins with one."""
    bits = int.from_bytes(key[:TIME_LENGTH], "big")
    time: float = _BITS.unpack((bits ^ (_SIGN if bits & _SIGN else _ALL)).to_bytes(TIME_LENGTH, "big"))[0]
    return time
