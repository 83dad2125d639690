"""`python -m bench`: run every comparison, print one table each, write JSON, and on request the page of figures.

The modules of `MODULES` each measure one subject against its peers. Nothing is asserted here: a target that is missed
is printed as missed. Figures of `docs/benchmarks.md` come from `--write` and from nowhere else.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.harness import Group, Target

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
MODULES = ("urls", "robots", "sitemaps", "pages", "logs", "warc", "state", "search")
CRAWL = "crawl"
"""Whole crawlers against whole crawlers: another kind of table, and a block of the page of its own."""
PEERS = (
    "ada-url", "fastwarc", "isal", "lmdb", "lxml", "msgspec", "numpy", "protego", "resiliparse",
    "ultimate-sitemap-parser", "warcio", "xxhash",
)  # fmt: skip


def versions() -> dict[str, str]:
    """What took part, by version; what is not installed did not."""
    found = {"python": platform.python_version()}
    for name in PEERS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def table(group: Group) -> list[str]:
    """One group as Markdown: rates, and the ratio to every peer that a target names."""
    lines = [f"### {group.title}", "", f"| contestant | {group.unit} |", "|---|---:|"]
    lines += [f"| {name} | {rate:,.0f} |" for name, rate in sorted(group.rates.items(), key=lambda row: -row[1])]
    promises = [_promise(group, target) for target in group.targets]
    facts = [f"{name}: {fact}" for name, fact in group.facts.items()]
    for sentence in (promises, facts):
        if sentence:
            lines += ["", "; ".join(sentence) + "."]
    if group.notes:
        lines += ["", *group.notes]
    return [*lines, ""]


def _promise(group: Group, target: Target) -> str:
    ratio = group.rates[target.ours] / group.rates[target.peer]
    missed = "" if ratio >= target.ratio else " (**missed**)"
    return f"{target.ours} against {target.peer}: {ratio:.2f}x, {target.ratio:g}x promised{missed}"


def as_json(groups: list[Group], *, quick: bool, at: datetime) -> str:
    """The run as one object, for programs that compare runs."""
    run = {
        "at": at.isoformat(timespec="seconds"),
        "mode": "quick" if quick else "full",
        "machine": {"arch": platform.machine(), "system": platform.system(), "cores": os.cpu_count()},
        "versions": versions(),
        "groups": [
            {
                "title": group.title,
                "unit": group.unit,
                "rates": dict(group.rates),
                "targets": [
                    {
                        "ours": t.ours,
                        "peer": t.peer,
                        "wanted": t.ratio,
                        "measured": group.rates[t.ours] / group.rates[t.peer],
                    }
                    for t in group.targets
                ],
                "facts": dict(group.facts),
            }
            for group in groups
        ],
    }
    return json.dumps(run, indent=1)


def page_rows(group: Group) -> list[str]:
    """One group as rows of the page's only table: a contestant each, with our ratio to it where one is promised."""
    ratios = {target.peer: _ratio(group, target) for target in group.targets}
    fastest_first = sorted(group.rates.items(), key=lambda row: -row[1])
    return [
        f"| {'' if position else f'{group.title}, {group.unit}'} | {name} | {rate:,.0f} | {ratios.get(name, '')} |"
        for position, (name, rate) in enumerate(fastest_first)
    ]


def _ratio(group: Group, target: Target) -> str:
    ratio = group.rates[target.ours] / group.rates[target.peer]
    missed = "" if ratio >= target.ratio else ", **missed**"
    return f"{ratio:.2f} ({target.ratio:g}{missed})"


def write_page(groups: list[Group], *, quick: bool, at: datetime) -> None:
    """Put the figures between the two marks of the page; the prose around them stays."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    peers = ", ".join(f"{name} {number}" for name, number in versions().items() if name != "python")
    lines = [f"Measured {at:%Y-%m-%d}, {'quick' if quick else 'full'} mode, on {machine}. With {peers}.", ""]
    lines += ["| subject | contestant | rate | Periplus is faster by (promised) |", "|---|---|---:|---:|"]
    lines += [row for group in groups for row in page_rows(group)]
    for group in groups:
        if not group.rates:
            facts = "; ".join(f"{name}: {fact}" for name, fact in group.facts.items())
            lines += ["", f"{group.title[:1].upper()}{group.title[1:]}: {facts}."]
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + "\n".join([BEGIN, "", *lines, "", END]) + after)


def read(subjects: list[str], *, quick: bool, write: bool) -> None:
    """The reading microbenchmarks of these subjects."""
    groups: list[Group] = []
    for name in subjects:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        for group in importlib.import_module(f"bench.{name}").measure(quick):
            print("\n".join(table(group)), flush=True)
            groups.append(group)
    at = datetime.now(UTC)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{at:%Y%m%dT%H%M%SZ}.json").write_text(as_json(groups, quick=quick, at=at))
    if write:
        write_page(groups, quick=quick, at=at)


def main() -> int:
    """Run what was asked for."""
    ask = argparse.ArgumentParser(prog="python -m bench", description="Periplus beside its peers, in one run.")
    ask.add_argument("--quick", action="store_true", help="about a minute in all; figures are rougher")
    ask.add_argument(
        "--only", choices=(*MODULES, CRAWL), action="append", help="only this subject (may be given again)"
    )
    ask.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    asked = ask.parse_args()
    chosen = asked.only or (*MODULES, CRAWL)
    if subjects := [name for name in chosen if name != CRAWL]:
        read(subjects, quick=asked.quick, write=asked.write)
    if CRAWL in chosen:
        from bench.crawl.contest import contest

        contest(quick=asked.quick, write=asked.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
