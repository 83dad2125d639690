"""The tables: one row a contestant, as Markdown for people and JSON for programs that compare runs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

BEGIN, END = "<!-- crawl figures: begin -->", "<!-- crawl figures: end -->"

COMPLETE = 0.95
"""Share of what there was below which a contestant that ended by itself has ended early."""


@dataclass(frozen=True)
class Row:
    """What one contestant did, in units of its job: pages, answers of the server, or URLs of sitemaps."""

    name: str
    job: str
    version: str
    units: int
    seconds: float
    """From the first answer of the server until it ended or was stopped."""
    cpu_seconds: float
    """From its start, so that what it takes to load is in it."""
    peak_bytes: int
    """Anonymous memory of all processes together, what they share counted once."""
    share: float | None
    """Of what there was to fetch; None where there is no whole."""
    beyond: int
    """Pages fetched that no link leads to."""
    requests: int
    faults: int
    """Requests that the server failed to answer; there should be none."""
    status: int | None
    """Exit code; None if it was stopped at the bound."""

    @property
    def rate(self) -> float:
        """Units a second."""
        return self.units / self.seconds if self.seconds > 0 else 0.0

    @property
    def cpu_rate(self) -> float:
        """Units a second of CPU: what carries over to a machine where it shares the core."""
        return self.units / self.cpu_seconds if self.cpu_seconds > 0 else 0.0

    @property
    def busy(self) -> float:
        """How much of its core it had: little, if it waited, or if others on the machine took the core."""
        return self.cpu_seconds / self.seconds if self.seconds > 0 else 0.0

    @property
    def end(self) -> str:
        """How it ended, in words."""
        if self.faults:
            return f"**void**: the server failed {self.faults} times"
        if self.status is None:
            return "stopped at the bound"
        if self.status:
            return f"**failed**, exit code {self.status}"
        is_early = self.share is not None and self.share < COMPLETE
        return f"{'**ended early**' if is_early else 'done'} in {self.seconds:.0f} s"


@dataclass(frozen=True)
class Report:
    """One whole run of the bench."""

    at: datetime
    quick: bool
    bound: int
    cores: tuple[int, int] | None
    load: float
    """Load average when the run began: others on the machine make every figure smaller."""
    nginx: str
    web: Mapping[str, str]
    rows: tuple[Row, ...]
    absent: Mapping[str, str]


_JOBS = {
    "CRAWL": ("Crawling", "pages", "of the reachable pages"),
    "WIRE": ("The wire alone", "answers", "of the reachable pages"),
    "SITEMAPS": ("Sitemaps end to end over HTTP", "URLs", "of the URLs"),
}


def markdown(report: Report) -> str:
    """The run as it goes into the page."""
    pinned = "client and server on one core each" if report.cores else "not pinned: fewer than two cores"
    mode = "quick" if report.quick else "full"
    lines = [
        f"Measured {report.at:%Y-%m-%d}, {mode} mode, on {platform.machine()}, {os.cpu_count()} cores ({pinned}), "
        f"Python {platform.python_version()}, nginx {report.nginx}; at most {report.bound} s each; load average at the "
        f"beginning {report.load:.1f}. Memory is anonymous, of all processes together. Served: "
        + ", ".join(f"{fact} {name}" for name, fact in report.web.items())
        + ".",
        "",
    ]
    for job, (title, unit, whole) in _JOBS.items():
        rows = [row for row in report.rows if row.job == job]
        if rows:
            lines += table(rows, title, unit, whole)
    lines += [f"- {name} did not take part: {why}" for name, why in report.absent.items()]
    return "\n".join(lines).rstrip() + "\n"


def table(rows: list[Row], title: str, unit: str, whole: str) -> list[str]:
    """One job's rows, the fastest first."""
    lines = [
        f"### {title}",
        "",
        f"| contestant | version | {unit}/s | {unit} per CPU second | CPU seconds | of a core | peak memory "
        f"| {whole} | end |",
        "|---|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for row in sorted(rows, key=lambda row: -row.rate):
        share = "" if row.share is None else f"{row.share:.1%}"
        lines.append(
            f"| {row.name} | {row.version} | {row.rate:,.0f} | {row.cpu_rate:,.0f} | {row.cpu_seconds:,.0f} "
            f"| {row.busy:.0%} | {row.peak_bytes / 1e6:,.0f} MB | {share} | {row.end} |"
        )
    return [*lines, ""]


def as_json(report: Report) -> str:
    """The run as one object."""
    whole = asdict(report) | {"machine": {"arch": platform.machine(), "cores": os.cpu_count()}}
    for row, value in zip(report.rows, whole["rows"], strict=True):
        value |= {"rate": row.rate, "cpu_rate": row.cpu_rate}
    return json.dumps(whole, indent=1, default=lambda value: value.isoformat(timespec="seconds"))


def put_into(page: Path, report: Report) -> None:
    """Replace what is between the marks, or add the marks at the end; the prose around them stays."""
    text = page.read_text()
    if BEGIN not in text:
        text = f"{text.rstrip()}\n\n{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{markdown(report)}\n{END}{after}")
