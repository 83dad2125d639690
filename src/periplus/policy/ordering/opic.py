"""On-line page importance computation: Abiteboul, Preda & Cobena (2003).

Every seed begins with the same cash. A page that is fetched gives what it has to the pages it leads to, in equal parts;
who has most cash is fetched next. What a page collects in the long run is its PageRank without a jump; before the long
run has come, the cash is a good guess (Baeza-Yates et al. 2005 found it among the best that need no recomputation). A
step costs as much as the page has links.

Cash that comes to a page which was fetched already stays there; a page without links keeps its own. The paper's virtual
page, which would hand that out again to all alike, changes no order.

*Adaptive* measures cash by the time in which it came, as the paper does for a changing graph: a URL that has collected
for longer than the window counts by its income over one window. A page found late is then not behind one that has
waited for ever and gained little. Time is counted in pages fetched.
"""

from __future__ import annotations

from ...model import ConfigError
from .worth import ByGain


class Opic(ByGain):
    """The worth of a URL is its cash."""

    def share(self, worth: float, links: int) -> float:
        """An equal part of all it has."""
        return worth / links

    def rest(self, worth: float) -> float:  # noqa: ARG002
        """All was given away."""
        return 0.0


class AdaptiveOpic(Opic):
    """The priority of a URL is what it collects in `window` fetches."""

    def __init__(self, window: int = 10_000) -> None:
        if window < 1:
            raise ConfigError(f"a window of {window} pages is none", hint="Give opic_adaptive a window of 1 or more")
        self._window = window

    def score_of(self, worth: float, age: int) -> float:
        """All it has, if it is young; its income over a window, if not."""
        return worth if age <= self._window else worth * self._window / age
