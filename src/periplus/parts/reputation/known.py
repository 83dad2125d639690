"""The table of budgets that the job hands to a crawl, as the learnt file "reputation"."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from periplus.model import CollectionDamaged

_MAGIC: Final = b"periplus reputation 1\n"


def domain_hash(domain: str) -> int:
    """The key of a domain."""
    return xxh3_64_intdigest(domain.encode())


class KnownReputation:
    """Budgets and scores of domains by `domain_hash`, for every shard of a crawl.

    A sorted table of 16 bytes a domain, looked up by bisection. A file of another version is refused.
    """

    def __init__(self, hashes: NDArray[np.uint64], budgets: NDArray[np.uint32], scores: NDArray[np.float32]) -> None:
        order = np.argsort(hashes)
        self._hashes, self._budgets, self._scores = hashes[order], budgets[order], scores[order]

    @classmethod
    def read(cls, content: bytes) -> KnownReputation:
        """Decode the bytes of a file made by `written`."""
        body = content.removeprefix(_MAGIC)
        count, rest = divmod(len(body), 16)
        if rest or len(body) == len(content):
            raise CollectionDamaged("the learnt reputation is not a table of domains")
        return cls(
            np.frombuffer(body, np.uint64, count),
            np.frombuffer(body, np.uint32, count, 8 * count),
            np.frombuffer(body, np.float32, count, 12 * count),
        )

    def written(self) -> bytes:
        """Encode the table as the bytes of a file."""
        return _MAGIC + self._hashes.tobytes() + self._budgets.tobytes() + self._scores.tobytes()

    def __len__(self) -> int:
        return len(self._hashes)

    def budget(self, domain: str) -> int | None:
        """The budget of a domain; `None` if it is not known."""
        at = self._at(domain)
        return None if at is None else int(self._budgets[at])

    def score(self, domain: str) -> float | None:
        """The score of a domain; `None` if it is not known."""
        at = self._at(domain)
        return None if at is None else float(self._scores[at])

    def _at(self, domain: str) -> int | None:
        key = np.uint64(domain_hash(domain))
        at = int(np.searchsorted(self._hashes, key))
        return at if at < len(self._hashes) and self._hashes[at] == key else None
