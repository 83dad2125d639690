"""How many requests go to domains that were judged to be spam while other sites have pages waiting.

A budget orders domains only where they compete. Requests that no other site can take at the moment, because each rests
between two visits or is asked already, would all go to a farm, whose hosts have no end. So these are counted: each
request to another site earns a part of one to spam. Nothing here knows the time, and nothing is refused.
"""

from __future__ import annotations

import math
from typing import Final

MAX_CREDIT: Final = 16.0
"""Requests to spam that may be saved up: a crawl that met none for days must not spend all of them at once."""


class SpamCredit:
    """Counts requests; `share` of them, from 0 to 1, may go to spam. `credit` is what was saved up when it began."""

    __slots__ = ("_earned", "credit")

    def __init__(self, share: float, credit: float = 0.0) -> None:
        self._earned = share / (1.0 - share) if share < 1.0 else math.inf
        self.credit = credit

    def count(self, *, is_spam: bool) -> None:
        """A request begins."""
        self.credit = self.credit - 1.0 if is_spam else min(self.credit + self._earned, MAX_CREDIT)

    @property
    def is_enough(self) -> bool:
        """Whether a request to spam may begin."""
        return self.credit >= 1.0 or self._earned == math.inf
