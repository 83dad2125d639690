"""Moves the reference of `make speed`, and keeps the history of what a page costs.

    python -m bench.speed.history COMMIT "why"     # compare COMMIT with the reference, and make it the reference
    python -m bench.speed.history                  # draw the picture again

A move adds a line to `bench/history.csv` and draws `docs/images/speed.svg`; commit these with `bench/speed/REFERENCE`.
Ratios of a line are to the reference before. Microseconds are those of the machine and the hour, of both versions in
the same pairs: compare them within a line only.
"""

from __future__ import annotations

import csv
import sys
from datetime import UTC, datetime
from itertools import accumulate
from operator import mul
from pathlib import Path

from bench.speed import answers
from bench.speed.guard import LIMIT, lines
from bench.speed.pairs import Comparison, compare
from bench.speed.reference import CACHE, ROOT, Reference, full_hash, pin, pinned, tree_of
from periplus.store.durable import write_file
from periplus.view.figures import Figure, FigureMark, PlotCurve, draw

HISTORY = ROOT / "bench" / "history.csv"
PICTURE = ROOT / "docs" / "images" / "speed.svg"
COLUMNS = (
    "date", "commit", "ratio", "us_a_page", "us_a_page_before", "jobs_us_a_page", "jobs_us_a_page_before",
    "memory_mb", "memory_mb_before", "why",
)  # fmt: skip


def move(commit: str, why: str) -> None:
    """Compare a commit with the reference, write that down, and make it the reference."""
    commit, before = full_hash(commit), pinned()
    recorded = answers.made_in(CACHE)
    found = compare(tree_of(commit), tree_of(before.commit), recorded, limit=LIMIT, unsure=0.0)
    print("\n".join(lines(found)))
    is_new = not HISTORY.exists()
    with HISTORY.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(COLUMNS)
        writer.writerow(row(f"{datetime.now(UTC):%Y-%m-%d}", commit, found, why))
    pin(Reference(commit, why))
    draw_history(HISTORY, PICTURE)


def row(date: str, commit: str, found: Comparison, why: str) -> list[str]:
    """A line of the history."""
    sides = (found.new, found.old)
    figures = [round(side.cpu * 1e6) for side in sides] + [round(side.jobs * 1e6) for side in sides]
    figures += [round(side.memory / 1e6) for side in sides]
    return [date, commit[:12], f"{found.ratio:.3f}", *map(str, figures), why]


def draw_history(history: Path, picture: Path) -> None:
    """Draw what a page has cost at each reference, beside the first."""
    with history.open(newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = [float(number) for number in range(1, len(rows) + 1)]
    costs = list(accumulate((float(row["ratio"]) for row in rows), mul))
    marks = [
        FigureMark(f"{row['date']} {row['commit'][:8]}", x, y) for row, x, y in zip(rows, numbers, costs, strict=True)
    ]
    plot = Figure(
        "CPU time of a page at each reference of make speed",
        "reference",
        "beside the first reference",
        (PlotCurve("CPU time of a page", numbers, costs, costs, costs),),
        y_from_zero=True,
        y_as="share",
        marks=tuple(marks[-12:]),
        caption="Each is measured in pairs with the one before; the ratios are multiplied. Lower is faster.",
    )
    write_file(picture, draw(plot).encode())


def main() -> int:
    """Move the reference, or draw."""
    match sys.argv[1:]:
        case [commit, why]:
            move(commit, why)
        case []:
            draw_history(HISTORY, PICTURE)
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
