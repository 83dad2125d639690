"""The guard of `make speed`: the same answers everywhere, a replay that repeats itself, and limits that are judged."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from bench.speed.guard import excesses
from bench.speed.history import COLUMNS, draw_history, row
from bench.speed.pairs import Comparison, Version
from bench.speed.reference import ROOT, MissingCommitError, full_hash, pinned

from bench.speed import answers, planted

USUAL = Version(0.002, 0.001, 100_000_000, 200_000_000)


def compared(*ratios: float, new: Version = USUAL) -> Comparison:
    return Comparison(new, USUAL, ratios, "native", (1000, 1000))


@pytest.fixture
def small_web(monkeypatch: pytest.MonkeyPatch) -> answers.Answers:
    """Three manuals instead of twelve, each with fewer pages."""
    monkeypatch.setattr(answers, "HOSTS", 3)
    monkeypatch.setattr(answers, "PAGES_PER_HOST", 30)
    monkeypatch.setattr(answers, "COPIED", range(3, 30, 20))
    monkeypatch.setattr(answers, "MOVED", range(5, 30, 20))
    return answers.make()


def test_answers_are_the_same_every_time(small_web: answers.Answers) -> None:
    """Two versions can be compared only on the same bytes; and the cached file says the same as the generator."""
    assert answers.make() == small_web
    statuses = [answer.status for answer in small_web.answers.values()]
    assert {status: statuses.count(status) for status in set(statuses)} == {200: 1 + 3 * 33 + 2, 301: 6}


@pytest.mark.proof
def test_replay_repeats_itself(small_web: answers.Answers, tmp_path: Path) -> None:
    """The same pages and requests in every run, all pages fetched, with a collection that jobs can read."""
    file = tmp_path / "answers"
    file.write_bytes(msgspec.msgpack.encode(small_web))
    said = []
    for name in ("one", "two"):
        command = [sys.executable, "-m", "bench.speed.replay", str(file), str(tmp_path / name), "--pages", "1000"]
        said.append(json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout))
    assert said[0]["pages"] == said[1]["pages"] == 1 + 3 * 32
    assert said[0]["requests"] == said[1]["requests"]
    assert said[0]["cpu"] > 0
    jobs = [sys.executable, "-m", "periplus.collection.jobs", str(tmp_path / "one")]
    assert subprocess.run(jobs, check=False).returncode == 0


def test_median_of_the_pairs_is_judged() -> None:
    assert excesses(compared(1.0, 1.2, 1.03)) == []
    assert excesses(compared(1.0, 1.05, 1.06)) == ["CPU time: 1.050 times, at most 1.04"]


def test_jobs_and_memory_are_judged() -> None:
    more = Version(0.002, 0.0014, 180_000_000, 200_000_000)
    assert excesses(compared(1.0, new=more)) == [
        "CPU time of jobs: 1.400 times, at most 1.25",
        "memory: 1.267 times, at most 1.15",
    ]


def test_missing_commit_is_reported() -> None:
    """A clone without the commit is not compared; it does not count as slower."""
    with pytest.raises(MissingCommitError, match="is not in this repository"):
        full_hash("0" * 40)


def test_reference_is_a_whole_hash_with_a_reason() -> None:
    reference = pinned()
    assert len(reference.commit) == 40
    assert reference.why


@pytest.mark.parametrize("slow_down", planted.SLOW_DOWNS, ids=lambda slow_down: slow_down.stage)
def test_slow_downs_can_be_planted(slow_down: planted.SlowDown, tmp_path: Path) -> None:
    """Each is called in the function that it names, in sources that are still Python."""
    file = tmp_path / "src" / "periplus" / slow_down.path
    file.parent.mkdir(parents=True)
    file.write_text((ROOT / "src" / "periplus" / slow_down.path).read_text())
    planted.plant(tmp_path, slow_down)
    name = slow_down.function.removeprefix("def ").removesuffix("(")
    functions = {node.name: node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)}
    assert "_burn()" in ast.unparse(functions[name])


def test_history_is_drawn(tmp_path: Path) -> None:
    history, picture = tmp_path / "history.csv", tmp_path / "speed.svg"
    lines = [",".join(COLUMNS)]
    lines += [",".join(row("2026-11-17", "1" * 40, compared(ratio), "why")) for ratio in (1.0, 0.8)]
    history.write_text("\n".join(lines) + "\n")
    draw_history(history, picture)
    assert picture.read_text().startswith("<svg")
