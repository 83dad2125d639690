"""Castillo, Marin, Rodriguez & Baeza-Yates, "Scheduling Algorithms for Web Crawling" (2004), reproduced.

Their web is not published: 3.5 million pages, 50,000 sites, at most 25,000 pages a site. Ours are generated with the
defaults of `generated`, which was made after what the paper prints. `scale` pages of such a web have sites, the largest
site, batches (m) and, in the real crawl of section VII, connections in proportion; r and w of the simulations are the
paper's. Table I is taken of the same web, to the last page.

Where a value differs, one assumption is changed and the value told again in the note: so one sees what it hangs on.
What is left out: the batches of the real crawl (*Length* runs without them), rows 5 and 6 of Table I (as printed they
are not monotone), Figures 1 to 4 (drawings) and 11 (another view of 10).
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from .castillo_evidence import Evidence, gather, in_proportion, web_settings
from .castillo_findings import findings_of
from .castillo_plots import plots_of
from .findings import Finding
from .plots import Plot
from .workers import Progress

__all__ = ["Reproduction", "in_proportion", "reproduce_castillo", "web_settings"]


class Reproduction(Struct, frozen=True):
    """The results: each value beside the paper's, pictures, and a row for every crawl and batch."""

    findings: list[Finding]
    plots: list[Plot]
    rows: list[dict[str, Any]]


def reproduce_castillo(
    scale: int = 100_000,
    *,
    seed: int = 0,
    repetitions: int = 1,
    workers: int = 1,
    progress: Progress | None = None,
) -> Reproduction:
    """The whole paper, as far as it can be reproduced, on webs of `scale` pages; repetitions on webs of other seeds."""
    evidence = gather(scale, range(seed, seed + repetitions), workers=workers, progress=progress)
    return Reproduction(findings_of(evidence), plots_of(evidence), _rows(evidence))


def _rows(evidence: Evidence) -> list[dict[str, Any]]:
    """A row for every crawl and for every way of fetching a batch."""
    rows = []
    for case, results in zip(evidence.cases, evidence.crawls, strict=True):
        for each in results:
            row = {"part": case.part, "web": case.web, **asdict(case.network), **asdict(each)}
            row |= {f"pagerank_at_{round(100 * share)}": mass for share, mass in each.mass}
            rows.append({key: value for key, value in row.items() if key not in ("mass", "curve", "over_time")})
    for _, activities in evidence.batches:
        rows += [
            {"part": "Figures 8 and 9", "web": "default", "policy": "length"}
            | {key: value for key, value in asdict(each).items() if key != "active"}
            for each in activities
        ]
    return rows
