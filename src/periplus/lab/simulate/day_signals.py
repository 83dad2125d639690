"""Change signals for a window of days: some changes are signalled, some late, and some signals are false.

Each site has a precision and a recall, drawn from one quality (`noisy_refresh` has the same in finer steps, for Poisson
changes only). Here signals are added to any history, also a recorded one. False signals come to a page in proportion to
its true ones, so precision is the same for all pages of a site.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from .noisy_refresh import SignalQuality, quality
from .window import Floats, Ints, Window

_SEED = 2_000_003
"""Separates the random numbers of signals from those of changes."""


class DaySignals(Struct, frozen=True):
    """On day `d` signals came for `pages[starts[d]:starts[d + 1]]`, some of them several times.

    The true parameters, for policies that know them: changes without a signal (`alpha`) and signals (`gamma`) a day of
    each page, and the `precision` of its site's.
    """

    starts: Ints
    pages: Ints
    alpha: Floats
    gamma: Floats
    precision: Floats

    def between(self, first: int, end: int) -> Ints:
        """The pages with a signal from the day `first` on, before the day `end`."""
        return self.pages[self.starts[first] : self.starts[end]]


def day_signals(window: Window, name: str | SignalQuality, seed: int = 0) -> DaySignals:
    """Signals of a quality, by its name or itself. The same seed gives the same ones."""
    wanted = quality(name) if isinstance(name, str) else name
    random = np.random.default_rng(seed + _SEED)
    precision = random.uniform(*wanted.precision, window.sites)[window.site]
    recall = random.uniform(*wanted.recall, window.sites)[window.site]
    told = random.random(len(window.changed)) < recall[window.changed]
    changed_on = np.repeat(np.arange(window.days), np.diff(window.starts))
    false_rate = recall * window.rates * (1.0 - precision) / precision
    lived = np.maximum(np.minimum(window.gone_at, window.days) - window.born_at, 0.0)
    false = np.repeat(np.arange(len(window)), random.poisson(false_rate * lived))
    false_at = window.born_at[false] + random.random(len(false)) * lived[false]
    page = np.concatenate((window.changed[told], false))
    late = (wanted.delay + random.random(int(told.sum()))).astype(np.int64)
    day = np.concatenate((changed_on[told] + late, false_at.astype(np.int64)))
    heard = day < window.days
    page, day = page[heard], day[heard]
    order = np.argsort(day, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(day, minlength=window.days))))
    return DaySignals(starts, page[order], (1.0 - recall) * window.rates, recall * window.rates / precision, precision)
