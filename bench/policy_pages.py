"""Measures every ordering and refresh policy (`bench.refresh_pages`), and writes their numbers and plots into the docs.

    python -m bench.policy_pages docs [--refresh]

`docs/orderings.md` and `docs/refresh_policies.md` are written by hand, except for the table between two marks, which
this file measures. Each policy has a plot in `docs/policies`, beside breadth-first, random order and the oracle. The
same seeds give the same bytes.

The webs are small, so that all of it takes minutes. On the first, home pages matter and sites link to each other's; the
second is like the sample of Castillo et al. (2004). PageRank is measured on a crawl without politeness, where nothing
but the ordering decides, and on the first web politely as well.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import UsageError
from periplus.policy.ordering import orderings
from periplus.store.durable import write_file
from periplus.view.figures import Figure, PlotCurve, draw
from periplus_lab.simulate.generated import WebSettings, generate, small_settings
from periplus_lab.simulate.network import NetworkSettings
from periplus_lab.simulate.orderings import OrderingSummary, compare_orderings, mean_curves, summarise
from periplus_lab.simulate.results import write_whole
from periplus_lab.simulate.runs import PolicyChoice
from periplus_lab.simulate.web import Web
from periplus_lab.simulate.workers import Progress

BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
BESIDE = ("breadth_first", "random", "optimal")
BUDGETS = (0.1, 0.3, 0.5, 0.8)
REPETITIONS = 3
EVERY = {"batch": 2000, "partial": 2000, "rankmass": 2000}
"""Pages between two rankings, in proportion to a web of 20,000 pages; the default is for larger ones."""
FREE = NetworkSettings(connections=1, delay=0.0)
POLITE = NetworkSettings()

PAGE, PLOTS = "orderings.md", "policies"
"""The page and the folder of the plots, below the folder of the docs."""


class Measured(Struct, frozen=True):
    """Every ordering on one kind of web: rows by policy and budget (`None`: the mean of all), and curves by policy."""

    rows: dict[tuple[str, float | None], OrderingSummary]
    curves: dict[str, PlotCurve]


class Findings(Struct, frozen=True):
    """All numbers of the pages."""

    small: Measured
    polite: Measured
    paper: Measured


def choices() -> dict[str, PolicyChoice]:
    """Every ordering with the settings that it is measured with."""
    return {name: PolicyChoice(name, {"every": EVERY[name]} if name in EVERY else {}) for name in orderings()}


def measure(
    *,
    workers: int = 1,
    small: WebSettings | None = None,
    paper: WebSettings | None = None,
    progress: Progress | None = None,
) -> Findings:
    """Run everything: three experiments, with one progress bar."""
    small, paper = small or small_settings(), paper or WebSettings(pages=20_000, sites=400)
    parts = ((small, FREE), (small, POLITE), (paper, FREE))
    found = [
        _measure(_webs(web), network, workers, _part(progress, number, len(parts)))
        for number, (web, network) in enumerate(parts)
    ]
    return Findings(*found)


def write_pages(folder: Path, found: Findings) -> list[Path]:
    """Write the numbers of all orderings into their page, and a plot of each. Raises `UsageError` without marks."""
    names = orderings()
    return write_page(
        folder / PAGE, section_of(names, found), {name: plot_of(name, found) for name in names}, folder / PLOTS
    )


def write_page(page: Path, section: str, plots: dict[str, Figure], folder: Path) -> list[Path]:
    """Put a section between the marks of a page, and plots into a folder. Raises `UsageError` if it has no marks."""
    text = page.read_text() if page.is_file() else ""
    if BEGIN not in text or END not in text:
        raise UsageError(f"{page} has no place for numbers", hint=f"write the page, with {BEGIN} and {END} in it")
    pictures = [folder / f"{name}.svg" for name in plots]
    for plot, picture in zip(plots.values(), pictures, strict=True):
        write_file(picture, draw(plot).encode())
    before, _, rest = text.partition(BEGIN)
    write_whole(page, f"{before}{BEGIN}\n{section}\n{END}{rest.partition(END)[2]}")
    return [page, *pictures]


def plot_of(name: str, found: Findings) -> Figure:
    """The ordering beside those that everyone is compared with."""
    return Figure(
        title=f"{name}: the important pages, how soon?",
        x_label="pages fetched",
        y_label="share of all PageRank",
        curves=tuple(found.small.curves[each] for each in _compared(name)),
        caption="19,582 pages on 800 sites, fetched one after the other; the mean of three generated webs, with its "
        "95 % interval. Numbers: after a tenth of the pages.",
        x_as="share",
        y_as="share",
        y_from_zero=True,
        values_at=0.1,
        highlight=name,
    )


def section_of(names: Sequence[str], found: Findings) -> str:
    """The table of all orderings, in Markdown."""
    heads = " | ".join(f"{budget:.0%}" for budget in BUDGETS)
    lines = [
        f"| PageRank after | {heads} | mean | politely | time | like the paper's |",
        "|---|" + "---:|" * (len(BUDGETS) + 4),
        *(_line(name, found) for name in names),
    ]
    return "\n".join(lines)


def _line(name: str, found: Findings) -> str:
    polite = found.polite.rows[name, None]
    cells = [f"{100 * found.small.rows[name, budget].pagerank:.1f}" for budget in BUDGETS]
    cells += [_mean(found.small.rows[name, None]), _mean(polite), f"{polite.makespan / 3600:.1f} h"]
    cells += [_mean(found.paper.rows[name, None])]
    return f"| [`{choices()[name]}`]({PLOTS}/{name}.svg) | {' | '.join(cells)} |"


def _mean(row: OrderingSummary) -> str:
    return f"{100 * row.pagerank:.1f} ±{50 * (row.high - row.low):.1f}"


def _compared(name: str) -> list[str]:
    return [name, *(each for each in BESIDE if each != name)]


def _measure(webs: Callable[[int], Web], network: NetworkSettings, workers: int, progress: Progress | None) -> Measured:
    chosen = choices()
    names = {str(choice): name for name, choice in chosen.items()}
    results = compare_orderings(
        webs,
        list(chosen.values()),
        network=network,
        repetitions=REPETITIONS,
        budgets=BUDGETS,
        workers=workers,
        progress=progress,
    )
    curves = {names[curve.name]: replace(curve, name=names[curve.name]) for curve in mean_curves(results)}
    return Measured({(names[row.policy], row.budget): row for row in summarise(results)}, curves)


def _webs(settings: WebSettings) -> Callable[[int], Web]:
    return lambda seed: generate(replace(settings, seed=seed))


def _part(progress: Progress | None, number: int, parts: int) -> Progress | None:
    return None if progress is None else lambda done, total: progress(number * total + done, parts * total)


def main(arguments: Sequence[str]) -> int:
    """Measure, and write the pages in the folder of the docs."""
    if not arguments or arguments[1:] not in ([], ["--refresh"]) or not Path(arguments[0]).is_dir():
        sys.stderr.write("usage: python -m bench.policy_pages docs [--refresh]\n")
        return 2
    is_terminal = sys.stderr.isatty()

    def show_progress(done: int, total: int) -> None:
        if is_terminal:
            sys.stderr.write(f"\r{done / total:.0%} ")

    from bench.refresh_pages import (  # it has the marks of pages from here
        measure_refreshing,
        write_refresh_pages,
    )

    folder = Path(arguments[0])
    refreshing = measure_refreshing(progress=show_progress)
    written = write_refresh_pages(folder, refreshing)
    if "--refresh" not in arguments:
        written += write_pages(folder, measure(workers=os.cpu_count() or 1, progress=show_progress))
    for path in written:
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
