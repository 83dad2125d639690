"""A shard is opened where the last process left it, as soon as that one has ended."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from periplus.collection import shards
from periplus.collection.config.settings import Config
from periplus.collection.seeds import seeds_from
from periplus.model import CollectionInUse
from periplus.store.layout import Layout

ORPHAN = """
import sys
from pathlib import Path
from periplus.store import DiskState
state = DiskState(Path(sys.argv[1]))
print(flush=True)
sys.stdin.readline()
state.close()
"""


def orphan(folder: Path) -> subprocess.Popen[str]:
    """A process that has a state open until a line is written to it."""
    command = [sys.executable, "-c", ORPHAN, str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "\n"
    return process


def test_a_shard_waits_for_the_worker_of_a_crawl_that_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(tmp_path)
    asked = shards.ShardMaker(Config(), tmp_path, tuple(seeds_from(["http://a.test/"])))
    with orphan(layout.shard(0)) as process:
        monkeypatch.setattr("periplus.collection.shards.time.sleep", lambda _: process.communicate("\n"))
        shards.open_state(asked, layout, 0).close()


def test_it_does_not_wait_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout(tmp_path)
    asked = shards.ShardMaker(Config(), tmp_path, tuple(seeds_from(["http://a.test/"])))
    monkeypatch.setattr(shards, "_ORPHAN_WAIT", 0.3)
    began = time.monotonic()
    with orphan(layout.shard(0)) as process:
        with pytest.raises(CollectionInUse, match="is in use by process"):
            shards.open_state(asked, layout, 0)
        assert time.monotonic() - began > 0.3
        process.communicate("\n")
