"""Brandman, Cho, Garcia-Molina & Shivakumar, "Crawler-Friendly Web Servers" (2000), reproduced.

Figure 6: 10,000 pages of four sites for 100 days, at 100 bandwidths, with a conventional crawler and one that reads the
sites' metadata. The paper took the change frequencies of those pages from data that are not published. The mix of its
Figure 2 is of all its pages: what follows from it is a prediction. A second mix was fitted to the paper's three
results, and only checks that they can hold together. Within a bar of Figure 2 all pages may change at the
bar's longest interval, or be spread over it: both are shown.

The paper charges 8 pages a day for 8 archives of 42 KB, but at 13 KB a page they are 26: we charge 26.

Brandman et al. (2000), section 4. A page that changes C times while it is asked for R times is asked needlessly at
least R - (C + 1) times: the first request is for the first version. (The paper's condition, R > C - 1, would let that
be negative: it is at least zero.) Figure 3 is that bound over the pages of Figure 2, for 100 days.

A crawler that looks for images and has no list of them must fetch every HTML page to find them: section 4.2.

The paper assumes a description of 64 bytes, compressed to a third, on pages of 13 KB. We make sites with paths as long
as it supposes (some thirty characters: two directories with several files in each, invented words), sizes around its
mean and dates over some years, and measure what `formats.metadata_archive` makes of them. A kilobyte is 1,024 bytes:
only so are the paper's numbers consistent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from zlib import decompress

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict
from numpy.typing import ArrayLike, NDArray

from periplus.formats.metadata_archive import SEGMENT, ArchiveEntry, MetadataArchive, write
from periplus.view.figures import Figure, FigureMark, PlotCurve
from periplus_lab.randomness import topics

from .findings import NOT_COMPARABLE, ReplicatedValue, finding, mean_curve
from .freshness import FreshnessCurves, FreshnessResult, freshness_curves, freshness_table, gain, run_freshness, saved
from .histories import FIGURE_2, FIGURE_2_DAYS, Floats, Histories, HistorySettings, generate_histories

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


def figure_3(seeds: Sequence[int] = range(5)) -> tuple[list[ReplicatedValue], list[PlotCurve]]:
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


def media_findings() -> list[ReplicatedValue]:
    """What a crawl for images wastes on HTML: the formula alone, with the shares that the paper's numbers imply."""
    note = "the shares of Figure 4 are not printed: the formula gives back what they were read from"
    return [
        ReplicatedValue(what, html, waste(html, 1 - html), "share", NOT_COMPARABLE, note)
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


PAGES = 100_000
KILOBYTE = 1_024
PAGE_BYTES = 13 * KILOBYTE
TYPES = {"text/html": 0.5, "image/gif": 0.2, "image/jpeg": 0.14, "text/plain": 0.08, "application/pdf": 0.08}
_ENDINGS = {"text/html": "html", "image/gif": "gif", "image/jpeg": "jpg", "text/plain": "txt", "application/pdf": "pdf"}
_LONGEST_WORD = 9
_FILES_A_DIRECTORY = 10
_MEAN_AGE = 365 * 86_400.0
_NOW = 949_363_200.0  # 1 February 2000, when the paper was written: a date has as many characters on any day


def generated_entries(pages: int, seed: int, types: dict[str, float] | None = None) -> list[ArchiveEntry]:
    """The pages of a site: `people/pictures/colorbars12.gif`, more or less, from invented words."""
    random = np.random.default_rng(seed)
    words = [word.decode() for word in topics() if len(word) <= _LONGEST_WORD]
    shares = TYPES if types is None else types
    kinds = random.choice(len(shares), pages, p=np.array(list(shares.values())) / sum(shares.values()))
    tree = random.integers(len(words), size=(max(pages // _FILES_A_DIRECTORY, 1), 2))
    directory = random.integers(len(tree), size=pages)
    name, number = random.integers(len(words), size=pages), random.integers(100, size=pages)
    modified_at = _NOW - random.exponential(_MEAN_AGE, pages)
    sizes = np.minimum(random.lognormal(np.log(PAGE_BYTES) - 0.5, 1.0, pages), 99_999)
    mimes = list(shares)
    return [
        ArchiveEntry(
            f"{'/'.join(words[part] for part in tree[directory[page]])}/{words[name[page]]}{number[page]}"
            f".{_ENDINGS[mimes[kinds[page]]]}",
            float(modified_at[page]),
            int(sizes[page]),
            mimes[kinds[page]],
        )
        for page in range(pages)
    ]


def archive_findings(seeds: Sequence[int] = range(3), pages: int = PAGES) -> list[ReplicatedValue]:
    """The statements of section 3 about sizes, compared with our own archives."""
    sites = [list(write(generated_entries(pages, seed))) for seed in seeds]
    one_type = [list(write(generated_entries(10 * SEGMENT, seed, {"text/html": 1.0}))) for seed in seeds]
    raw = [_raw_bytes(site) / pages for site in sites]
    packed = np.array([_packed_bytes(site) / pages for site in sites])
    largest = [_packed_bytes(site) / len(site) / KILOBYTE for site in one_type]
    counts = [float(len(site)) for site in sites]
    expected = 5.0 * -(-pages // SEGMENT)
    because = "the paper supposes that text shrinks to a third; ours is measured on invented paths"
    return [
        finding("Section 3.2: a description", 64, raw, "bytes", tolerance=6, note="a path of about 30 characters"),
        finding("Section 3.2: a description, compressed", 22, packed.tolist(), "bytes", tolerance=3, note=because),
        finding(
            "Section 3.2: descriptions in a kilobyte", 48, (KILOBYTE / packed).tolist(), "", tolerance=6, note=because
        ),
        finding(f"Section 3.3: an archive of {SEGMENT:,}", 42, largest, "KB", tolerance=5, note=because),
        finding(f"Section 3.3: archives of {pages:,} pages", expected, counts, "", note="five types, all common"),
        finding(
            "Section 3.4: metadata for data",
            0.16,
            (packed / PAGE_BYTES * 100).tolist(),
            "%",
            tolerance=0.03,
            note="pages of 13 KB, as the paper measured",
        ),
    ]


def _raw_bytes(archives: list[MetadataArchive]) -> int:
    return sum(len(decompress(archive.body, 31)) for archive in archives)


def _packed_bytes(archives: list[MetadataArchive]) -> int:
    return sum(len(archive.body) for archive in archives)


def figures(done: Brandman) -> list[Figure]:
    """Figure 3, and the three parts of Figure 6 for each mix of change frequencies."""
    needless = Figure(
        title="Figure 3: needless requests",
        x_label="visits in 100 days",
        y_label="requests that could not have brought a change",
        curves=tuple(done.figure_3),
        caption="The least share of requests for pages that have not changed since the previous one.",
        y_as="share",
        y_from_zero=True,
    )
    return [needless, *(plot for figure in done.figure_6 for plot in _parts(figure))]


def rows_of(done: Brandman) -> list[dict[str, Any]]:
    """Every run of Figure 6."""
    return [
        {"experiment": "brandman", "figure": "6", "mix": figure.mix, **asdict(result)}
        for figure in done.figure_6
        for result in figure.results
    ]


def _parts(figure: Figure6) -> list[Figure]:
    curves, mix = figure.curves, figure.mix
    bandwidth = "bandwidth: pages fetched a day, as a share of the collection"
    return [
        Figure(
            title=f"Figure 6a: freshness, {mix}",
            x_label=bandwidth,
            y_label="fresh copies after 100 days",
            curves=tuple(curves.freshness),
            x_as="share",
            y_as="share",
            marks=(FigureMark("the paper: perfect at about a fifth", x=0.2),),
        ),
        Figure(
            title=f"Figure 6b: gain, {mix}",
            x_label=bandwidth,
            y_label="how much fresher than the conventional crawler",
            curves=tuple(curves.gain),
            x_as="share",
            y_as="share",
            y_from_zero=True,
            marks=(FigureMark("the paper: up to 25 %", y=0.25),),
        ),
        Figure(
            title=f"Figure 6c: bandwidth saved, {mix}",
            x_label="freshness",
            y_label="bandwidth that is not needed for it",
            curves=tuple(curves.saved),
            x_as="share",
            y_as="share",
            marks=(FigureMark("the paper: 62 % at 80 %", x=0.8, y=0.62),),
        ),
    ]


Progress = Callable[[int, int], None]

BUDGETS = tuple(level / 100 for level in range(1, 101))
FITTED = (0.20, 0.10, 0.15, 0.15, 0.40)
"""Shares that were fitted to the paper's results for its four sites; the paper does not give them."""


class Mix(Struct, frozen=True):
    """How often the pages of an experiment change."""

    name: str
    shares: tuple[float, ...]
    is_spread: bool
    note: str

    def histories(self, seed: int) -> Histories:
        """The paper's collection with this mix."""
        return generate_histories(HistorySettings(shares=self.shares, is_spread=self.is_spread, seed=seed))


_PREDICTED = "a prediction: the mix of all the paper's pages, not of its four sites"
_WAS_FITTED = "a check on consistency: this mix was fitted to the paper's results"
MIXES = (
    Mix("Figure 2 mix", FIGURE_2, False, _PREDICTED),
    Mix("Figure 2 mix, spread", FIGURE_2, True, _PREDICTED),
    Mix("fitted mix", FITTED, False, _WAS_FITTED),
    Mix("fitted mix, spread", FITTED, True, _WAS_FITTED),
)


class Figure6(Struct, frozen=True):
    """One mix: the findings, the three parts of the figure, and the runs."""

    mix: str
    findings: list[ReplicatedValue]
    curves: FreshnessCurves
    results: list[FreshnessResult]


class Brandman(Struct, frozen=True):
    """Everything that was reproduced."""

    findings: list[ReplicatedValue]
    figure_3: list[PlotCurve]
    figure_6: list[Figure6]


def reproduce_brandman(
    seeds: Sequence[int] = range(5),
    *,
    budgets: Sequence[float] = BUDGETS,
    mixes: Sequence[Mix] = MIXES,
    archive_pages: int = PAGES,
    progress: Progress = lambda _done, _total: None,
) -> Brandman:
    """The whole paper, as far as it can be reproduced."""
    needless, curves_3 = figure_3(seeds)
    runs = len(seeds) * len(budgets) * 2
    figures = []
    for number, mix in enumerate(mixes):
        report = _shifted(progress, number * runs, runs * len(mixes))
        figures.append(figure_6(mix, seeds, budgets=budgets, progress=report))
    findings = [*needless, *(found for figure in figures for found in figure.findings)]
    return Brandman([*findings, *archive_findings(seeds[:3], archive_pages), *media_findings()], curves_3, figures)


def figure_6(
    mix: Mix,
    seeds: Sequence[int] = range(5),
    *,
    budgets: Sequence[float] = BUDGETS,
    progress: Progress = lambda _done, _total: None,
) -> Figure6:
    """Freshness at the end of 100 days by bandwidth, for one mix."""
    results = run_freshness(mix.histories, ("conventional", "metadata"), budgets, seeds=seeds, progress=progress)
    levels, table = freshness_table(results)
    found = _findings(mix, levels, table["conventional"], table["metadata"]) + _needless(mix, results)
    return Figure6(mix.name, found, freshness_curves(results), results)


def _findings(mix: Mix, budgets: Floats, plain: Floats, informed: Floats) -> list[ReplicatedValue]:
    """The statements of the paper about Figure 6, each from every seed."""
    gained = gain(informed, plain)
    perfect = [_perfect_at(budgets, row) for row in informed]
    at_80 = [100 * float(saved(0.8, budgets, row, base)) for row, base in zip(informed, plain, strict=True)]
    best = [float(budgets[place]) for place in np.argmax(gained, axis=1)]
    most = (100 * gained.max(axis=1)).tolist()
    return [
        finding(
            f"Figure 6a, {mix.name}: perfectly fresh with metadata at bandwidth",
            0.2,
            perfect,
            "share",
            tolerance=0.03,
            note=f"{mix.note}; the paper says about a fifth",
        ),
        finding(
            f"Figure 6b, {mix.name}: greatest gain",
            25,
            most,
            "%",
            tolerance=3,
            note=f"{mix.note}; the paper: up to 25 %",
        ),
        finding(
            f"Figure 6b, {mix.name}: gain is greatest at bandwidth", 0.22, best, "share", tolerance=0.02, note=mix.note
        ),
        finding(f"Figure 6c, {mix.name}: bandwidth saved at 80 % fresh", 62, at_80, "%", tolerance=5, note=mix.note),
    ]


def _needless(mix: Mix, results: list[FreshnessResult]) -> list[ReplicatedValue]:
    """Section 4.1 in the simulation: everything fetched every day, for the mix of Figure 2 only."""
    if mix.shares != FIGURE_2:
        return []
    daily = [result.needless for result in results if result.policy == "conventional" and result.budget == 1.0]
    what = f"Section 4.1, {mix.name}: needless fetches of a daily round"
    note = f"{mix.note}; pages of the longer bars change now and then too"
    return [finding(what, 0.77, daily, "share", tolerance=0.02, note=note)] if daily else []


def _perfect_at(budgets: Floats, freshness: Floats) -> float:
    """The least bandwidth at which every copy is fresh."""
    perfect = np.flatnonzero(freshness >= 1.0)
    return float(budgets[perfect[0]]) if len(perfect) else float("nan")


def _shifted(progress: Progress, before: int, total: int) -> Progress:
    return lambda done, _total: progress(before + done, total)
