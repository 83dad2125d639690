"""Keys of rows: times that sort as bytes, and where what is kept of a URL lies.

A URL's key is the number of its site, then its fingerprint. Two URLs of a site may have one fingerprint: by chance
(never, for practical purposes) or because a site crafts them, which xxh3 does not prevent. So rows hold their URL,
which is compared, and the next key is tried where it is another's, up to `MAX_PROBES` times: a site can only hide its
own URLs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from periplus.model import InvariantError, Site, Url
from periplus.urls import site_of

from .sites import ID_LENGTH

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


MAX_PROBES = 8
KEY_LENGTH = ID_LENGTH + 8
_NO_SITE = b"\xff" * ID_LENGTH
"""The number of an unknown site: nothing is found under it."""


def places_of(
    urls: Sequence[Url], number_of: Callable[[Site], bytes | None], digest: Callable[[bytes], bytes]
) -> list[tuple[bytes, str]]:
    """The first key of each, and the URL as it is kept. Links of one site in a row are cut by one look at it."""
    places: list[tuple[bytes, str]] = []
    prefix, sign, cut, number = "\0", "", 0, _NO_SITE
    for url in urls:
        if not url.startswith(prefix):
            cut = url.index("/", 8)
            is_secure = url[4] == "s"
            site = url[8 if is_secure else 7 : cut]
            if "@" in site:  # a user name is kept
                number, prefix = number_of(site_of(url)) or _NO_SITE, "\0"
                places.append((number + digest(url.encode()), url))
                continue
            number = number_of(Site(site)) or _NO_SITE
            prefix, sign = url[: cut + 1], "" if is_secure else ":"
        places.append((number + digest(url.encode()), sign + url[cut:]))
    return places


def next_place(key: bytes) -> bytes:
    """The key after this one, of the same site."""
    digest = int.from_bytes(key[ID_LENGTH:], "big") + 1
    return key[:ID_LENGTH] + (digest % (1 << 64)).to_bytes(8, "big")
