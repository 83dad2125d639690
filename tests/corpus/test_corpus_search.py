"""The order of results, against collections whose relevant documents people judged."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest

from periplus.search import Document, Index, Judged, Weights, evaluate

pytestmark = pytest.mark.corpus

PLAIN = Weights(title=0.0, anchor=0.0, phrase=0.0, all_words=0.0, rank=0.0)
"""Weights of BM25 alone."""


@pytest.mark.parametrize("engine", ["sqlite", "tantivy"])
@pytest.mark.parametrize(
    ("name", "depth", "least"),
    [("search_cranfield", 200, 0.30), pytest.param("search_npl", 1000, 0.285, marks=pytest.mark.slow)],
)
def test_mean_average_precision(corpus: Path, tmp_path: Path, engine: str, name: str, depth: int, least: float) -> None:
    """As good as published systems, with either engine, and no worse than BM25 without additions.

    `depth`: how many results of each query count; those below the first hundreds hardly change the mean.
    """
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
        for kind, weights in (("ours", Weights()), ("plain", PLAIN)):
            index.weights = msgspec.structs.replace(weights, candidates=depth)
            found[kind] = evaluate(judged, lambda query: [hit.site[:-5] for hit in index.rank(query, depth)])
    assert found["ours"].mean_average_precision >= least
    assert found["ours"].mean_average_precision >= found["plain"].mean_average_precision - 0.005


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
