"""A stretch of days out of histories of change, laid out by day so that it can be walked through many times.

A crawler works once a day, at its end: it sees what has changed since, and a page fetched then is fresh until it next
changes (Brandman et al. 2000, section 6). Changes keep their exact times, so that what is measured over time is exact.
Days are counted from the beginning of the window.

A page that is older than the window is in the collection from its beginning, and a younger one from its birth, with a
fresh copy each: how pages are found is not the question here. A page that vanished changed then, and leaves the
collection when the crawler comes to see it.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import ConfigError

from .histories import DAY, Histories

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Window(Struct, frozen=True):
    """Some pages of histories, by their numbers in `pages`; here they are numbered from 0.

    On day `d` the pages `changed[starts[d]:starts[d + 1]]` changed, first at `changed_at`, in days.

    A page is born at `born_at` (0: it is older) and vanishes at `gone_at` (infinity: it does not); `arrivals` are the
    pages by birth, of which `born[d]` are there when day `d` ends. `rates` are changes a day from birth to the end of
    the window, at most one counted each day; `weights` are how important each page is. `keys` are the days of change of
    each page, `page * days + day`, ascending, and at last one of a page that is none.
    """

    days: int
    pages: Ints
    sites: int
    site: NDArray[np.int32]
    born_at: Floats
    gone_at: Floats
    arrivals: Ints
    born: Ints
    rates: Floats
    weights: Floats
    starts: Ints
    changed: Ints
    changed_at: Floats
    keys: Ints

    def __len__(self) -> int:
        return len(self.site)

    def next_change(self, pages: Ints, day: int) -> Floats:
        """The first day after `day` on which each page changes; infinity if there is none."""
        place = np.searchsorted(self.keys, pages * self.days + day, "right")
        found = self.keys[place]
        return np.where(found // self.days == pages, found % self.days, np.inf)


def window(histories: Histories, days: int | None = None, start: float | None = None) -> Window:
    """The days from `start` (in seconds): by default the last ones, and by default all that there are."""
    begin, length = _span(histories, days, start)
    born_at = np.maximum((histories.begins_at - begin) / DAY, 0.0)
    gone_at = _vanishes(histories, begin)
    pages = np.flatnonzero((born_at < length) & (gone_at > born_at))
    born_at, gone_at = born_at[pages], gone_at[pages]

    number = np.full(len(histories), -1, np.int64)
    number[pages] = np.arange(len(pages))
    owner = np.repeat(number, np.diff(histories.starts))
    at = (histories.times - begin) / DAY
    is_change = (owner >= 0) & (at >= 0) & (at < length) & (histories.times > _births(histories))
    at = at[is_change]
    keys = owner[is_change] * length + at.astype(np.int64)
    is_first = np.diff(keys, prepend=-1) > 0  # of its day: pages are in order, and so are the times of each
    keys, at = keys[is_first], at[is_first]
    order = np.argsort(keys % length, kind="stable")
    arrivals = np.argsort(born_at, kind="stable")
    by_day = np.bincount(keys % length, minlength=length)
    return Window(
        days=length,
        pages=pages,
        sites=len(histories.sites),
        site=histories.site[pages],
        born_at=born_at,
        gone_at=gone_at,
        arrivals=arrivals,
        born=np.searchsorted(born_at[arrivals], np.arange(1, length + 1), "left"),
        rates=np.bincount(keys // length, minlength=len(pages)) / np.maximum(length - born_at, 1.0),
        weights=np.ones(len(pages)) if histories.weights is None else histories.weights[pages],
        starts=np.concatenate(([0], np.cumsum(by_day))),
        changed=(keys // length)[order],
        changed_at=at[order],
        keys=np.append(keys, len(pages) * length),
    )


def _span(histories: Histories, days: int | None, start: float | None) -> tuple[float, int]:
    if not len(histories):
        raise ConfigError("there are no pages in this history", hint="give one with at least one page")
    first = float(histories.begins_at.min()) if start is None else start
    known = int((histories.ends_at - first) / DAY + 1e-9)
    length = known if days is None else days
    if not 1 <= length <= known:
        raise ConfigError(
            f"a window of {length} days does not fit into this history", hint=f"it has {max(known, 0)} from there on"
        )
    return (histories.ends_at - length * DAY if start is None else start), length


def _vanishes(histories: Histories, begin: float) -> Floats:
    gone_at = np.full(len(histories), np.inf)
    if histories.is_gone is not None:
        gone = np.flatnonzero(histories.is_gone & (np.diff(histories.starts) > 0))
        gone_at[gone] = (histories.times[histories.starts[gone + 1] - 1] - begin) / DAY
    return gone_at


def _births(histories: Histories) -> Floats:
    """For every time, when its page appeared: a time that equals it is not a change."""
    return np.repeat(histories.begins_at, np.diff(histories.starts))
