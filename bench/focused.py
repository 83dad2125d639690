"""Focused crawling: the classifier on labelled pages, and orderings on a graph of real manuals.

    python -m bench.focused classifier CORPUS     AUC on the pages of `topic_ache`, from all and from five examples
    python -m bench.focused graph [FOLDER [SVG]]  recall and harvest of each ordering, on four topics in six manuals
    python -m bench.focused cost [FOLDER]         what a topic costs for each page

The manuals are Debian packages, unpacked in FOLDER or fetched into `bench/.peers`. Of rust-doc, the sources and the
copies of the standard library in `core` are left out. Requests are counted, so the figures carry over to any machine.
"""

from __future__ import annotations

import json
import sys
import tarfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from urllib.parse import unquote, urlsplit

import numpy as np
from msgspec.structs import replace
from scipy.stats import rankdata

from bench.peers import fetch_manuals
from periplus.content import RawPage, read_page, read_pages
from periplus.engine.stats import CrawlStats
from periplus.model import ParsedPage, Site, Url
from periplus.parts.focus.classifier import Judge, Vector, train, vector_of
from periplus.parts.focus.ordering import Focused
from periplus.parts.focus.part import Focus
from periplus.parts.focus.topic import Topic
from periplus.parts.focus.words import TopicTerms, words_of
from periplus.view.figures import draw
from periplus_lab.simulate.focused import (
    FocusedRow,
    TopicalWeb,
    TopicView,
    document,
    fetched_pages,
    recall_plot,
    row_of,
    run_focused,
    topical_web,
)
from periplus_lab.simulate.runs import PolicyChoice
from periplus_lab.simulate.web import web_from_edges

MANUALS = {
    "python": ("python3.11-doc", "usr/share/doc/python3.11/html"),
    "postgresql": ("postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html"),
    "cpp": ("cppreference-doc-en-html", "usr/share/cppreference/doc/html/en"),
    "apache": ("apache2-doc", "usr/share/doc/apache2-doc/manual"),
    "java": ("openjdk-17-doc", "usr/share/doc/openjdk-17-jre-headless/api"),
    "rust": ("rust-doc", "usr/share/doc/rust-doc/html"),
}
"""Manuals by the name of their host: the package, and the folder that is the root of the host."""
TOPICS = (
    "regular expressions, pattern matching",
    "threads, locks, concurrency, synchronization",
    "unicode, character encoding, utf-8",
    "authentication, passwords, certificates, encryption",
)
"""Chosen before anything was measured."""
ORDERINGS = ("breadth_first", "best_first", "context_graph", "n_best", "shark", "focused")
LIMIT = 3000
LEFT_OUT = ("core/", "src/")


def main(arguments: Sequence[str]) -> None:
    """Run one of the three."""
    what, *rest = arguments or ("graph",)
    place = Path(rest[0]) if rest else None
    if what == "classifier":
        classifier(place or Path("topic_ache"))
    elif what == "graph":
        graph(place, Path(rest[1]) if len(rest) > 1 else None)
    elif what == "cost":
        cost(place)
    else:
        raise SystemExit(__doc__)


def classifier(corpus: Path) -> None:
    """Print the AUC from all examples, and from five."""
    positive, negative = _labelled(corpus / "topic_ache" if (corpus / "topic_ache").is_dir() else corpus)
    print(f"{len(positive)} pages on the topic, {len(negative)} others; 5 folds")
    for name, count, seeds in (("all examples", 0, 3), ("5 examples and 50 others", 5, 10)):
        scores = [_folds(positive, negative, count, seed) for seed in range(seeds)]
        print(f"{name:26} AUC {np.mean(scores):.4f}  ({min(scores):.4f} to {max(scores):.4f} in {seeds} shuffles)")


def _labelled(folder: Path) -> tuple[list[Vector], list[Vector]]:
    sides: tuple[list[Vector], list[Vector]] = ([], [])
    with tarfile.open(folder / "pages.tar.gz") as archive:
        for each in json.loads((folder / "annotations.json").read_text()):
            file = archive.extractfile(each["page"])
            if file is not None:
                page = read_page(file.read(), each["url"], "text/html")
                words = words_of(f"{page.title}\n{page.main_text or page.text}")
                sides[each["label"] != "positive"].append(vector_of(words))
    return sides


def _folds(positive: Sequence[Vector], negative: Sequence[Vector], count: int, seed: int) -> float:
    """The mean AUC over five parts that were held out; `count`: examples to train with, 0: all."""
    shuffled = [list(positive), list(negative)]
    random = Random(seed)
    for side in shuffled:
        random.shuffle(side)
    found = []
    for fold in range(5):
        rest = [[page for number, page in enumerate(side) if number % 5 != fold] for side in shuffled]
        judge = Judge(train(rest[0][: count or None], rest[1][: 10 * count or None]))
        held = [
            (judge.margin(page), label)
            for label, side in ((1, shuffled[0]), (0, shuffled[1]))
            for page in side[fold::5]
        ]
        found.append(auc([score for score, _ in held], [label for _, label in held]))
    return float(np.mean(found))


def auc(scores: Sequence[float], labels: Sequence[int]) -> float:
    """The probability that a positive page has a larger score than a negative one."""
    ranks, is_positive = rankdata(scores), np.array(labels) == 1
    count = int(is_positive.sum())
    return float((ranks[is_positive].sum() - count * (count + 1) / 2) / (count * (len(labels) - count)))


def graph(folder: Path | None, picture: Path | None = None) -> None:
    """Print recall and harvest by the words of the topics, then by a classifier that was trained on the best pages."""
    web, vectors = manuals_web(folder or _manuals())
    policies = [PolicyChoice.parse(name) for name in ORDERINGS]
    print(f"{len(web.web):,} pages, {sum(map(len, web.links)):,} links, {int(web.views[0].relevant.sum())} relevant")
    rows, judged = [], []
    for view in web.views:
        second = _judged(view, vectors)
        for policy in policies:
            pages = fetched_pages(web, view, policy, LIMIT)
            rows.append(row_of(web, view, policy, pages))
            judged.append(row_of(web, second, policy, pages))
    _print("relevant by words", rows)
    _print("relevant by a classifier", judged)
    if picture is not None:
        picture.write_text(draw(recall_plot(rows)))
    _print("relevant by words, exploring 5 %", run_focused(web, policies[-1:], limit=LIMIT, explore=0.05))


def _print(title: str, rows: Sequence[FocusedRow]) -> None:
    print(f"\n{title:34} recall at 3,000  harvest at 500  area   recall of each topic")
    for policy in dict.fromkeys(row.policy for row in rows):
        own = [row for row in rows if row.policy == policy]
        recall, harvest, area = (
            float(np.mean([getattr(row, name) for row in own])) for name in ("recall", "harvest", "area")
        )
        each = "  ".join(f"{row.recall:.3f}" for row in own)
        print(f"{policy:34} {recall:15.3f} {harvest:15.3f} {area:5.3f}   {each}", flush=True)


def _judged(view: TopicView, vectors: Sequence[Vector | None]) -> TopicView:
    """The same view, but relevant are the 4 % that a classifier puts first: trained on the best 1 % by words."""
    order = np.argsort(view.relevance, kind="stable")
    best, others = order[-len(order) // 100 :], order[: len(order) // 2]
    positive = [vector for page in best if (vector := vectors[page]) is not None]
    negative = [vector for page in others[:: max(len(others) // 400, 1)] if (vector := vectors[page]) is not None]
    judge = Judge(train(positive, negative))
    margins = np.array([-9.0 if vector is None else judge.margin(vector) for vector in vectors])
    return replace(view, relevant=margins >= np.sort(margins)[-int(view.relevant.sum())])


def _manuals() -> Path:
    return fetch_manuals(package for package, _ in MANUALS.values())


def manuals_web(folder: Path) -> tuple[TopicalWeb, list[Vector | None]]:
    """The graph of the manuals with all topics, and the words of each page."""
    documents = []
    words: dict[Url, Vector] = {}
    for page in reachable(folder):
        documents.append(document(page))
        words[page.url] = vector_of(words_of(f"{page.title}\n{page.main_text or page.text}"))
    urls = [each.url for each in documents]
    numbers = {url: number for number, url in enumerate(urls)}
    edges = np.array(
        [(number, numbers[url]) for number, each in enumerate(documents) for url, _ in each.links if url in numbers]
    )
    sites = [Site(f"{name}.docs.test") for name in MANUALS]
    site = np.array([sites.index(Site(urlsplit(url).netloc)) for url in urls])
    web = web_from_edges(edges[:, 0], edges[:, 1], site, sites, seeds=np.arange(len(sites)), urls=urls)
    return topical_web(web, documents, TOPICS, with_layers=True), [words.get(url) for url in urls]


def reachable(folder: Path) -> Iterator[ParsedPage]:
    """The pages that links lead to from the home pages of the manuals, breadth first."""
    roots = {f"{name}.docs.test": folder / package / root for name, (package, root) in MANUALS.items()}
    seeds = [Url(f"http://{host}/index.html") for host in roots]
    waiting, seen = deque(seeds), set(seeds)
    while waiting:
        some = [waiting.popleft() for _ in range(min(64, len(waiting)))]
        bodies = [RawPage(_file(roots, url).read_bytes(), url, "text/html") for url in some]  # type: ignore[union-attr]
        for page in read_pages(bodies):
            yield page
            for url in page.links.urls:
                if url not in seen and "?" not in url and _file(roots, url) is not None:
                    seen.add(url)
                    waiting.append(url)


def _file(roots: dict[str, Path], url: str) -> Path | None:
    parts = urlsplit(url)
    root, path = roots.get(parts.netloc), unquote(parts.path).lstrip("/")
    if root is None or (parts.netloc.startswith("rust") and path.startswith(LEFT_OUT)):
        return None
    file = root / (f"{path}index.html" if not path or path.endswith("/") else path)
    return file if file.suffix == ".html" and file.is_file() else None


def cost(folder: Path | None) -> None:
    """Print the seconds that relevance and links take for each page."""
    pages = [page for page, _ in zip(reachable(folder or _manuals()), range(500), strict=False)]
    topic = Topic(TopicTerms.parse(TOPICS[0]))
    focus = Focus(lambda _state: topic, Focused(), 0.05, CrawlStats())
    links = {page.url: list(zip(page.links.urls, page.links.anchors, strict=True)) for page in pages}
    print(f"{len(pages)} pages, {np.mean([len(each) for each in links.values()]):.0f} links a page")
    for name, run in (
        ("relevance", focus.appraised),
        ("links", lambda page: focus.worths(page, links[page.url], 1.0)),
    ):
        best = float("inf")
        for _ in range(2):
            began = time.process_time()
            for page in pages:
                run(page)
            best = min(best, time.process_time() - began)
        print(f"{name:12} {1000 * best / len(pages):6.2f} ms a page")


if __name__ == "__main__":
    main(sys.argv[1:])
