"""Draws how far the signals of pages can be trusted, jointly with their change rates (`change_posterior`).

A signal is right with a probability, its precision, which differs between pages of one site: where a nightly build
gives every page a new date, it is right for the pages that are edited daily, and wrong for the others. So each page has
a precision for each kind of signal, and the pages of a site share the distribution from which these come. Both are
drawn: precisions from what visits found after signals, distributions from the precisions of the pages and from a prior
that counts as few signals. While no visit has checked a site's signals, all its pages may well have changed or none;
the draws differ by that, and the stated interval is wide.

Signals that the site has published, and that have not been read yet, come on all pages at once or page by page. Which
of the two it is follows from the numbers of signals that pages had so far.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.random import Generator
from numpy.typing import NDArray

from .evidence import DAY, KINDS, MOST_SIGNALS, SignalKind, shift_of
from .evidence_columns import Observations
from .signals import KindEvidence, SiteEvidence

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEVELS: Floats = np.array([0.005, 0.02, 0.05, 0.1, 0.18, 0.28, 0.4, 0.52, 0.64, 0.75, 0.85, 0.92, 0.97, 0.99])
"""Precisions that a page's signals may have."""
_KAPPAS: Floats = -np.log1p(-LEVELS)
_WIDTHS: Floats = np.diff(np.concatenate(([0.0], (LEVELS[1:] + LEVELS[:-1]) / 2, [1.0])))
_MOST_PRIOR = 4.0
"""Maximum weight of the prior of a distribution of precisions, in pages."""
_SIGNALS_OF_PAGE, _MOST_ELSEWHERE, _SHARPEST = 4.0, 10.0, 60.0
"""Signals that were checked on pages or visits that are not given: this number counts as a page, up to this number of
pages; and the prior's shape follows at most this number of them."""
_EVENTS = 3
"""Signals to all pages of a site between two readings of its file: at most this number is drawn."""
_LEAST = 1e-9


class Unread(Struct, frozen=True):
    """Signals that were published and not read yet.

    `rate` is their number a day for each page, `pause` the days between two readings of a site's file (0: unknown).
    """

    rate: Floats
    pause: Floats


class SignalPosterior:
    """Precisions of signals for each page, given its visits; `draw` draws them again for other change rates."""

    def __init__(
        self,
        kept: NDArray[np.void],
        seen: Observations,
        site: Ints,
        sites: Sequence[SiteEvidence],
        unread: Unread,
        age: Floats,
        watched: Floats,
        random: Generator,
    ) -> None:
        self._random, self._visits, self._pages = random, len(seen.page), len(kept)
        shifts = np.array([shift_of(kind) for kind in range(KINDS)], np.uint32)
        pending = (kept["pending"][:, None] >> shifts & np.uint32(MOST_SIGNALS)).astype(np.float64)
        visit, kind = np.nonzero(seen.signals)
        count, page = seen.signals[visit, kind].astype(np.float64), seen.page[visit]
        is_used = pending > 0.0
        is_used[page, kind] = True
        self._page, self._kind = np.nonzero(is_used)  # of each pair of a page and a kind
        number = np.zeros(is_used.shape, np.int64)
        number[self._page, self._kind] = np.arange(len(self._page))
        self._pending = pending[self._page, self._kind]
        self._visit, self._count, self._pair = visit, count, number[page, kind]
        names, self._source = np.unique(site[self._page] * KINDS + self._kind, return_inverse=True)
        is_right = seen.is_changed[visit]
        self._wrong = np.bincount(self._pair[~is_right], count[~is_right], len(self._page))
        self._is_checked = np.zeros(len(self._page), bool)
        self._is_checked[self._pair] = True
        checked = np.bincount(self._source[self._pair], count, len(names))
        kinds = [sites[name // KINDS].of(SignalKind(name % KINDS)) for name in names.tolist()]
        self._prior = np.array([prior_of(each, here) for each, here in zip(kinds, checked, strict=True)])
        self._prior = self._prior.reshape(-1, len(LEVELS))
        self._mixes = self._prior / self._prior.sum(axis=1, keepdims=True)
        self._level = self._first_levels()
        self._found = [np.flatnonzero(is_right & (kind == each)) for each in range(KINDS)]
        self._begin_unread(site, sites, unread, age, watched, kept["heard"].astype(np.float64), names)

    def _first_levels(self) -> Ints:
        means = (self._mixes @ LEVELS)[self._source]
        return np.asarray(np.searchsorted(LEVELS, means).clip(0, len(LEVELS) - 1), np.int64)

    def reasons(self) -> Floats:
        """What the signals before each visit add to the reasons to expect that it finds a change."""
        kappas = _KAPPAS[self._level[self._pair]]
        return np.bincount(self._visit, self._count * kappas, self._visits).astype(np.float64, copy=False)

    def draw(self, quiet: Floats) -> None:
        """Draw all again, given the changes without a signal that each visit expected."""
        if not len(self._page):
            return
        for kind in range(KINDS):
            pairs = np.flatnonzero((self._kind == kind) & self._is_checked)
            if len(pairs):
                self._draw_levels(kind, pairs, quiet + self.reasons())
        others = np.flatnonzero(~self._is_checked)
        self._level[others] = self._drawn(self._mixes[self._source[others]])
        known = self._is_checked
        size = len(LEVELS)
        counts = np.bincount(self._source[known] * size + self._level[known], minlength=self._mixes.size)
        drawn = self._random.gamma(self._prior + counts.reshape(self._mixes.shape)) + _LEAST
        self._mixes = drawn / drawn.sum(axis=1, keepdims=True)

    def _draw_levels(self, kind: int, pairs: Ints, expected: Floats) -> None:
        """Draw the precision of one kind on each page; `expected` changes of each visit include those of signals."""
        logs = -self._wrong[pairs, None] * _KAPPAS
        found = self._found[kind]
        if len(found):
            visit, pair, count = self._visit[found], self._pair[found], self._count[found]
            others = np.maximum(expected[visit] - count * _KAPPAS[self._level[pair]], _LEAST)
            at_levels = others[:, None] + count[:, None] * _KAPPAS
            each = np.log(1.0 - np.exp(-at_levels.astype(np.float32)))
            first = np.flatnonzero(np.diff(pair, prepend=-1))
            logs[np.searchsorted(pairs, pair[first])] += np.add.reduceat(each, first, axis=0)
        likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
        self._level[pairs] = self._drawn(likelihood * self._mixes[self._source[pairs]])

    def _drawn(self, weights: Floats) -> Ints:
        sums = np.cumsum(weights, axis=1)
        place: Ints = (sums < self._random.random((len(weights), 1)) * sums[:, -1:]).sum(axis=1)
        return np.minimum(place, len(LEVELS) - 1)

    # signals since the last visits

    def chances(self) -> Floats:
        """The probability of each page that no signal since its last visit was right, whether read or not."""
        reasons = np.bincount(self._page, self._pending * _KAPPAS[self._level], self._pages)
        chances: Floats = np.exp(-reasons)
        if len(self._waiting):
            chances[self._waiting] *= self._unread_chances()
        return chances

    def _begin_unread(
        self, site: Ints, sites: Sequence[SiteEvidence], unread: Unread, age: Floats, watched: Floats, heard: Floats,
        names: Ints,
    ) -> None:  # fmt: skip
        self._waiting = np.flatnonzero((unread.rate > 0.0) & (unread.pause[site] > 0.0))
        self._rate, self._age, self._site = unread.rate[self._waiting], age[self._waiting], site[self._waiting]
        self._pause = unread.pause
        count = len(sites)
        pages = np.maximum(np.bincount(self._site, minlength=count), 1)
        self._events_a_day = np.bincount(self._site, self._rate, count) / pages
        self._together = jointness(heard, watched, site, count)
        self._source_site = names // KINDS
        judged = np.array([sites[name // KINDS].kinds[name % KINDS].judged for name in names.tolist()])
        self._source_weight = judged + _LEAST
        self._stated = np.array([-np.expm1(-each.heard[1]) for each in sites])

    def _unread_chances(self) -> Floats:
        count, random = len(self._pause), self._random
        weight = np.bincount(self._source_site, self._source_weight, count)
        right = np.bincount(self._source_site, self._source_weight * (self._mixes @ LEVELS), count)
        precision = np.where(weight > 0.0, right / np.maximum(weight, _LEAST**2), self._stated)
        since_read = self._pause * random.random(count)
        events = random.poisson(self._events_a_day * since_read)
        at = since_read[:, None] * random.random((count, _EVENTS))
        at[np.arange(_EVENTS) >= events[:, None]] = np.inf
        is_together = random.random(count) < self._together
        site = self._site
        window = np.minimum(self._age, since_read[site])
        apart = np.exp(-self._rate * precision[site] * window)
        missed = (at[site] < self._age[:, None]).sum(axis=1)
        together = (1.0 - precision[site]) ** missed
        return np.where(is_together[site], together, apart)


def prior_of(kind: KindEvidence, checked: float) -> Floats:
    """The prior of the distribution of a kind's precisions, as numbers of pages for each of `LEVELS`.

    Its shape is the Beta distribution of the first trust in the kind and of what was found of its signals elsewhere: on
    older visits, and on pages that are not in the sample. `checked` of its signals are those of the sample.
    """
    right, judged = kind.prior
    elsewhere = max(kind.judged - checked, 0.0)
    share = min(kind.right / kind.judged, 1.0) if kind.judged else 0.0
    shaping = min(elsewhere, _SHARPEST)
    good, bad = right + share * shaping, judged - right + (1.0 - share) * shaping
    weight = min(judged, _MOST_PRIOR) + min(elsewhere / _SIGNALS_OF_PAGE, _MOST_ELSEWHERE)
    logs = (good - 1.0) * np.log(LEVELS) + (bad - 1.0) * np.log1p(-LEVELS)
    density = np.exp(logs - logs.max()) * _WIDTHS
    prior: Floats = weight * density / density.sum()
    return prior


def jointness(heard: Floats, watched: Floats, site: Ints, sites: int) -> Floats:
    """The probability, for each site, that a signal comes to all of its pages at once.

    Independent signals of alike pages have numbers whose variance is their mean; of common ones pages have the same
    number, each in its time.
    """
    total = np.bincount(site, heard, sites)
    mean = (total / np.maximum(np.bincount(site, watched, sites), _LEAST))[site] * watched
    spread = np.bincount(site, (heard - mean) ** 2, sites)
    together: Floats = np.where(total > 0.0, 1.0 - spread / np.maximum(total, _LEAST), 0.0)
    return together.clip(0.0, 1.0)


def watched_days(kept: NDArray[np.void], now: float) -> Floats:
    """For how many days each page has been watched."""
    since = kept["watched_from"].astype(np.float64)
    days: Floats = np.where(since > 0.0, np.maximum(now - since, 0.0), 0.0) / DAY
    return days
