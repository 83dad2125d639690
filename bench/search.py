"""Search: how fast engines index and answer, and how good the order of results is.

The pages are the documentation that `bench.crawl` serves; they are read once and kept in `bench/.peers`. The queries
are questions in people's words, and entries of the back-of-the-book indexes of PostgreSQL's and Python's manuals that
name exactly one page (the corpus of `PERIPLUS_CORPUS` has them): people wrote down which page answers which words. The
index pages themselves are left out, and so are their links. Two classical collections with judgements, Cranfield and
NPL, are the second yardstick. Sixty queries in `search_queries.json`, chosen before anything was searched, ask each of
the two manuals for itself, with its index pages: the first result, and the section that it leads to.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bench.harness import Group, Target
from bench.peers import HOME
from periplus.apps.search import (
    PLAIN,
    TITLE_BOOST,
    Document,
    Index,
    Judged,
    Measures,
    Reranking,
    Weights,
    evaluate,
)
from periplus.apps.search.listings import is_listing
from periplus.content import RawPage, read_pages, read_texts
from periplus.graph import pagerank
from periplus.model import ParsedPage

DOCS, PARSED = HOME / "docs", HOME / "search-pages.msgpack"
CORPUS = Path(os.environ.get("PERIPLUS_CORPUS", Path(__file__).parents[2] / "shared" / "corpus"))
BOOKS = {"python3.11-doc": "python", "postgresql-doc-15": "postgresql"}
QUERIES, QUICK = 600, 100
TIMED, QUICK_TIMED = 200, 60
CLASSICAL = ("cranfield", "npl")
VECTORS = "wordllama" if find_spec("wordllama") else ""
PEERS = {"bm25s": "bm25s", "xapian": "Xapian", "whoosh": "Whoosh", "lancedb": "LanceDB"}
"""Engines that are not measured here unless installed, by the name of their module."""

Ask = Callable[[str], object]


def measure(quick: bool) -> list[Group]:
    """Speed of each engine, and the quality of our ranking beside plain BM25 and a boosted title."""
    documents = _documents()
    if not documents or not (CORPUS / "search_bookindex").is_dir():
        return []
    judged = _judged(QUICK if quick else QUERIES)
    queries = [one.query for book in judged.values() for one in book[: (QUICK_TIMED if quick else TIMED) // 2]]
    folder = Path(tempfile.mkdtemp(prefix="periplus-search-"))
    try:
        return [_engines(folder, documents, queries), *_rankings(folder, documents, judged), _manuals(folder)]
    finally:
        shutil.rmtree(folder)


# engines


def _engines(folder: Path, documents: list[Document], queries: Sequence[str]) -> Group:
    """D1's table: what each engine costs on the same pages and queries."""
    rows = [
        "| engine | documents per CPU s | size, MB | query p50 / p95, ms | with snippets p50 / p95, ms |",
        "|---|---:|---:|---:|---:|",
    ]
    rates = {}
    for name, make in (
        ("periplus on tantivy", partial(_ours, "tantivy")),
        ("periplus on SQLite", partial(_ours, "sqlite")),
        ("tantivy alone", _tantivy),
        ("SQLite FTS5 alone", _fts5),
    ):
        if "tantivy" in name and not find_spec("tantivy"):
            continue
        _print(f"indexing {len(documents):,} pages: {name}")
        place = folder / name.replace(" ", "-")
        started = time.process_time()
        asks = make(place, documents)
        rates[name] = len(documents) / (time.process_time() - started)
        _print(f"asking {len(queries)} queries: {name}")
        size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) / 1e6
        times = [_times(ask, queries) for ask in asks]
        shown = " | ".join([*times, *["none"] * (2 - len(times))])
        rows.append(f"| {name} | {rates[name]:,.0f} | {size:,.0f} | {shown} |")
    absent = [f"{name}: not installed, left out." for module, name in PEERS.items() if not find_spec(module)]
    facts = {"documents": f"{len(documents):,}", "queries": f"{len(queries)}, CPU time each"}
    return Group(
        "Search: engines", "documents indexed per CPU second", rates, notes=(*rows, "", " ".join(absent)), facts=facts
    )


def _ours(engine: str, place: Path, documents: list[Document]) -> list[Ask]:
    index = Index.open(place, engine=engine)
    index.add(documents)
    index.commit()
    return [index.rank, index.search]


def _tantivy(place: Path, documents: list[Document]) -> list[Ask]:
    """The engine with analysers of its own, a title boosted three times."""
    import tantivy

    place.mkdir()
    builder = tantivy.SchemaBuilder()
    for field in ("url", "title", "body"):
        builder.add_text_field(field, stored=field == "url", tokenizer_name="raw" if field == "url" else "en_stem")
    index = tantivy.Index(builder.build(), path=str(place))
    writer = index.writer(64 << 20, num_threads=1)
    for one in documents:
        writer.add_document(tantivy.Document(url=one.url, title=one.title, body=one.text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def ask(query: str) -> object:
        asked, _ = index.parse_query_lenient(query, ["title", "body"], field_boosts={"title": 3.0})
        return [searcher.doc(address)["url"] for _, address in searcher.search(asked, 10).hits]

    return [ask]


def _fts5(place: Path, documents: list[Document]) -> list[Ask]:
    """SQLite with its own English stemmer, a title boosted three times."""
    place.mkdir()
    database = sqlite3.connect(place / "fts5.sqlite")
    database.execute("create virtual table pages using fts5(url unindexed, title, body, tokenize='porter')")
    database.executemany("insert into pages values (?, ?, ?)", ((one.url, one.title, one.text) for one in documents))
    database.commit()
    sql = "select url{} from pages where pages match ? order by bm25(pages, 0, 3.0, 1.0) limit 10"

    def ask(query: str, shown: str = "") -> object:
        words = "".join(char if char.isalnum() else " " for char in query).split()
        match = " OR ".join(f'"{word}"' for word in words) or '""'
        return database.execute(sql.format(shown), (match,)).fetchall()

    return [ask, partial(ask, shown=", snippet(pages, 2, '[', ']', '', 30)")]


def _times(ask: Ask, queries: Sequence[str]) -> str:
    """Median and 95th percentile of the CPU time of a query, in milliseconds."""
    taken = []
    for query in queries:
        started = time.process_time()
        ask(query)
        taken.append(1000 * (time.process_time() - started))
    taken.sort()
    return f"{taken[len(taken) // 2]:.1f} / {taken[len(taken) * 95 // 100]:.1f}"


# rankings

WITHOUT = Reranking(meaning=0.0)
"""What does not ask for vectors, although the index has them."""
BEFORE = Weights(short=99, long=999, listing=0.0, reranking=Reranking(results=0))
"""What ordered results before the first of them were read closely."""
STEPS = {
    "all link texts, deep results": BEFORE,
    "+ re-ranking": replace(BEFORE, reranking=replace(WITHOUT, coverage=0.0, every_word=0.0)),
    "+ coverage": replace(BEFORE, reranking=WITHOUT),
    "+ every word only in short queries": replace(BEFORE, reranking=WITHOUT, short=Weights().short),
    "periplus, vectors": Weights(),
    "periplus": replace(Weights(), reranking=WITHOUT),
}
DEPTH, DEPTH_BEFORE = 1000, 200
"""Results of a query of the classical collections that are judged; and of others, and of all before."""


def _rankings(folder: Path, documents: list[Document], judged: dict[str, list[Judged]]) -> list[Group]:
    """One table of all rankings, on books, questions and the classical collections."""
    columns: dict[str, dict[str, float]] = {}
    few = [replace(one, anchors=one.anchors[:16], sections=()) for one in documents]
    with (
        _made(folder / "plain", list(map(_bare, documents)), PLAIN) as plain,
        _made(folder / "before", few, BEFORE) as before,
        _made(folder / "whole", documents, Weights(), VECTORS) as whole,
    ):
        for name, queries in {**judged, "questions": _questions()}.items():
            columns[name] = _column(name, queries, plain, before, whole, lambda found: found.reciprocal_rank)
    for name in CLASSICAL:
        if (CORPUS / f"search_{name}").is_dir():
            pages, queries = _classical(name)
            with (
                _made(folder / f"{name}-plain", pages, PLAIN) as plain,
                _made(folder / name, pages, BEFORE, VECTORS) as whole,
            ):
                columns[name] = _column(name, queries, plain, whole, whole, lambda found: found.mean_average_precision)
    rankings = list(next(iter(columns.values())))
    table = [
        "| ranking | " + " | ".join(columns) + " |",
        "|---|" + "---:|" * len(columns),
        *(
            f"| {name} | " + " | ".join(f"{column[name]:.3f}" for column in columns.values()) + " |"
            for name in rankings
        ),
        "",
        "Mean reciprocal rank of books and questions, mean average precision of the others.",
    ]
    groups: list[Group] = []
    for name, column in columns.items():
        rates = {ranking: 1000 * figure for ranking, figure in column.items()}
        targets = tuple(Target("periplus", peer, 1.0) for peer in ("BM25 of the text", "title × 3 + text", "before"))
        unit = "MAP × 1000" if name in CLASSICAL else "MRR × 1000"
        groups.append(Group(f"Search: {name}", unit, rates, targets, notes=() if groups else tuple(table)))
    return groups


def _column(
    name: str,
    judged: Sequence[Judged],
    plain: Index,
    before: Index,
    whole: Index,
    figure: Callable[[Measures], float],
) -> dict[str, float]:
    """One measure of every ranking on the same queries."""
    _print(f"{name}: {len(judged)} queries")
    deep = DEPTH if name in CLASSICAL else DEPTH_BEFORE
    asked = {
        "BM25 of the text": (plain, PLAIN, deep),
        "title × 3 + text": (plain, TITLE_BOOST, deep),
        "before": (before, BEFORE, DEPTH_BEFORE),
        **{step: (whole, weights, deep) for step, weights in STEPS.items()},
    }
    found = {}
    is_question = name == "questions"
    for ranking, (index, weights, depth) in asked.items():
        index.weights = weights
        found[ranking] = figure(evaluate(judged, partial(_urls, index, depth, is_question)))
    found["periplus, expand"] = figure(evaluate(judged, partial(_urls, whole, deep, is_question, expand=True)))
    return found


def _bare(document: Document) -> Document:
    """A document without what others say of it."""
    return Document(url=document.url, title=document.title, text=document.text, language=document.language)


def _urls(index: Index, number: int, is_question: bool, query: str, *, expand: bool = False) -> list[str]:
    """The pages found; those that repeat a question are left out of the results to it."""
    urls = [hit.url for hit in index.rank(query, number, expand=expand)]
    return [url for url in urls if "faq" not in url.lower()] if is_question else urls


def _questions() -> list[Judged]:
    """Questions in people's words, with the pages that answer them."""
    path = CORPUS / "search_questions" / "queries.tsv.gz"
    if not path.is_file():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]
    return [Judged(question, dict.fromkeys(pages.split(), 1.0)) for _, question, pages in rows]


def _print(what: str) -> None:
    print(f"  {what}", file=sys.stderr, flush=True)


def _made(place: Path, documents: list[Document], weights: Weights, vectors: str = "") -> Index:
    index = Index.open(place, weights=weights, vectors=vectors)
    index.add(documents)
    index.commit()
    return index


def _judged(number: int) -> dict[str, list[Judged]]:
    """Queries of each book with the page that its index names."""
    queries = defaultdict(list)
    with gzip.open(CORPUS / "search_bookindex" / "queries.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("#"):
                book, query, page = line.rstrip("\n").split("\t")
                queries[{"py": "python", "pg": "postgresql"}.get(book, book)].append(Judged(query, {page: 1.0}))
    chance = random.Random(1)
    return {book: chance.sample(rows, min(len(rows), number)) for book, rows in queries.items()}


def _classical(name: str) -> tuple[list[Document], list[Judged]]:
    """The documents of a collection, and its queries with the grades of their relevant documents."""
    place = CORPUS / f"search_{name}"
    grades: dict[str, dict[str, float]] = defaultdict(dict)
    for line in (place / "qrels.tsv").read_text().splitlines():
        if not line.startswith("#"):
            query, document, grade = line.split("\t")
            grades[query][_address(document)] = max(0.0, float(grade))
    documents = [
        Document(url=_address(row["id"]), title=row["title"], text=row["text"], language="en")
        for row in _rows(place / "documents.jsonl.gz")
    ]
    return documents, [Judged(row["text"], grades[row["id"]]) for row in _rows(place / "queries.jsonl.gz")]


def _address(name: str) -> str:
    return f"https://{name}.test/"


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


# manuals


class ManualQuery(Struct, frozen=True):
    """A query to a manual, the pages of which any is right, and the sections of them, if there are."""

    kind: str
    manual: str
    query: str
    pages: tuple[str, ...]
    sections: tuple[str, ...]


def manual_queries() -> list[ManualQuery]:
    """The queries to manuals."""
    return msgspec.json.decode((Path(__file__).parent / "search_queries.json").read_bytes(), type=list[ManualQuery])


def manual_documents(manual: str) -> list[Document]:
    """The pages of a manual, with its index."""
    packages = [package for package, name in BOOKS.items() if name == manual]
    return _read_documents(_pages(packages, with_indexes=True))


def _manuals(folder: Path) -> Group:
    """How many of the queries to manuals have the right page first, among the first three, and the right section."""
    asked = manual_queries()
    first = three = right_sections = 0
    wrong = []
    for manual in BOOKS.values():
        with _made(folder / f"manual-{manual}", manual_documents(manual), Weights()) as index:
            for one in (one for one in asked if one.manual == manual):
                right = [f"http://{manual}.docs.test/{page}" for page in one.pages]
                hits = index.search(one.query, 3).hits
                place = next((place for place, hit in enumerate(hits, 1) if hit.url in right), 0)
                first += place == 1
                three += place > 0
                leads_to = hits[place - 1].link.partition("#")[2] if place else ""
                is_right = place > 0 and (not one.sections or leads_to in one.sections)
                right_sections += bool(one.sections) and is_right
                if place != 1 or not is_right:
                    found = [hit.link.partition(".docs.test/")[2] for hit in hits]
                    wrong.append(f"- {one.query}: {', '.join(found) or 'nothing'}")
    rates = {"first": float(first), "first three": float(three), "section": float(right_sections)}
    sections = sum(bool(one.sections) for one in asked)
    facts = {"queries": str(len(asked)), "with a section": str(sections)}
    return Group("Search: queries to manuals", "queries", rates, notes=tuple(wrong), facts=facts)


# pages


def _documents() -> list[Document]:
    """Every page with its text, the texts of links to it, and its PageRank; read once, then kept."""
    if not DOCS.is_dir():
        return []
    if PARSED.is_file() and PARSED.stat().st_mtime > DOCS.stat().st_mtime:
        return msgspec.msgpack.decode(PARSED.read_bytes(), type=list[Document])
    documents = _read_documents(_pages())
    draft = PARSED.with_suffix(".new")
    draft.write_bytes(msgspec.msgpack.encode(documents))
    draft.replace(PARSED)
    return documents


def _read_documents(pages: Iterable[tuple[str, bytes]]) -> list[Document]:
    texts: list[tuple[str, ParsedPage]] = []
    anchors: dict[str, Counter[str]] = defaultdict(Counter)
    edges: list[tuple[str, str]] = []
    number: dict[str, int] = {}
    listings: set[str] = set()
    for url, body in pages:
        page = read_pages([RawPage(body, url, "text/html; charset=utf-8")])[0]
        number[url] = len(texts)
        texts.append((url, read_texts(body, url, "text/html; charset=utf-8")))
        if is_listing(page.main_text, page.links.to_others().anchors):
            listings.add(url)
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
            anchors=tuple(text for text, _ in anchors[url].most_common()),
            page_rank=float(ranks[place]),
            sections=page.sections,
            is_listing=url in listings,
        )
        for place, (url, page) in enumerate(texts)
    ]


def _pages(packages: Collection[str] = (), *, with_indexes: bool = False) -> Iterator[tuple[str, bytes]]:
    for package in sorted(path for path in DOCS.iterdir() if path.is_dir() and path.name in (packages or [path.name])):
        for path in sorted(package.rglob("*.html")):
            if path.is_symlink() or (path.name.startswith(("genindex", "bookindex")) and not with_indexes):
                continue
            inside = path.relative_to(package).as_posix()
            name = inside.partition("/html/")[2] if package.name in BOOKS else inside
            if name:
                yield f"http://{BOOKS.get(package.name, package.name)}.docs.test/{name}", path.read_bytes()
