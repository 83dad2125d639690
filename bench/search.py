"""Search: how fast engines index and answer, and how good the order of results is.

The pages are the documentation that `bench.crawl` serves. The queries are entries of the back-of-the-book indexes of
PostgreSQL's and Python's manuals that name exactly one page (the corpus of `PERIPLUS_CORPUS` has them): people wrote
down which page answers which words. The index pages themselves are left out, and so are their links.
"""

from __future__ import annotations

import gzip
import os
import random
import shutil
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from bench.harness import Group, Target
from periplus.content import RawPage, read_pages
from periplus.graph import pagerank
from periplus.model import Page
from periplus.search import Document, Index, Judged, Measures, Weights, evaluate

DOCS = Path(__file__).parent / ".peers" / "docs"
CORPUS = Path(os.environ.get("PERIPLUS_CORPUS", Path(__file__).parents[2] / "shared" / "corpus"))
BOOKS = {"python3.11-doc": "python", "postgresql-doc-15": "postgresql"}
QUERY_FILE = CORPUS / "search_bookindex" / "queries.tsv.gz"
QUERIES, QUICK = 800, 100
ENGINES = ("tantivy", "sqlite")
PLAIN = Weights(title_repeats=0, title=0, anchor=0, phrase=0, all_words=0, rank=0, home=0)
USUAL = Weights(title_repeats=0, title=3, anchor=0, phrase=0, all_words=0, rank=0, home=0)


def measure(quick: bool) -> list[Group]:
    """Speed of each engine, and the quality of our ranking beside plain BM25 and a boosted title."""
    documents = _documents() if QUERY_FILE.is_file() else []
    if not documents:
        return []
    folder = Path(tempfile.mkdtemp(prefix="periplus-search-"))
    try:
        plain = _made(folder / "plain", "tantivy", [_without_links(one) for one in documents], PLAIN)[0]
        groups = []
        for engine in ENGINES:
            index, rate, size = _made(folder / engine, engine, documents, Weights())
            groups += _engine_groups(engine, index, rate, size, plain, quick)
            index.close()
        plain.close()
    finally:
        shutil.rmtree(folder)
    return groups


def _engine_groups(engine: str, index: Index, rate: float, size: int, plain: Index, quick: bool) -> list[Group]:
    times = _times(index, [one.query for book in _judged(quick).values() for one in book])
    facts = {"documents": f"{len(index):,}", "index": f"{size / 1e6:,.0f} MB"}
    facts |= {f"query, {name}": f"{value * 1000:.1f} ms" for name, value in times.items()}
    groups = [Group(f"Search, {engine}: indexing", "documents per CPU second", {engine: rate}, facts=facts)]
    for book, judged in _judged(quick).items():
        rates: dict[str, float] = {}
        shown = {}
        for name, asked, weights in (
            ("plain BM25 of the text", plain, PLAIN),
            ("title × 3 + text", plain, USUAL),
            ("periplus", index, Weights()),
        ):
            asked.weights = weights
            found = evaluate(judged, partial(_urls, asked))
            rates[name] = found.reciprocal_rank * 1000
            shown[name] = _figures(found)
        targets = (Target("periplus", "plain BM25 of the text", 1.0), Target("periplus", "title × 3 + text", 1.0))
        groups.append(Group(f"Search, {engine}: {book}", "MRR × 1000", rates, targets, facts=shown))
    return groups


def _figures(found: Measures) -> str:
    return (
        f"MRR {found.reciprocal_rank:.3f}, success at 1 {found.success_1:.3f}, at 10 {found.success_10:.3f}"
        f" ({found.queries} queries)"
    )


def _urls(index: Index, query: str) -> list[str]:
    return [hit.url for hit in index.rank(query, 100)]


def _times(index: Index, queries: Sequence[str]) -> dict[str, float]:
    """Seconds of ranking, and of a whole search with snippets."""
    kinds: dict[str, Callable[[str], object]] = {"ranked": index.rank, "with snippets": index.search}
    times = {}
    for name, ask in kinds.items():
        taken = []
        for query in queries[:300]:
            started = time.perf_counter()
            ask(query)
            taken.append(time.perf_counter() - started)
        taken.sort()
        times[f"{name}, median"] = taken[len(taken) // 2]
        times[f"{name}, 95 of 100"] = taken[len(taken) * 95 // 100]
    return times


def _made(folder: Path, engine: str, documents: list[Document], weights: Weights) -> tuple[Index, float, int]:
    index = Index.open(folder, engine=engine, weights=weights)
    started = time.process_time()
    index.add(documents)
    index.commit()
    rate = len(documents) / (time.process_time() - started)
    return index, rate, sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _without_links(document: Document) -> Document:
    return Document(url=document.url, title=document.title, text=document.text, language=document.language)


@cache
def _judged(quick: bool) -> dict[str, list[Judged]]:
    """Queries of each book with the page that its index names."""
    queries = defaultdict(list)
    with gzip.open(QUERY_FILE, "rt", encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("#"):
                book, query, page = line.rstrip("\n").split("\t")
                queries[{"py": "python", "pg": "postgresql"}.get(book, book)].append(Judged(query, {page: 1.0}))
    chance = random.Random(1)
    return {book: chance.sample(rows, min(len(rows), QUICK if quick else QUERIES)) for book, rows in queries.items()}


def _documents() -> list[Document]:
    """Every page with its text, the texts of links to it, and its PageRank."""
    texts: list[tuple[str, Page]] = []
    anchors: dict[str, Counter[str]] = defaultdict(Counter)
    edges: list[tuple[str, str]] = []
    number: dict[str, int] = {}
    for url, body in _pages():
        page = read_pages([RawPage(body, url, "text/html; charset=utf-8")])[0]
        number[url] = len(texts)
        texts.append((url, page))
        for link in page.links:
            target = link.url.partition("#")[0]
            if target != url:
                edges.append((url, target))
                text = " ".join(link.anchor.lower().split())
                if 2 <= len(text) <= 100:
                    anchors[target][text] += 1
    known = [(number[source], number[target]) for source, target in edges if target in number]
    if not known:
        return []
    ranks = pagerank([source for source, _ in known], [target for _, target in known], len(texts)) * len(texts)
    return [
        Document(
            url=url,
            title=page.title or "",
            text=page.main_text,
            language=page.language,
            anchors=tuple(text for text, _ in anchors[url].most_common(16)),
            page_rank=float(ranks[place]),
        )
        for place, (url, page) in enumerate(texts)
    ]


def _pages() -> Iterator[tuple[str, bytes]]:
    for package in sorted(path for path in DOCS.iterdir() if path.is_dir()) if DOCS.is_dir() else ():
        for path in sorted(package.rglob("*.html")):
            if path.is_symlink() or path.name.startswith(("genindex", "bookindex")):
                continue
            inside = path.relative_to(package).as_posix()
            name = inside.partition("/html/")[2] if package.name in BOOKS else inside
            if name:
                yield f"http://{BOOKS.get(package.name, package.name)}.docs.test/{name}", path.read_bytes()
