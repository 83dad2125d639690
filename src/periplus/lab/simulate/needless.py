"""Needless requests: for pages that had not changed, and for pages of the wrong kind.

Brandman et al. (2000), section 4. A page that changes C times while it is asked for R times is asked needlessly at
least R - (C + 1) times: the first request is for the first version. (The paper's condition, R > C - 1, would let that
be negative: it is at least zero.) Figure 3 is that bound over the pages of Figure 2, for 100 days.

Who wants images and has no list of them must fetch every HTML page to find them: section 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .findings import NOT_COMPARABLE, Curve, Finding, finding, mean_curve
from .histories import FIGURE_2, FIGURE_2_DAYS, HistorySettings, generate_histories

DAYS = 100
VISITS = (2, 5, 10, 20, 50, 100)
_PAPER = {100: 0.77}
_NOTES = {
    100: "the paper's words explain 77 % as all but the 23 % that change daily, which its formula approaches only with "
    "more visits than one a day"
}


def min_needless(changes: ArrayLike, visits: int) -> NDArray[np.float64]:
    """The least share of the visits to each page that are needless."""
    least: NDArray[np.float64] = np.maximum(visits - (np.asarray(changes, float) + 1), 0.0)
    return least


def needless_share(changes: ArrayLike, visits: int, weights: Sequence[float] | None = None) -> float:
    """The share of all visits that are needless, for pages (or kinds of pages, weighted) with these change rates."""
    return float(np.average(min_needless(changes, visits), weights=weights)) / visits


def figure_3(seeds: Sequence[int] = range(5)) -> tuple[list[Finding], list[Curve]]:
    """Needless requests by visits in 100 days: the bars of Figure 2 as they are, and with intervals spread in them."""
    changes = np.floor(DAYS / np.array(FIGURE_2_DAYS))
    findings = [
        finding(
            f"Figure 3: needless requests at {visits} visits in {DAYS} days",
            _PAPER.get(visits),
            needless_share(changes, visits, FIGURE_2),
            "share",
            tolerance=0.02 if visits in _PAPER else 0.0,
            note=_NOTES.get(visits, "the paper prints no number here"),
        )
        for visits in VISITS
    ]
    every = range(1, DAYS + 1)
    spread = [_changes(seed) for seed in seeds]
    return findings, [
        mean_curve("bars as they are", every, [[needless_share(changes, visits, FIGURE_2) for visits in every]]),
        mean_curve("spread within bars", every, [[needless_share(of, visits) for visits in every] for of in spread]),
    ]


def media_findings() -> list[Finding]:
    """What a crawl for images wastes on HTML: the formula alone, with the shares that the paper's numbers imply."""
    note = "the shares of Figure 4 are not printed: the formula gives back what they were read from"
    return [
        Finding(what, html, waste(html, 1 - html), "share", NOT_COMPARABLE, note)
        for what, html in (
            ("Section 4.2: requests for HTML of a crawl for images", 0.66),
            ("Section 4.2: bytes of HTML of a crawl for images", 0.30),
        )
    ]


def waste(html: float, wanted: float) -> float:
    """The share that is wasted on HTML where it is fetched only to find what is wanted. Both in requests, or bytes."""
    return html / (html + wanted) if html + wanted > 0 else 0.0


def _changes(seed: int) -> NDArray[np.int64]:
    """How often each page of a generated history changes."""
    return np.diff(generate_histories(HistorySettings(days=DAYS, is_spread=True, seed=seed)).starts)
