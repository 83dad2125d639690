"""`periplus query --cluster local`: a Ray of this machine computes, and ends with the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.insight.asked_collection import Made
from tests.system.typed import Run

from periplus.collection.config.settings import Config

pytest.importorskip("ray", reason="Ray is an extra: pip install periplus-ray")

A = "http://a.test"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Made(tmp_path_factory.mktemp("asked"))
    for number in range(3):
        made.told(f"{A}/{number}", "seed")
        made.got(f"{A}/{number}", 1 + number // 2, [f"{A}/0"])
    made.write()
    (made.folder / "periplus.toml").write_text(Config().dump())
    return made.folder


@pytest.mark.slow
def test_a_cluster_gives_the_same_answers(run: Run, collection: Path) -> None:
    """The answer is the same, stdout has nothing but the answer, and no partitions are left."""
    question = "select url, inlinks, is_representative from urls order by url"
    said = run("query", str(collection), question, "--json", "--cluster", "local")
    assert said.returncode == 0, said.stderr
    rows = [json.loads(line) for line in said.stdout.splitlines()]
    assert rows == [
        {"url": f"{A}/0", "inlinks": 3, "is_representative": True},
        {"url": f"{A}/1", "inlinks": 0, "is_representative": False},
        {"url": f"{A}/2", "inlinks": 0, "is_representative": True},
    ]
    assert {path.suffix for path in (collection / "insight").iterdir()} == {".parquet", ".json"}
