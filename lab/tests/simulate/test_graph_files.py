"""Files of links in every form that people keep them in give the same web."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from periplus.model import ConfigError
from periplus_lab.simulate.edge_lists import edge_list, gaps
from periplus_lab.simulate.graph_files import read_graph, read_ranks
from periplus_lab.simulate.orderings import compare_orderings
from periplus_lab.simulate.runs import PolicyChoice
from periplus_lab.simulate.web import Web

LINKS = {(0, 1), (0, 2), (1, 2), (2, 0), (3, 0)}


def links_of(web: Web) -> set[tuple[int, int]]:
    sources, targets = web.edges
    return set(zip(sources.tolist(), targets.tolist(), strict=True))


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "0 1\n0 2\n1 2\n2 0\n3 0\n",
        "# FromNode\tToNode\r\n0\t1\r\n0\t2\r\n1\t2\r\n2\t0\r\n3\t0\r\n",
        "% konect\n1 2 7\n1 3 1\n2 3 2\n3 1 1\n4 1 1",
        "0,1\n0,2\n1,2\n\n2,0\n3,0\n3,0\n",
        "source,target,weight\n0,1,2\n0,2,2\n1,2,1\n2,0,1\n3,0,1\n",
        "  0   1 0.5\n0 2 1e-3\n1 2 1\n2 0 2\n3 0 2\n",
        "10 20\n10 30\n20 30\n30 10\n9000000000 10\n",
    ],
    ids=["blanks", "tabs", "from-one-weighted", "commas", "header", "real-weights", "sparse"],
)
def test_edge_lists_of_numbers(tmp_path: Path, text: str) -> None:
    """Whatever parts them, wherever they begin, weighted or not: pages are the numbers that occur, in order."""
    web = read_graph(written(tmp_path, "graph.txt", text))
    assert links_of(web) == LINKS
    assert len(web) == 4
    assert len(web.sites) == 1


@pytest.mark.parametrize("squeeze", [gzip.compress, bz2.compress, lzma.compress, zstandard.compress, bytes])
def test_compression_is_told_by_content(tmp_path: Path, squeeze: Callable[[bytes], bytes]) -> None:
    """The name of the file does not matter."""
    path = tmp_path / "graph"
    path.write_bytes(squeeze(b"0 1\n0 2\n1 2\n2 0\n3 0\n"))
    assert links_of(read_graph(path)) == LINKS


def test_urls_lie_on_the_sites_of_their_hosts(tmp_path: Path) -> None:
    """Seeds are the shortest URLs of sites, and whatever else is needed to reach everything."""
    text = "http://A.org/x http://a.org/\nhttp://a.org/ http://b.org/y\nhttp://a.org/lonely\thttp://a.org/\n"
    web = read_graph(written(tmp_path, "graph.txt", text.replace("\t", " ")))
    assert web.urls == ["http://a.org/x", "http://a.org/", "http://b.org/y", "http://a.org/lonely"]
    assert web.sites == ["a.org", "b.org"]
    assert {web.url(page) for page in web.seeds.tolist()} == set(web.urls)
    assert web.site.tolist() == [0, 0, 1, 0]


def test_names_that_are_one_url_stay_two_pages(tmp_path: Path) -> None:
    """Ranks that came with the file are by page."""
    web = read_graph(written(tmp_path, "graph.txt", "http://a.org/#1 http://a.org/#2\nhttp://a.org/ weird^name\n"))
    assert len(set(web.names())) == len(web) == 4


@pytest.mark.parametrize("asked", ["", "nodes.txt", "edges.txt"])
def test_nodes_and_edges(tmp_path: Path, asked: str) -> None:
    """The folder or either file; a host without links is a page as well."""
    written(tmp_path, "nodes.txt", "a.gov\nb.gov\nc.gov\n")
    written(tmp_path, "edges.txt", "c.gov\ta.gov\n")
    web = read_graph(tmp_path / asked)
    assert web.sites == ["a.gov", "b.gov", "c.gov"]
    assert links_of(web) == {(2, 0)}
    assert web.seeds.tolist() == [1, 2]


def test_nodes_may_have_numbers(tmp_path: Path) -> None:
    """As host graphs are often published: `number name`, and links between numbers."""
    written(tmp_path, "x-nodes.txt", "5\ta.gov\n7\tb.gov\n")
    assert links_of(read_graph(written(tmp_path, "x-edges.txt", "7\t5\n"))) == {(1, 0)}


def test_numbered_names_then_links(tmp_path: Path) -> None:
    """The `.dat` form, whatever the file is called."""
    text = "3 2 1\n1 http://a.org/ \n2 http://a.org/b c \n3 http://d.org/\n1 2\n3 1\n"
    web = read_graph(written(tmp_path, "graph.dat", text))
    assert links_of(web) == {(0, 1), (2, 0)}
    assert web.names()[1] == "http://a.org/b%20c"


def test_gaps(tmp_path: Path) -> None:
    """A running sum gives the successors; an empty line is a page without links."""
    web = read_graph(written(tmp_path, "g.adj.txt", "1 1\n\n0 1 2\n0\n"))
    assert links_of(web) == {(0, 1), (0, 2), (2, 0), (2, 1), (2, 3), (3, 0)}


@given(st.lists(st.lists(st.integers(0, 11), unique=True).map(sorted), min_size=12, max_size=12))
def test_gaps_and_edge_lists_say_the_same(rows: list[list[int]]) -> None:
    """Both readers, for any graph."""
    text = "".join(" ".join(map(str, np.diff(row, prepend=0))) + "\n" for row in rows)
    read = gaps(text.encode(), "it")
    assert list(zip(read.sources.tolist(), read.targets.tolist(), strict=True)) == [
        (page, target) for page, row in enumerate(rows) for target in row
    ]
    pairs = [(page, target) for page, row in enumerate(rows) for target in row]
    if {end for pair in pairs for end in pair} == set(range(12)):
        listed = edge_list("\n".join(f"{a} {b}" for a, b in pairs).encode(), "it")
        assert list(zip(listed.sources.tolist(), listed.targets.tolist(), strict=True)) == pairs


def test_hosts_and_groups_make_sites(tmp_path: Path) -> None:
    """A file of hosts, or a number of neighbours each; the first page of each is a seed."""
    path = written(tmp_path, "g.adj.txt", "1 1\n\n0 1 2\n0\n")
    hosts = written(tmp_path, "hosts.txt", "a.org\na.org\nb.org\nb.org\n")
    for web in (read_graph(path, hosts=hosts), read_graph(path, pages_per_site=2)):
        assert web.site.tolist() == [0, 0, 1, 1]
        assert web.seeds.tolist() == [0, 2]
    assert read_graph(path, hosts=hosts).url(3) == "http://b.org/3"
    with pytest.raises(ConfigError, match="4 pages"):
        read_graph(path, hosts=written(tmp_path, "few", "a.org\n"))


def test_bare_numbers_are_one_site_with_a_warning(tmp_path: Path) -> None:
    """A site for each page would make all orderings alike; grouping is an option, and then nothing is warned of."""
    path = written(tmp_path, "graph.txt", "0 1\n0 2\n1 2\n2 3\n")
    warned: list[str] = []
    assert len(read_graph(path, warn=warned.append).sites) == 1
    assert len(warned) == 1
    assert "--pages-per-site" in warned[0]
    assert len(read_graph(path, pages_per_site=1, warn=warned.append).sites) == 4
    assert len(read_graph(written(tmp_path, "names.txt", "a.org b.org\n"), warn=warned.append).sites) == 2
    assert len(warned) == 1


def test_orderings_differ_on_bare_numbers(tmp_path: Path) -> None:
    """Breadth-first fetches the pages near the seed first, random order does not."""
    links = "".join(f"{page} {2 * page + 1}\n{page} {2 * page + 2}\n" for page in range(511))
    web = read_graph(written(tmp_path, "tree.txt", links))
    choices = [PolicyChoice("breadth_first"), PolicyChoice("random")]
    first, other = compare_orderings(lambda _seed: web, choices, budgets=(0.1,), limit=200)
    assert first.mass != other.mass


@pytest.mark.parametrize(
    "text",
    [
        "source,target\nhttp://a.org/,http://b.org/\n",
        "Source_URL\tTarget_URL\na.org\tb.org\n",
        "page,links to\na.org/x,b.org/y\n",
        '"FromNodeId","ToNodeId"\n1,2\n',
    ],
)
def test_the_header_of_a_csv_file_is_not_a_link(tmp_path: Path, text: str) -> None:
    """By the names of its columns, or because addresses or numbers follow."""
    assert links_of(read_graph(written(tmp_path, "graph.csv", text))) == {(0, 1)}


def test_everything_can_be_reached_from_few_seeds(tmp_path: Path) -> None:
    """A ring without links to it needs one seed, not all of its pages."""
    web = read_graph(written(tmp_path, "g.txt", "0 1\n0 2\n0 3\n1 0\n4 5\n5 4\n5 3\n6 6\n"))
    assert web.seeds.tolist() == [0, 5, 6]


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("g.txt", "0 1\n1 2\nthree\n", ":3"),
        ("g.txt", "a b\nc\n", ":2"),
        ("g.txt", "0 1\n1\n", ":2"),
        ("g.txt", "7\n8\n", ":1"),
        ("g.txt", "# nothing\n", ":1"),
        ("g.txt", "0 1\n99999999999999999999999 1\n", ":2"),
        ("g.adj.txt", "1\n0 1 1\n", ":2"),
        ("g.adj.txt", "1\nx\n", ":2"),
        ("g.dat", "2 1 1\n1 http://a/\n2 http://b/\n1 3\n", ":4"),
        ("g.dat", "2 1 1\n1 http://a/\n2 http://b/\n1\n", ":4"),
        ("g.dat", "9 1 1\n1 http://a/\n", ":"),
    ],
)
def test_what_is_not_a_graph_is_refused_with_its_line(tmp_path: Path, name: str, text: str, where: str) -> None:
    """A person must find the line."""
    with pytest.raises(ConfigError, match=f"{name}{where}") as caught:
        read_graph(written(tmp_path, name, text))
    assert caught.value.hint


@pytest.mark.parametrize("body", [b"\0\1\2binary\0", b"\x1f\x8bcut", b"BZh9", b"\x28\xb5\x2f\xfdxx", b""])
def test_what_is_not_text_is_refused(tmp_path: Path, body: bytes) -> None:
    """Not a traceback of some library."""
    path = tmp_path / "graph.txt"
    path.write_bytes(body)
    with pytest.raises(ConfigError):
        read_graph(path)


def test_a_folder_holds_one_graph(tmp_path: Path) -> None:
    """What lies beside it is passed over; two of them are a question."""
    written(tmp_path, "README.md", "words")
    written(tmp_path, "g.pagerank.txt", "0.5\n0.5\n")
    with pytest.raises(ConfigError, match="none"):
        read_graph(tmp_path)
    path = written(tmp_path, "g.txt", "0 1\n")
    assert len(read_graph(tmp_path)) == 2
    for asked in (tmp_path, path, tmp_path / "g.pagerank.txt"):
        ranks = read_ranks(asked)
        assert ranks is not None
        assert ranks.tolist() == [0.5, 0.5]
    other = written(tmp_path, "other.txt", "0 1\n")
    assert read_ranks(other) is None
    with pytest.raises(ConfigError, match="expected one link file"):
        read_graph(tmp_path)
