"""The order of results, against collections whose relevant documents people judged."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest

from periplus.apps.search import Document, Index, Judged, Weights, evaluate

ADDITIONS = {"title": 0.0, "anchor": 0.0, "phrase": 0.0, "names": 0.0, "all_words": 0.0, "rank": 0.0}


@pytest.mark.corpus
@pytest.mark.parametrize("engine", [pytest.param("sqlite", marks=pytest.mark.slow), "tantivy"])
@pytest.mark.parametrize(
    ("name", "least", "depth"),  # NPL has more relevant documents a query, and needs a longer list of results
    [("search_cranfield", 0.30, 200), pytest.param("search_npl", 0.285, 1000, marks=pytest.mark.slow)],
)
def test_mean_average_precision(corpus: Path, tmp_path: Path, engine: str, name: str, least: float, depth: int) -> None:
    """As good as published systems, with either engine; what we add to BM25 does no harm here."""
    if engine == "tantivy":
        pytest.importorskip("tantivy", reason="an extra: pip install 'periplus[search]'")
    grades: dict[str, dict[str, float]] = defaultdict(dict)
    for line in (corpus / name / "qrels.tsv").read_text().splitlines():
        if not line.startswith("#"):
            query, document, grade = line.split("\t")
            grades[query][document] = max(0.0, float(grade))
    judged = [Judged(row["text"], grades[row["id"]]) for row in _rows(corpus / name / "queries.jsonl.gz")]
    with Index.open(tmp_path / "index", engine=engine) as index:
        index.add(
            Document(url=f"https://{row['id']}.test/", title=row["title"], text=row["text"], language="en")
            for row in _rows(corpus / name / "documents.jsonl.gz")
        )
        index.commit()
        found = {}
        kinds: dict[str, dict[str, float]] = {"ours": {}}
        if engine == "tantivy" and name == "search_npl":  # the slower engine has the same ranking: once is enough
            kinds["plain"] = ADDITIONS
        for kind, additions in kinds.items():
            index.weights = msgspec.structs.replace(Weights(candidates=depth), **additions)
            found[kind] = evaluate(judged, lambda query: [hit.site[:-5] for hit in index.rank(query, depth)])
    assert found["ours"].mean_average_precision >= least
    if "plain" in found:
        assert found["ours"].mean_average_precision >= found["plain"].mean_average_precision - 0.005


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


SMALL = {
    "wings": ("Lift of swept wings", "Swept wings have less lift at low speed than straight wings of the same area."),
    "boundary": ("Boundary layers", "The boundary layer on a flat plate becomes turbulent behind a critical length."),
    "heat": ("Heat transfer in nozzles", "Heat passes through the boundary layer into the wall of a nozzle."),
    "flutter": ("Flutter", "Panels flutter at supersonic speed; stiff panels flutter later."),
}
SMALL_JUDGED = [
    Judged("lift of swept wings", {"wings": 1.0}),
    Judged("turbulent boundary layer", {"boundary": 1.0, "heat": 0.0}),
    Judged("flutter of panels", {"flutter": 1.0}),
]


@pytest.mark.parametrize("engine", ["sqlite", "tantivy"])
def test_a_small_judged_collection(tmp_path: Path, engine: str) -> None:
    """Every query has its document first, with either engine."""
    if engine == "tantivy":
        pytest.importorskip("tantivy", reason="an extra: pip install 'periplus[search]'")
    with Index.open(tmp_path / "index", engine=engine) as index:
        index.add(
            Document(url=f"https://{name}.test/", title=title, text=text, language="en")
            for name, (title, text) in SMALL.items()
        )
        index.commit()
        found = evaluate(SMALL_JUDGED, lambda query: [hit.site[:-5] for hit in index.rank(query, 10)])
    assert found.mean_average_precision == pytest.approx(1.0)
