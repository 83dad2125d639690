"""One price for all parts of a crawl: visits move from where they are worth less to where they are worth more.

A crawl in parts has a price in each (`price`), and a budget is spent best where all prices are one: the Lagrange
multiplier of the whole (Kolobov et al., NeurIPS 2019; Busa-Fekete et al., WWW 2025 send only this number to all). Here
it is the other way round: parts are not sent a price, but a budget. So the whole is never overspent however late the
message arrives, and a part that receives none goes on. Prices then converge by themselves.

The price that a part finds by its visits is late: where pages change twice a year it takes weeks until it shows what
another budget does. Budgets that follow it oscillate forever (measured: less fresh than equal shares). But what a part
knows of its pages says at once what the price will be in the long run with the budget that it has (`price_for`): that
is the *forecast*, and budgets follow it. It knows nothing of signals, new pages and sites that must not be asked more
often; by how much it is off, against the price that visits find, is learnt slowly, over as many visits as there are
pages.

Every part keeps a tenth of an equal share: without visits it would not learn what they are worth. Invalid bids (0,
infinity, not a number), and those of a part without pages, are ignored: the budget of such a part moves towards an
equal share if pages wait there, and towards the minimum if none do.

The bids hold the whole state, including each part's present budget, so the process that runs the market may be
restarted. Times are those of the bids.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from periplus.model import Bid

from .evidence import DAY

_GAIN = 0.3
"""The share of the logarithm by which a price is off that a budget moves by at a time: visits go with about the root of
the price, so that this is half of the way or more, and never too far."""
_FARTHEST = 1.0
"""The maximum of such a logarithm that counts."""
_LEAST = 0.1
"""Share of an equal share that every shard keeps."""
_LEAST_MEMORY = 500.0
"""Visits by which a part learns how far its forecasts are off: as many as it has pages, but at least these."""
_MOST_OFF = 5.0
"""The maximum of the logarithm of that error."""
_VISITS_BETWEEN = 10
"""Visits of an average part between two adjustments of budgets."""
_LEAST_PAUSE = 60.0
"""Minimum seconds between two adjustments."""
_WORTH_TELLING = 0.01
"""Relative change of a budget below which no part is notified."""


class Market:
    """What each part may spend. `granted` sums to the whole; it is empty until every part has bid."""

    def __init__(self, parts: int) -> None:
        self.granted: list[float] = []
        self._off = [0.0] * parts
        self._looked_at = 0.0

    def turn(self, bids: Sequence[Bid | None]) -> list[tuple[int, float]]:
        """Parts whose budget changes, with the new one: first those that get less.

        May be called at any time: it computes at intervals, the first time when every part has bid.
        """
        received = [bid for bid in bids if bid is not None]
        if len(received) < len(self._off):
            return []
        whole, now = received[0].whole, max(bid.at for bid in received)
        if not self.granted:
            self.granted = shared_out(whole, [bid.visits_a_day for bid in received])
        else:
            pause = max(_VISITS_BETWEEN * len(received) / whole * DAY, _LEAST_PAUSE)
            if now < self._looked_at + pause:
                return []
            self._learn(received, (now - self._looked_at) / DAY)
            self.granted = shared_out(whole, self._moved(whole, received))
        self._looked_at = now
        return self._news([bid.visits_a_day for bid in received])

    def _learn(self, bids: Sequence[Bid], days: float) -> None:
        """Learn how far the forecast of each part is off."""
        for number, bid in enumerate(bids):
            if bid.is_sound:
                seen = min(self.granted[number] * days / max(bid.pages, _LEAST_MEMORY), 1.0)
                off = self._off[number] + seen * (math.log(bid.price) - math.log(bid.forecast) - self._off[number])
                self._off[number] = min(max(off, -_MOST_OFF), _MOST_OFF)

    def _moved(self, whole: float, bids: Sequence[Bid]) -> list[float]:
        """The next budget of each part, before all are scaled to the sum."""
        parts = list(zip(bids, self._off, self.granted, strict=True))
        known = [(math.log(bid.forecast) + off, has) for bid, off, has in parts if bid.is_sound]
        mean = math.fsum(price * has for price, has in known) / math.fsum(has for _, has in known) if known else 0.0
        equal = whole / len(parts)
        moved = []
        for bid, off, has in parts:
            if bid.is_sound:
                by = math.log(bid.forecast) + off - mean
            else:
                by = math.log((equal if bid.waiting else _LEAST * equal) / has)
            moved.append(has * math.exp(_GAIN * min(max(by, -_FARTHEST), _FARTHEST)))
        return moved

    def _news(self, had: Sequence[float]) -> list[tuple[int, float]]:
        """All that differ, if one differs by enough: some of them would not sum to the whole."""
        gains = [has - before for has, before in zip(self.granted, had, strict=True)]
        if all(abs(gain) <= _WORTH_TELLING * before for gain, before in zip(gains, had, strict=True)):
            return []
        changed = sorted((number for number, gain in enumerate(gains) if gain), key=gains.__getitem__)
        return [(number, self.granted[number]) for number in changed]


def shared_out(whole: float, wanted: Sequence[float]) -> list[float]:
    """The whole in proportion to what is wanted; every part gets at least a tenth of an equal share.

    Values that are negative or not a number count as 0.
    """
    most = max((want for want in wanted if 0.0 < want < math.inf), default=1.0)
    asked = [want / most if 0.0 <= want < math.inf else 0.0 for want in wanted]
    least = _LEAST * whole / len(asked)
    shares = [least] * len(asked)
    free = set(range(len(asked)))
    while free:  # each round but the last leaves a part with the minimum
        left = whole - least * (len(asked) - len(free))
        total = math.fsum(asked[number] for number in free)
        fair = {number: left * (asked[number] / total if total > 0.0 else 1.0 / len(free)) for number in free}
        poor = {number for number, share in fair.items() if share < least}
        if not poor:
            for number, share in fair.items():
                shares[number] = share
            break
        free -= poor
    largest = max(range(len(shares)), key=shares.__getitem__)  # it bears what rounding left over
    shares[largest] += whole - math.fsum(shares)
    return shares
