"""A file of edges: what goes in comes out, whatever happens to its end, in less memory than it has bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from periplus.graph import pagerank, pagerank_of_blocks
from periplus.model import CollectionDamaged
from periplus.store import EdgeFile


def edges_of(file: EdgeFile, size: int = 1000) -> list[tuple[int, int]]:
    return [
        (int(source), int(target))
        for sources, targets in file.blocks(size)
        for source, target in zip(sources, targets, strict=True)
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_what_was_appended_is_read(tmp_path: Path, size: int) -> None:
    """In order, over several appends and another opening, in blocks of any size, again and again."""
    file = EdgeFile(tmp_path / "edges")
    file.append([0, 1, 2], [3, 4, 5])
    file.append([], [])
    EdgeFile(tmp_path / "edges").append(np.array([6, 7], np.uint8), np.array([8, 9]))
    assert len(file) == 5
    assert edges_of(file, size) == [(0, 3), (1, 4), (2, 5), (6, 8), (7, 9)]
    blocks = file.blocks(size)
    assert len(list(blocks)) == len(list(blocks)) == -(-5 // size)


def test_blocks_do_not_grow(tmp_path: Path) -> None:
    """What is computed over several readings sees the same edges in each, whoever appends meanwhile."""
    file = EdgeFile(tmp_path / "edges")
    file.append([1], [2])
    blocks = file.blocks()
    file.append([3], [4])
    assert [len(sources) for sources, _ in blocks] == [1]
    assert [len(sources) for sources, _ in file.blocks()] == [2]


def test_bytes_an_edge(tmp_path: Path) -> None:
    """8, or 16 for numbers beyond 2^31; a file stays as wide as it was made."""
    for wide, each in ((False, 8), (True, 16)):
        file = EdgeFile(tmp_path / f"edges{each}", wide=wide)
        before = file.path.stat().st_size
        file.append([1, 2], [3, 4])
        assert file.path.stat().st_size - before == 2 * each
        assert EdgeFile(file.path, wide=not wide).bytes_an_edge == each
    big = 2**40
    file.append([big], [0])
    assert edges_of(file)[-1] == (big, 0)
    with pytest.raises(ValueError, match="fit"):
        EdgeFile(tmp_path / "edges8").append([big], [0])


@pytest.mark.parametrize("cut", range(1, 25))
def test_a_torn_end_costs_the_torn_edge(tmp_path: Path, cut: int) -> None:
    """However many bytes are lost, whole edges before them remain, and appending goes on after those."""
    file = EdgeFile(tmp_path / "edges")
    file.append([1, 2, 3], [4, 5, 6])
    whole = file.path.read_bytes()
    file.path.write_bytes(whole[:-cut])
    left = [(1, 4), (2, 5), (3, 6)][: (24 - cut) // 8]
    assert edges_of(file) == left
    file.append([7], [8])
    assert edges_of(EdgeFile(file.path)) == [*left, (7, 8)]


def test_a_torn_beginning_is_an_empty_file(tmp_path: Path) -> None:
    """Dead before the first edge: nothing was in it."""
    path = tmp_path / "edges"
    path.write_bytes(b"periplus")
    file = EdgeFile(path)
    assert len(file) == 0
    file.append([1], [2])
    assert edges_of(file) == [(1, 2)]


def test_another_kind_of_file_is_left_alone(tmp_path: Path) -> None:
    """What is no file of edges is not written over."""
    path = tmp_path / "notes"
    path.write_text("a text of somebody else, longer than a header")
    with pytest.raises(CollectionDamaged):
        EdgeFile(path)
    assert path.read_text().startswith("a text")


@pytest.mark.parametrize(("sources", "targets"), [([1], [1, 2]), ([-1], [0]), ([0.5], [1]), ([[1]], [[1]])])
def test_what_is_no_edge_is_refused(tmp_path: Path, sources: object, targets: object) -> None:
    """And the file stays as it was."""
    file = EdgeFile(tmp_path / "edges")
    with pytest.raises(ValueError):
        file.append(sources, targets)  # type: ignore[arg-type]
    assert len(file) == 0
    with pytest.raises(ValueError, match="block"):
        file.blocks(0)


def test_ranks_from_a_file(tmp_path: Path) -> None:
    """Blocks of a file are blocks for PageRank, and the answer is that of the graph in memory."""
    chance = np.random.default_rng(1)
    sources, targets = chance.integers(0, 2000, 9000), (2000 * chance.random(9000) ** 2).astype(np.int64)
    file = EdgeFile(tmp_path / "edges")
    file.append(sources, targets)
    ranks = pagerank_of_blocks(file.blocks(1000), 2000)
    assert np.abs(ranks - pagerank(sources, targets, 2000)).max() < 1e-10


IN_LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
import numpy as np
from periplus.graph import pagerank_of_blocks
from periplus.store import EdgeFile

file, allowed = EdgeFile(Path(sys.argv[1])), int(sys.argv[2])
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + allowed,) * 2)
try:
    np.ones(file.path.stat().st_size // 8)
except MemoryError:
    print(len(file), pagerank_of_blocks(file.blocks(1 << 16), 1000, 0.5, tolerance=1e-6).sum())
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux how much memory it has")
def test_edges_need_not_fit_in_memory(tmp_path: Path) -> None:
    """64 MB of edges are ranked by a process that may use 24 MB more than it began with, and that cannot load them."""
    file = EdgeFile(tmp_path / "edges", wide=True)
    chance = np.random.default_rng(1)
    for _ in range(8):
        file.append(chance.integers(0, 1000, 1 << 19), chance.integers(0, 1000, 1 << 19))
    assert file.path.stat().st_size > 64 << 20
    command = [sys.executable, "-c", IN_LITTLE_MEMORY, str(file.path), str(24 << 20)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    edges, total = ended.stdout.split()
    assert int(edges) == 8 << 19
    assert float(total) == pytest.approx(1)
