"""A URL in 64 bits, for seen tests and keys.

xxh3 is fast and well mixed but not cryptographic: a site that crafts collisions can only hide its own URLs from us.
Among n different URLs two collide by chance with probability n^2 / 2^65: 2.7 % for 10^9 URLs.
"""

from __future__ import annotations

from collections.abc import Iterable

from xxhash import xxh3_64_intdigest

from ..model import Fingerprint, Url


def fingerprint(url: Url) -> Fingerprint:
    """The xxh3-64 hash of the canonical URL. Stable: collections on disk are keyed by it."""
    return Fingerprint(xxh3_64_intdigest(url.encode()))


def fingerprints(urls: Iterable[Url]) -> list[Fingerprint]:
    """The fingerprint of each."""
    # A call of Fingerprint() would cost as much as the hash.
    return [xxh3_64_intdigest(url.encode()) for url in urls]  # type: ignore[misc]
