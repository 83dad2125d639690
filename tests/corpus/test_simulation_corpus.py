"""Real graphs and real histories of change, as others published them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from periplus_lab.simulate.graph_files import read_graph, read_ranks
from periplus_lab.simulate.histories import read_histories
from periplus_lab.simulate.web import Web

pytestmark = pytest.mark.corpus


def reached(web: Web) -> int:
    """How many pages can be reached from the seeds."""
    sources, targets = web.edges
    known = np.zeros(len(web), np.bool_)
    known[web.seeds] = True
    while (new := targets[known[sources] & ~known[targets]]).size:
        known[new] = True
    return int(known.sum())


@pytest.mark.parametrize(
    ("name", "pages", "links", "sites"),
    [
        ("hollins", 6012, 23875, 4),
        pytest.param("uk-2007-05@100000", 100_000, 3_050_615, 1, marks=pytest.mark.slow),
        ("gov_hosts", 2824, 77_420, 2824),
    ],
)
def test_graphs_are_read_whole(corpus: Path, name: str, pages: int, links: int, sites: int) -> None:
    """As many pages and links as their publishers say, and every page can be found by a crawl."""
    web = read_graph(corpus / "graphs" / name)
    assert (len(web), len(web.targets), len(web.sites)) == (pages, links, sites)
    assert reached(web) == pages


@pytest.mark.parametrize("name", ["hollins", pytest.param("uk-2007-05@100000", marks=pytest.mark.slow)])
def test_ranks_belong_to_their_pages(corpus: Path, name: str) -> None:
    """One step of PageRank leaves the published vector as it is: numbers of pages are those of the file."""
    web, rank = read_graph(corpus / "graphs" / name), read_ranks(corpus / "graphs" / name)
    assert rank is not None
    assert len(rank) == len(web)
    sources, targets = web.edges
    step = 0.85 * np.bincount(targets, rank[sources] / np.diff(web.starts)[sources], len(web))
    assert np.abs(step + (1 - step.sum()) / len(web) - rank).max() < 1e-10


@pytest.mark.slow
def test_neighbours_make_a_rough_site(corpus: Path) -> None:
    """Pages sorted by URL link mostly to their neighbours, so that groups of them behave like sites."""
    web = read_graph(corpus / "graphs" / "uk-2007-05@100000", pages_per_site=1000)
    sources, targets = web.edges
    assert len(web.sites) == 100
    assert (web.site[sources] == web.site[targets]).mean() > 0.5


def test_histories_are_read_whole(corpus: Path) -> None:
    """Every page, every time, as the file has them."""
    path = corpus / "change_histories" / "changes.tsv.gz"
    read = read_histories(path)
    lines = [line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().splitlines() if line[0] != "#"]
    assert read.pages == [line[1] for line in lines]
    assert [read.sites[site] for site in read.site.tolist()] == [line[0] for line in lines]
    assert read.times.tolist() == [float(time) for line in lines for time in line[3].split()]
    assert read.begins_at.tolist() == [float(line[3].split()[0]) for line in lines]
    assert read.ends_at == read.times.max()
