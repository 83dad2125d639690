"""What a crawl that comes back may spend on visits, all of it or a part, and what a visit must be worth for that.

A part of a crawl has a share of the visits, which moves while it goes on (`policy.refresh.market`): it says what it
would pay for more, and is told what it may spend. Price and share are kept with the state. Whoever begins again with
the same budget has both at once; where there are more or fewer parts than before, all begin with equal shares.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from periplus.model import State, Url
from periplus.policy.refresh import Bid, Price

from .forecasting import Forecast
from .lessons import Lessons
from .valuing import Valuer

_PRICE, _SHARE, _MEAN_WEIGHT = "price", "share of visits", "mean weight"
_LOOKED_EVERY = 600.0
"""Seconds between two looks at what is known of the pages that stand for all."""
_FARTHEST = 4.0
"""A price follows the budget at once by such a factor, at most."""


class WatchSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What `periplus watch` may spend."""

    visits_a_day: int = 0
    """Requests a day, over all sites; 0: a seventh of the pages that there are."""
    per_site: int = 0
    """Requests a day of one site, at most; 0: as many as politeness allows."""


class Watching(Struct, frozen=True):
    """What a crawl that comes back may spend, all of its parts together: so many visits a day."""

    visits_a_day: float
    parts: int = 1


class Spending:
    """The budget of one part. Without `watching` there is none."""

    def __init__(self, state: State, watching: Watching | None, valuer: Valuer, lessons: Lessons) -> None:
        self._state = state
        self._watching = watching
        self._appraiser, self._weigh = valuer.appraiser, valuer.weigh
        self._forecast = Forecast(state, lessons, valuer)
        self._look_at = 0.0
        self._foretold: float | None = None
        self.visits_a_day = 0.0 if watching is None else self._first_budget(watching)

    def _first_budget(self, watching: Watching) -> float:
        """As much of the whole as the last time, among as many; or an equal share."""
        parts, _, share = (self._state.marked(_SHARE) or b"").decode().partition(" ")
        return watching.visits_a_day * (float(share) if parts == str(watching.parts) else 1.0 / watching.parts)

    def begin(self, urls: Sequence[Url], pages: int) -> None:
        """With the price of the last time; or what these say that it would be, who stand for so many pages."""
        kept = self._state.marked(_PRICE)
        if kept is not None and kept.startswith(self._unit):
            price = float(kept.removeprefix(self._unit))
        else:
            self._forecast.look(urls, pages)
            price = self._forecast.price(self.visits_a_day) or 1.0
        self._appraiser.price = Price(price)

    @property
    def _unit(self) -> bytes:
        """What a price is the price of: another objective or budget has another. How it is shared out matters not."""
        visits = 0.0 if self._watching is None else self._watching.visits_a_day
        return f"{self._appraiser.settings.objective} {visits:g} ".encode()

    def save(self) -> None:
        """Keep the price, the share of the visits, and what weights are measured by; the caller commits."""
        watching = self._watching
        if watching is not None:
            share = self.visits_a_day / watching.visits_a_day
            self._state.mark(_PRICE, self._unit + repr(self._appraiser.price.value).encode())
            self._state.mark(_SHARE, f"{watching.parts} {share!r}".encode())
            self._state.mark(_MEAN_WEIGHT, repr(self._weigh.mean).encode())

    def afford(self, visits_a_day: float) -> None:
        """The budget is another from now on, and the price what it will be then, as far as is known.

        It would find there by itself, but that takes weeks where pages hardly change.
        """
        before, self._foretold = self._foretold, self._forecast.price(visits_a_day)
        if before and self._foretold:
            self._appraiser.price.shift(min(max(self._foretold / before, 1.0 / _FARTHEST), _FARTHEST))
        self.visits_a_day = visits_a_day

    def bid(self, urls: Sequence[Url], pages: int, now: float) -> Bid | None:
        """What is said of visits here, to pages that these stand for. In weights as they were given."""
        if self._watching is None:
            return None
        if now >= self._look_at:
            self._look_at = now + _LOOKED_EVERY
            self._forecast.look(urls, pages)
            self._foretold = self._forecast.price(self.visits_a_day)
        return Bid(
            now,
            self._watching.visits_a_day,
            self.visits_a_day,
            self._appraiser.price.value * self._weigh.mean,
            (self._foretold or 0.0) * self._weigh.mean,
            pages,
            len(self._state.queues),
        )
