"""When pages really changed: the truth that refresh policies are measured against.

`Histories` are read from a file of change times (one page a line: site, page, whether it still exists, POSIX times), or
generated from a mix of change intervals as Brandman et al. (2000) do it. A `Window` is a span of days of them, by day,
so that it can be walked through many times.

A simulated crawler works once a day, at its end: it sees what has changed since its last visit, and a page fetched then
is fresh until it next changes (Brandman et al. 2000, section 6). Changes keep their exact times, so that measures over
time are exact.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import ConfigError

from .edge_lists import read_lines

DAY = 86_400.0
FIGURE_2 = (0.23, 0.15, 0.16, 0.16, 0.30)
"""Shares of pages by how often they change (Brandman et al. 2000, Figure 2): the first and the last are in the text;
those between are read as 15, 16 and 16 %, which reproduce published results but are not printed."""
FIGURE_2_DAYS = (1.0, 7.0, 30.0, 120.0, 365.0)
"""The longest interval of each bar, in days; that of the last ("more than four months") is taken to be a year."""
_MOST_CHANGES = 1e9
_HINT = "a line is: site, page, 1 or 0 (it still exists or not), times in seconds since 1970; tabs between them"


class Histories(Struct, frozen=True):
    """Page `p` is `pages[p]` of `sites[site[p]]` and changed at `times[starts[p]:starts[p + 1]]`, ascending.

    Times are seconds. A page exists from `begins_at`; a time that equals it is the page's birth, not a change. Nothing
    is known after `ends_at`. `is_gone` states, where that is known, that a page had vanished by then, at its last time.
    `weights` are how important each page is, 1 in the mean; `None`: all alike. `left_out` counts, by reason, what could
    not be read.
    """

    sites: list[str]
    site: NDArray[np.int32]
    pages: list[str] | None
    starts: NDArray[np.int64]
    times: NDArray[np.float64]
    begins_at: NDArray[np.float64]
    ends_at: float
    is_gone: NDArray[np.bool_] | None = None
    weights: NDArray[np.float64] | None = None
    left_out: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.site)

    def of(self, page: int) -> NDArray[np.float64]:
        """When a page changed."""
        return self.times[self.starts[page] : self.starts[page + 1]]


class HistorySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A generated history: Brandman's own simulation by default (10,000 pages of four sites over 100 days)."""

    pages: int = 10_000
    """how many pages"""
    sites: int = 4
    """how many sites share them, equally"""
    days: float = 100.0
    """how long it lasts"""
    shares: tuple[float, ...] = FIGURE_2
    """Weights: shares of the pages that change as often as `intervals` says"""
    intervals: tuple[float, ...] = FIGURE_2_DAYS
    """days between two changes, ascending, one for each share"""
    is_spread: bool = False
    """Spread intervals log-uniformly down to the next shorter one, instead of using the longest"""
    is_poisson: bool = False
    """Random (Poisson) changes at that mean rate, instead of regular intervals with a random phase"""
    seed: int = 0
    """the same seed gives the same history"""

    def check(self) -> None:
        """Raise a `ConfigError` where no history can be made of this."""
        if self.pages < 1 or self.sites < 1 or not 0.0 < self.days < float("inf"):
            raise ConfigError("a history needs pages, sites and days", hint="give each of them a value above zero")
        if len(self.shares) != len(self.intervals) or min(self.shares, default=0) < 0 or sum(self.shares) <= 0:
            raise ConfigError(
                "a mix needs a share for every interval", hint="as many shares as intervals, none below 0"
            )
        if min(self.intervals) <= 0 or list(self.intervals) != sorted(self.intervals):
            raise ConfigError("intervals of change ascend from above zero", hint="for example 1, 7, 30, 120, 365 days")
        if self.pages * max(1.0, self.days / self.intervals[0]) > _MOST_CHANGES:
            raise ConfigError("too many changes for the memory", hint="fewer pages or days, longer intervals")


def generate_histories(settings: HistorySettings = HistorySettings()) -> Histories:  # noqa: B008 - frozen
    """Pages that all exist from second 0 and change as the mix says, each independently of the others."""
    settings.check()
    random = np.random.default_rng(settings.seed)
    horizon = settings.days * DAY
    interval = _intervals(settings, random) * DAY
    if settings.is_poisson:
        counts = random.poisson(horizon / interval)
        starts = _starts(counts)
        page = np.repeat(np.arange(settings.pages), counts)
        times = random.random(starts[-1]) * horizon
        times = times[np.lexsort((times, page))]
    else:
        phase = random.random(settings.pages) * interval
        counts = np.maximum(np.ceil((horizon - phase) / interval), 0).astype(np.int64)
        starts = _starts(counts)
        place = np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
        times = np.repeat(phase, counts) + place * np.repeat(interval, counts)
    site = (np.arange(settings.pages) * settings.sites // settings.pages).astype(np.int32)
    names = [f"site-{number}.example" for number in range(settings.sites)]
    return Histories(names, site, None, starts, times, np.zeros(settings.pages), horizon)


def generated_rates(settings: HistorySettings) -> NDArray[np.float64]:
    """Changes a day of each page of `generate_histories`, as they were drawn."""
    return 1.0 / _intervals(settings, np.random.default_rng(settings.seed))


def _intervals(settings: HistorySettings, random: np.random.Generator) -> NDArray[np.float64]:
    """Days between two changes of each page, in random order."""
    edges = np.cumsum(settings.shares) / sum(settings.shares)
    bar = np.searchsorted(edges, (np.arange(settings.pages) + 0.5) / settings.pages, side="right")
    bar = random.permutation(np.minimum(bar, len(edges) - 1))
    longest = np.array(settings.intervals)
    if not settings.is_spread:
        return longest[bar]
    shortest = np.concatenate((longest[:1], longest[:-1]))
    return np.asarray(shortest[bar] * (longest / shortest)[bar] ** random.random(settings.pages), np.float64)


def read_histories(path: Path, *, ends_at: float | None = None) -> Histories:
    """The histories in a file, plain or compressed. They end with the last change of all, unless it is known when."""
    sites: dict[str, int] = {}
    site: list[int] = []
    pages: list[str] = []
    gone: list[bool] = []
    times: list[NDArray[np.float64]] = []
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip() or line.startswith(("#", "%")):
            continue
        fields = line.rstrip("\r\n").split("\t")
        if len(fields) not in (3, 4):
            raise ConfigError(f"{path}:{number}: not a page and its changes", hint=_HINT)
        site.append(sites.setdefault(fields[0], len(sites)))
        pages.append(fields[1])
        gone.append(len(fields) == 4 and fields[2] == "0")
        times.append(_times(fields[-1], path, number))
    if not pages:
        raise ConfigError(f"{path} has no histories", hint=_HINT)
    begins_at = np.array([of_page[0] for of_page in times])
    last = max(float(of_page[-1]) for of_page in times)
    return Histories(
        list(sites),
        np.array(site, np.int32),
        pages,
        _starts(np.array([len(of_page) for of_page in times])),
        np.concatenate(times),
        begins_at,
        last if ends_at is None else ends_at,
        np.array(gone),
    )


def _times(text: str, path: Path, number: int) -> NDArray[np.float64]:
    try:
        times = np.array(text.split(), np.float64)
    except ValueError:
        times = np.array([np.nan])
    if not len(times) or not np.isfinite(times).all():
        raise ConfigError(f"{path}:{number}: not times in seconds", hint=_HINT)
    times.sort()
    return times


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Window(Struct, frozen=True):
    """Some pages of histories, by their numbers in `pages`; here they are numbered from 0.

    Days are counted from the beginning of the window. On day `d` the pages `changed[starts[d]:starts[d + 1]]` changed,
    first at `changed_at`, in days.

    A page is born at `born_at` (0: it is older) and vanishes at `gone_at` (infinity: it does not). It is in the
    collection from its birth, or from the beginning of the window, with a fresh copy: how pages are found is not
    simulated. A page that vanished changed then, and leaves the collection when the crawler next visits it.

    `arrivals` are the pages by birth, of which `born[d]` are there when day `d` ends. `rates` are changes a day from
    birth to the end of the window, at most one counted each day; `weights` are how important each page is. `keys` are
    the days of change of each page, `page * days + day`, ascending, and at last one of a page that is none.
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
