"""The job that scores domains: its graph is made of the tables, once for each file, and its result is looked up."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from periplus.model import Url
from periplus.parts.reputation.job import DomainGraph, ReputationSettings, learn_reputation
from periplus.store.tables import SCHEMAS

SUFFIXES = ("lab.test",)


def write_links(folder: Path, number: int, links: list[tuple[str, str, str]]) -> None:
    """A Parquet file of the table `links`: site, target site, rel."""
    schema = SCHEMAS["links"]
    columns = {
        name: [None] * len(links) for name in schema.names
    } | {
        "page": [f"http://{site}/" for site, _, _ in links],
        "site": [site for site, _, _ in links],
        "read_at": [0] * len(links),
        "target": [f"http://{target}/x" for _, target, _ in links],
        "target_site": [target for _, target, _ in links],
        "anchor": [""] * len(links),
        "rel": [rel for _, _, rel in links],
        "kind": ["a"] * len(links),
        "is_internal": [site == target for site, target, _ in links],
    }  # fmt: skip
    table = pa.table({name: pa.array(columns[name]).cast(schema.field(name).type) for name in schema.names})
    place = folder / "tables" / "links"
    place.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, place / f"00-{number:06d}.parquet")


def test_edges_once_a_pair_of_domains(tmp_path: Path) -> None:
    """Hosts of a domain are one node; links within a domain, repeated ones and those with nofollow do not count."""
    write_links(
        tmp_path,
        1,
        [
            ("www.a.lab.test", "b.lab.test", ""),
            ("a.lab.test", "x.b.lab.test", "noopener"),
            ("a.lab.test", "www.a.lab.test", ""),
            ("a.lab.test", "c.lab.test", "nofollow"),
            ("a.lab.test", "d.lab.test", "ugc external"),
            ("b.lab.test", "e.lab.test", ""),
        ],
    )
    graph = DomainGraph(SUFFIXES)
    assert graph.read(tmp_path) == 1
    pairs = [(graph.names[a], graph.names[b]) for a, b in zip(*(each.tolist() for each in graph.links), strict=True)]
    assert sorted(pairs) == [("a.lab.test", "b.lab.test"), ("b.lab.test", "e.lab.test")]


def test_only_new_files_are_read(tmp_path: Path) -> None:
    """A second run reads what is new, and has the graph of both; other suffixes make it again."""
    write_links(tmp_path, 1, [("a.lab.test", "b.lab.test", "")])
    assert DomainGraph(SUFFIXES).read(tmp_path) == 1
    write_links(tmp_path, 2, [("b.lab.test", "c.lab.test", "")])
    again = DomainGraph(SUFFIXES)
    assert again.read(tmp_path) == 1
    assert len(again.links[0]) == 2
    assert DomainGraph(SUFFIXES).read(tmp_path) == 0
    assert DomainGraph().read(tmp_path) == 2


@pytest.mark.parametrize("score", ["trust", "star"])
def test_learnt_budgets(tmp_path: Path, score: str) -> None:
    """The farm has most supporters; by trust it gets less than the domain that the seed links to."""
    farm = [f"f{number}.lab.test" for number in range(10)]
    links = [(one, other, "") for one in farm for other in farm]
    links += [("seed.lab.test", "good.lab.test", ""), ("good.lab.test", "seed.lab.test", "")]
    links += [("seed.lab.test", "other.lab.test", ""), ("good.lab.test", "f0.lab.test", "")]
    write_links(tmp_path, 1, links)
    settings = ReputationSettings(score=score, suffixes=SUFFIXES)
    known = learn_reputation(tmp_path, seeds=[Url("http://www.seed.lab.test/")], settings=settings).known()
    good, spam = known.budget("good.lab.test"), known.budget("f3.lab.test")
    assert good is not None
    assert spam is not None
    assert (good > 2 * spam) == (score == "trust")
    assert (tmp_path / "insight" / "verdicts-reputation.parquet").is_file()
