"""Estimates the share of fresh copies, with an interval, from the visits to all pages.

The scheduler needs one number a page, its change rate. An honest interval needs more: how uncertain these rates are,
how uncertain the distribution is from which the rates of pages come that were hardly visited, and whether pages of a
site change at the same time. `change_posterior` draws all of these from their joint distribution; each draw gives every
copy a probability to be fresh, and the spread of the draws is the uncertainty. At first all is prior and the interval
is wide; every visit narrows it.

Three things that the draws leave out are added: copies that happen to be fresh or stale though the probability is
known; copies with the same text, such as one page at the many URLs that a session number gives it, which are fresh or
stale together; and pages that are not in the sample. Pages that have vanished say how often pages do, and are not
counted.

Pages without a date have a distribution of rates of their own: a date of the last hour is taken for a clock and
dropped, so it is the fast pages that have none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .change_posterior import ChangePosterior, Pages, Visits
from .evidence import BY_DATE, DAY, PageEvidence
from .evidence_columns import observations_of, pages_of
from .page_rates import unread_signals
from .signal_posterior import SignalPosterior, Unread, watched_days
from .signals import SiteEvidence

Floats = NDArray[np.float64]

HOUR = 3600.0
_MAX_GROUPS = 40
"""Sites, and groups of pages (of a site; dated or not; with or without signals), that are estimated separately. The
others, with the fewest visited pages, share one estimate."""
_NOISE = np.array([-2.0, -1.4, -0.9, -0.5, -0.16, 0.16, 0.5, 0.9, 1.4, 2.0])
"""Standard normal quantiles: the randomness that remains when the probabilities are known, for each draw."""
_TIMES = 40
"""Draws of which texts are fresh, for each draw of their chances: 2,000 in all."""
_DATE_TRUST = 2.0
"""Weight of the first guess at the share of false dates, in dates that visits have checked."""
_STRETCHED = 1.4
"""Factor by which the interval is wider than the draws say: they leave out what has never been seen of a site, such as
the first change of all its pages, and regularities, such as builds at the same hour each night. Chosen on generated
sites (`tests/engine/revisit/watched_site.py`, numbers from 100; a site of the lab that is built each night), and
checked on others."""
_SEED = 731
"""All measurements use the same random numbers: from one to the next, only evidence moves the result."""


class FreshShare(Struct, frozen=True):
    """The expected share of fresh copies, and its 95 % interval."""

    mean: float
    low: float
    high: float


NOTHING_KNOWN = FreshShare(0.0, 0.0, 1.0)
"""The share of no pages."""


def fresh_share(
    pages: Sequence[PageEvidence],
    site: Sequence[int],
    sites: Sequence[SiteEvidence],
    now: float,
    population: int | None = None,
    *,
    gone: Sequence[PageEvidence] = (),
    gone_site: Sequence[int] = (),
    shortest: float = HOUR,
    texts: Sequence[int] = (),
) -> FreshShare:
    """The share of copies that are as their page is now, from a random sample `pages` of `population` pages.

    Page `n` is on the site `sites[site[n]]`. Of the pages in `gone` the last visit found that they had vanished.
    `shortest` is the shortest time between two visits, in seconds (`refresh.shortest`): by it the first guess at change
    rates is made, before visits show them. Copies of one site with the same number in `texts` have the same text.
    """
    if not pages:
        return NOTHING_KNOWN
    chances = _draws([*pages, *gone], [*site, *gone_site], sites, now, shortest)[: len(pages)]
    count = len(pages)
    sampled = min(count / max(population or count, count), 1.0)
    shares = chances.mean(axis=0)
    known = (chances * (1.0 - chances)).mean(axis=0) * sampled
    drawn = np.maximum(shares * (1.0 - shares), 0.25 / count) * (1.0 - sampled)
    spread = np.sqrt((known + drawn) / count)
    possible = np.clip(shares + _NOISE[:, None] * spread, 0.0, 1.0)
    low, high = np.quantile(possible, (0.025, 0.975))
    mean, half_a_page = float(shares.mean()), 0.5 / count * sampled
    down, up = _together(chances, texts) if texts else (0.0, 0.0)
    below = math.hypot(max(mean - float(low), 0.0) * _STRETCHED, down)
    above = math.hypot(max(float(high) - mean, 0.0) * _STRETCHED, up)
    return FreshShare(mean, max(mean - below - half_a_page, 0.0), min(mean + above + half_a_page, 1.0))


def _together(chances: Floats, texts: Sequence[int]) -> tuple[float, float]:
    """How far the share may lie below and above its mean because copies with the same text are fresh or stale together.

    Each text of several copies is drawn to be fresh or stale, some times for each draw of the chances.
    """
    _, number, copies = np.unique(np.asarray(texts, np.int64), return_inverse=True, return_counts=True)
    sums = np.zeros((len(copies), chances.shape[1]))
    np.add.at(sums, number, chances)
    several = copies > 1
    if not several.any():
        return 0.0, 0.0
    means = np.repeat(sums[several] / copies[several, None], _TIMES, axis=1)
    is_fresh = np.random.default_rng(_SEED).random(means.shape) < means
    shares = (copies[several, None] * (is_fresh - means)).sum(axis=0) / len(texts)
    low, high = np.quantile(shares, (0.025, 0.975))
    return max(-float(low), 0.0), max(float(high), 0.0)


def _draws(
    pages: Sequence[PageEvidence],
    site: Sequence[int],
    sites: Sequence[SiteEvidence],
    now: float,
    shortest: float = HOUR,
) -> Floats:
    """The probability of each page (row) that its copy is fresh, in each draw (column)."""
    number, random = np.asarray(site, np.int64), np.random.default_rng(_SEED)
    kept = pages_of(b"".join(page.pack() for page in pages))
    columns, visits = _evidence(kept, number, sites, now)
    pauses = np.array([2.0 * each.mean_lag for each in sites])
    rates = [
        unread_signals(page, sites[each], now) if pauses[each] else 0.0 for page, each in zip(pages, site, strict=True)
    ]
    unread, watched = Unread(np.array(rates), pauses), watched_days(kept, now)
    signals = SignalPosterior(kept, observations_of(kept), number, sites, unread, columns.age, watched, random)
    posterior = ChangePosterior(columns, visits, signals, random, shortest / DAY, now)
    return np.stack(list(posterior.draws()), axis=1)


def _evidence(
    kept: NDArray[np.void], site: NDArray[np.int64], sites: Sequence[SiteEvidence], now: float
) -> tuple[Pages, Visits]:
    """The evidence of the pages, as columns with times in days before now."""
    is_dated = kept["old_changes"] == BY_DATE  # nothing was folded
    is_seen = kept["ring"][:, 0] != 0
    ages = np.maximum(now - kept["visited_at"], 0.0) / DAY
    changes, days = (np.where(is_dated, 0.0, kept[name]).astype(np.float64) for name in ("old_changes", "old_days"))
    groups = _numbered(4 * site + 2 * is_dated + (kept["heard"] > 0), is_dated | is_seen)
    groups = 2 * groups + is_dated  # the rest, too, is parted by this
    false = np.array([min(max(each.false_dates, 0.02), 0.98) for each in sites])
    checked = _DATE_TRUST + np.array([each.date_expected + each.date_otherwise for each in sites])
    return (
        Pages(
            _numbered(site, is_seen),
            np.unique(groups, return_inverse=True)[1],
            ages,
            changes,
            days,
            days > 0.0,
            np.where(is_dated, kept["old_days"], 0.0).astype(np.float64),
            site,
            (checked * false, checked * (1.0 - false)),
        ),
        _visits(kept, ages),
    )


def _visits(kept: NDArray[np.void], ages: Floats) -> Visits:
    """The visits that are known one by one: each begins where the one before it ended."""
    seen = observations_of(kept)
    used = kept["ring"] != 0
    days = np.zeros(used.shape)
    days[used] = seen.days
    begin = ages[:, None] + np.cumsum(days[:, ::-1], axis=1)[:, ::-1]
    return Visits(seen.page, begin[used], (begin - days)[used], seen.is_changed)


def _numbered(names: NDArray[np.int64], is_known: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number names, those with the most known pages first; all beyond the limit share the last number."""
    found, numbers = np.unique(names, return_inverse=True)
    order = np.argsort(-np.bincount(numbers, is_known, len(found)), kind="stable")
    places = np.empty(len(found), np.int64)
    places[order] = np.minimum(np.arange(len(found)), _MAX_GROUPS)
    return places[numbers]
