"""A process that is killed at any moment leaves exactly what it had committed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from periplus.model import Lane, Site, Url
from periplus.store import DiskState

WRITER = """
import sys
from pathlib import Path
from periplus.model import *
from periplus.store import DiskState
state = DiskState(Path(sys.argv[1]))
start = int.from_bytes(state.marked("round") or b"", "big")
for number in range(start, 10**9):
    urls = [Url(f"https://s{number % 7}.test/{number}/{index}") for index in range(40)]
    state.records.add_new([UrlRecord(url, (FirstSeen(Source.LINK, 1.0),)) for url in urls])
    site = Site(f"s{number % 7}.test")
    state.queues.push([Queued(url, site, Lane.DISCOVERY, index % 3) for index, url in enumerate(urls)])
    state.queues.remove(state.queues.heads(site, Lane.DISCOVERY, 10))
    state.mark("round", (number + 1).to_bytes(8, "big"))
    state.commit()
    print(number + 1, flush=True)
"""


def last_said(output: bytes) -> int:
    """The last whole line: a commit that had returned."""
    return int(output[: output.rindex(b"\n")].split(b"\n")[-1])


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_killed_writer_leaves_a_committed_prefix(tmp_path: Path, seed: int) -> None:
    """Every round said to be committed is there whole, at most one more, and no half of one; and it goes on."""
    chance = Random(seed)
    for _ in range(2):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        said = b"".join(writer.stdout.readline() for _ in range(chance.randrange(1, 60)))
        writer.send_signal(signal.SIGKILL)
        said += writer.stdout.read()
        writer.wait()
        writer.stdout.close()
        state = DiskState(tmp_path)
        rounds = int.from_bytes(state.marked("round") or b"", "big")
        assert rounds - last_said(said) in (0, 1)
        assert len(state.records) == rounds * 40
        assert len(state.queues) == rounds * 30
        urls = [Url(f"https://s{number % 7}.test/{number}/{number % 40}") for number in range(rounds + 2)]
        assert [found is not None for found in state.records.get(urls)] == [True] * rounds + [False] * 2
        assert sum(state.queues.length(Site(f"s{number}.test"), Lane.DISCOVERY) for number in range(7)) == rounds * 30
        state.check_invariants()
        state.close()
