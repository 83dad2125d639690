"""`python -m bench.conformance`: judge other crawlers in the conformance lab, and put all of them into one table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bench.conformance import PEERS, peer_adapter
from bench.peers import BENCH, why_absent
from periplus.view.values import Sheet
from periplus_lab.conformance.judging import Judgement, judge
from periplus_lab.conformance.reports import case_table, score_table, summary_line, to_html


def main() -> int:
    """Install, or judge, what was asked for."""
    ask = argparse.ArgumentParser(prog="python -m bench.conformance", description="Other crawlers on a hostile web.")
    ask.add_argument("--install", nargs="*", choices=PEERS, metavar="NAME", help="install these, or all; judge nothing")
    ask.add_argument("--only", action="append", choices=PEERS, metavar="NAME", help="may be given again")
    ask.add_argument("--case", action="append", default=[], help="a group, trial or case; may be given again")
    ask.add_argument("--at-once", type=int, default=4, help="trials that run at the same time")
    ask.add_argument("--keep", type=Path, help="keep what the crawlers write, a folder for each")
    ask.add_argument("-o", "--output", type=Path, default=BENCH / "results" / "conformance", metavar="FOLDER")
    asked = ask.parse_args()
    if asked.install is not None:
        for name in asked.install or PEERS:
            print(f"{name}: {why_absent(PEERS[name]) or PEERS[name].version()}", flush=True)
        return 0
    judgements = []
    for name in asked.only or PEERS:
        if (why := why_absent(PEERS[name])) is not None:
            print(f"{name}: {why}", flush=True)
            continue
        adapter = replace(peer_adapter(name), version=PEERS[name].version())
        keep = asked.keep and asked.keep / name
        judgements.append(judge(adapter, asked.case, at_once=asked.at_once, keep=keep))
        print(summary_line(judgements[-1]), flush=True)
        _write(asked.output, judgements)
    if judgements:
        where = asked.output / "conformance.html"
        print(f"\n{_markdown(score_table(judgements))}\n\nEvery case, and why it failed: {where}")
    return 0


def _write(folder: Path, judgements: Sequence[Judgement]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "conformance.json").write_bytes(msgspec.json.encode(judgements))
    (folder / "conformance.html").write_text(to_html(judgements))
    tables = "\n\n".join(_markdown(sheet) for sheet in (score_table(judgements), case_table(judgements)))
    (folder / "conformance.md").write_text(f"{tables}\n")


def _markdown(sheet: Sheet) -> str:
    rows = [[column.title or column.name for column in sheet.columns], ["---"] * len(sheet.columns)]
    rows += [[row[column.name] for column in sheet.columns] for row in sheet.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
