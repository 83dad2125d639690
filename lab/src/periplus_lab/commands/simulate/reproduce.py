"""`periplus simulate --reproduce PAPER`: reproduce a paper's experiments, and compare its values with ours.

Everything goes to one folder: the findings and the measurements as CSV, the figures as SVG, and the tables of one
run, which is named when they are written; of `sitemaps` the crawls of the lab and a report of the first instead of
figures and tables. That a value differs is a result, not a failure: the exit code is 0.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from rich.text import Text

from periplus.cli.consoles import stderr_console, stdout_console
from periplus.model import UsageError
from periplus.view.terminal import print_table
from periplus.view.values import Sheet, sheet_of

from .output import ExperimentProgress, Files, print_json, stoppable

if TYPE_CHECKING:
    from periplus_lab.simulate.findings import ReplicatedValue
    from periplus_lab.simulate.results import Reproduction


class Paper(StrEnum):
    """Papers whose experiments can be reproduced."""

    CASTILLO = "castillo"
    BRANDMAN = "brandman"
    SITEMAPS = "sitemaps"


PAGES = 30_000
"""Pages of the web of `castillo` by default: less than a hundredth of the paper's, which are done in minutes."""
FULL = 100_000
"""Pages of it with `--full`."""
MOST_RECORDED = 100_000
"""Fetches at most of the run whose tables are written."""
_CRAWLS = "crawls"
"""The folder of the crawls of the lab, one for each seed."""
_TITLES = {
    Paper.CASTILLO: "Castillo, Marin, Rodriguez & Baeza-Yates, Scheduling algorithms for web crawling (2004)",
    Paper.BRANDMAN: "Brandman, Cho, Garcia-Molina & Shivakumar, Crawler-friendly web servers (2000)",
    Paper.SITEMAPS: "Schonfeld & Shivakumar, Sitemaps: above and beyond the crawl of duty (2009)",
}


class ReproduceOptions(Struct, frozen=True):
    """The options of the command."""

    scale: int | None
    seed: int
    repetitions: int | None
    workers: int | None

    def seeds(self, repetitions: int) -> range:
        """The seeds of the repetitions, of which there are that many if no number was typed."""
        return range(self.seed, self.seed + (self.repetitions or repetitions))


def run(paper: Paper, out: Path | None, asked: ReproduceOptions, *, is_json: bool) -> None:
    """Run the experiments, write the files, and print what agrees and what does not."""
    from periplus_lab.simulate.results import finding_rows

    folder = out or Path(f"{paper.value}-results")
    if paper is Paper.BRANDMAN and asked.scale:
        raise UsageError("--scale: this paper's experiment is done in its own size", hint="leave --scale out")
    if any((folder / name).exists() for name in ("tables", _CRAWLS)):
        raise UsageError(f"{folder} has results already", hint="name another folder with -o DIR, or remove it")
    files = Files()
    with stoppable(files):
        with ExperimentProgress(f"reproducing {paper.value}") as progress:
            outcome = _reproduced(paper, folder, asked, progress)
        _write(folder, paper, outcome, files)
        if is_json:
            print_json(finding_rows(outcome.findings, paper.value))
        else:
            print_table(stdout_console(), sheet(paper, outcome.findings))
        files.add(
            _record_sitemaps(folder, asked) if paper is Paper.SITEMAPS else _record(folder / "tables", paper, asked)
        )


def sheet(paper: Paper, findings: Sequence[ReplicatedValue]) -> Sheet:
    """The paper's value, ours and the verdict in each row; notes are below the table, each once."""
    columns = ("<what", "paper", "ours", "<unit", "<verdict", "note")
    notes = {
        note: number for number, note in enumerate(dict.fromkeys(found.note for found in findings if found.note), 1)
    }
    lines = [
        [
            found.what,
            "-" if found.paper is None else f"{found.paper:.4g}",
            f"{found.ours:.4g}" + _spread(found),
            found.unit,
            found.verdict,
            f"[{notes[found.note]}]" if found.note else "",
        ]
        for found in findings
    ]
    agreeing = sum(found.verdict == "agrees" for found in findings)
    differing = sum(found.verdict.startswith("differs") for found in findings)
    count = f"{agreeing} agree, {differing} differ, {len(findings) - agreeing - differing} cannot be compared"
    return sheet_of(_TITLES[paper], columns, lines, (*(f"[{number}] {note}" for note, number in notes.items()), count))


def _spread(found: ReplicatedValue) -> str:
    if found.low is None or found.high is None or found.high - found.low < 1e-9 * abs(found.ours):
        return ""
    return f" ±{(found.high - found.low) / 2:.2g}"


def _reproduced(paper: Paper, folder: Path, asked: ReproduceOptions, progress: ExperimentProgress) -> Reproduction:
    match paper:
        case Paper.CASTILLO:
            from periplus_lab.simulate.castillo import reproduce_castillo

            workers = asked.workers or os.cpu_count() or 1
            return reproduce_castillo(asked.scale or PAGES, seeds=asked.seeds(1), workers=workers, progress=progress)
        case Paper.BRANDMAN:
            from periplus_lab.simulate.brandman import figures, reproduce_brandman, rows_of
            from periplus_lab.simulate.results import Reproduction

            done = reproduce_brandman(asked.seeds(5), progress=progress)
            return Reproduction(done.findings, rows_of(done), figures(done))
        case Paper.SITEMAPS:
            from periplus_lab.simulate.schonfeld import PAGES as LAB_PAGES
            from periplus_lab.simulate.schonfeld import reproduce_schonfeld

            pages = asked.scale or LAB_PAGES
            return reproduce_schonfeld(folder / _CRAWLS, pages, seeds=asked.seeds(1), progress=progress)


def _write(folder: Path, paper: Paper, outcome: Reproduction, files: Files) -> None:
    from periplus.view.figures import draw
    from periplus_lab.simulate.results import csv_text, finding_rows

    for name, rows in (("findings", finding_rows(outcome.findings, paper.value)), ("measured", outcome.rows)):
        files.write(folder / f"{name}.csv", csv_text(rows))
    for plot in outcome.plots:
        files.write(folder / f"{file_name(plot.title)}.svg", draw(plot))


def file_name(title: str) -> str:
    """A title as a file name that is valid on every system."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].rstrip("-") or "plot"


def _record(folder: Path, paper: Paper, asked: ReproduceOptions) -> Path:
    """Write the tables of one run."""
    path = _record_castillo(folder, asked) if paper is Paper.CASTILLO else _record_brandman(folder, asked)
    stderr_console().print(Text(path), soft_wrap=True)
    return folder


def _record_sitemaps(folder: Path, asked: ReproduceOptions) -> Path:
    """Write the report of the first crawl: it has the paper's figures 2 to 5 and 7."""
    from periplus.apps.report import gather_report, page
    from periplus.insight.views import Views
    from periplus_lab.simulate.results import write_whole

    file = folder / "report.html"
    with Views(folder / _CRAWLS / str(asked.seed)) as views:
        write_whole(file, page(gather_report(views, "the lab", time.time())))
    return file


def _record_castillo(folder: Path, asked: ReproduceOptions) -> str:
    from periplus_lab.simulate.castillo import in_proportion, web_settings
    from periplus_lab.simulate.generated import generate
    from periplus_lab.simulate.graph_files import ranked
    from periplus_lab.simulate.network import NetworkSettings
    from periplus_lab.simulate.recording import record_crawl
    from periplus_lab.simulate.runs import PolicyChoice

    pages = min(asked.scale or PAGES, MOST_RECORDED)
    web = ranked(generate(web_settings(pages, asked.seed, "80 % ok")))
    network = NetworkSettings(connections=in_proportion(1000, pages))
    with ExperimentProgress("tables") as progress:
        record_crawl(folder, web, PolicyChoice("length"), network, seed=asked.seed, progress=progress)
    how = f"{network.connections} connections on a web of {pages:,} pages, of which 80 % are well"
    return f"the tables are those of Length with {how} (Figure 10)"


def _record_brandman(folder: Path, asked: ReproduceOptions) -> str:
    from periplus_lab.simulate.histories import HistorySettings, generate_histories
    from periplus_lab.simulate.recording import record_refresh

    histories = generate_histories(HistorySettings(seed=asked.seed))
    record_refresh(folder, histories, "metadata", 0.2, seed=asked.seed)
    return "the tables are those of 10,000 pages refreshed with metadata at a fifth of the bandwidth (Figure 6)"
