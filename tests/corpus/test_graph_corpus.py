"""PageRank vectors that others computed, for a university's site and a part of the .uk web; and the hosts of .gov."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.reference.edge_blocks import pagerank_of_blocks

from periplus.graph import Ids, Ranks, depths, pagerank

pytestmark = pytest.mark.corpus

Known = tuple[Ids, Ids, Ranks]
EXACT = 1e-10


def lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


@cache
def hollins(corpus: Path) -> Known:
    """First a line `pages links 1`, then the pages, then the links, numbered from 1."""
    rows = lines(corpus / "graphs" / "hollins" / "hollins.dat.gz")
    pages, links, _ = map(int, rows[0].split())
    ends = np.array([row.split() for row in rows[1 + pages : 1 + pages + links]], dtype=np.int64) - 1
    return ends[:, 0], ends[:, 1], reference(corpus / "graphs" / "hollins" / "hollins.pagerank.txt.gz")


@cache
def uk(corpus: Path) -> Known:
    """Line i holds the links of page i as gaps; a running sum gives them."""
    name = "uk-2007-05@100000"
    folder = corpus / "graphs" / name
    links = [np.cumsum(np.array(row.split(), np.int64)) for row in lines(folder / f"{name}.adj.txt.gz")]
    sources = np.repeat(np.arange(len(links)), [len(page) for page in links])
    return sources, np.concatenate(links), reference(folder / f"{name}.pagerank.txt.gz")


def reference(path: Path) -> Ranks:
    return np.array([row.split()[-1] for row in lines(path)], dtype=np.float64)


@pytest.mark.parametrize("graph", [hollins, pytest.param(uk, marks=pytest.mark.slow)])
def test_equal_to_the_reference(corpus: Path, graph: object) -> None:
    """Every rank within 1e-10, and within a millionth of itself."""
    sources, targets, known = graph(corpus)  # type: ignore[operator]
    ranks = pagerank(sources, targets, len(known))
    assert np.abs(ranks - known).max() < EXACT
    assert (np.abs(ranks - known) / known).max() < 1e-6
    assert ranks.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("graph", [hollins, pytest.param(uk, marks=pytest.mark.slow)])
def test_equal_to_the_reference_out_of_core(corpus: Path, graph: object) -> None:
    """Edges that come in blocks give the same ranks."""
    sources, targets, known = graph(corpus)  # type: ignore[operator]
    size = 1 + len(sources) // 7
    blocks = [(sources[at : at + size], targets[at : at + size]) for at in range(0, len(sources), size)]
    assert np.abs(pagerank_of_blocks(blocks, len(known)) - known).max() < EXACT


@pytest.mark.slow
def test_known_size_of_uk(corpus: Path) -> None:
    """The reading of the file is right: as many arcs as its properties say."""
    sources, targets, known = uk(corpus)
    assert (len(sources), len(targets), len(known)) == (3_050_615, 3_050_615, 100_000)


def test_hosts_of_gov(corpus: Path) -> None:
    """A graph of hosts by name: ranks sum to 1, and a host that all others link to is not the last."""
    folder = corpus / "graphs" / "gov_hosts"
    number = {name: at for at, name in enumerate(lines(folder / "nodes.txt.gz"))}
    ends: NDArray[np.int64] = np.array(
        [[number[name] for name in row.split("\t")] for row in lines(folder / "edges.txt.gz")]
    )
    ranks = pagerank(ends[:, 0], ends[:, 1], len(number))
    assert ranks.sum() == pytest.approx(1, abs=1e-12)
    most_linked = int(np.bincount(ends[:, 1]).argmax())
    assert ranks[most_linked] > 10 / len(number)
    clicks = depths(ends[:, 0], ends[:, 1], len(number), [most_linked])
    assert clicks[most_linked] == 0
    assert clicks.max() < 20
