"""Focused crawls compared on a web whose pages are known: which ordering finds the pages on a topic first?

The pages of a finished collection are read once. Relevance is that of `parts.focus`, with weights from the whole
collection, and the best share of all pages (4 %, unless another is asked for) counts as relevant. The crawls run in
virtual time with the machine that crawls and its focus (`parts.focus.part`); only the reading of pages is looked up.
Links that were seen before gain at once here, in a crawl after at most a thousand of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from periplus.engine.links import Share
from periplus.engine.pipeline import Processed, is_page
from periplus.engine.stats import CrawlStats
from periplus.model import ConfigError, Discovery, ParsedPage, Purpose, Source, Url, UsageError
from periplus.parts.focus.classifier import LAYERS, LayerClassifier, TermCounts, counts_of, distances
from periplus.parts.focus.ordering import Focusing
from periplus.parts.focus.part import Focus
from periplus.parts.focus.topic import Nearness, TopicState, link_words, nearness
from periplus.parts.focus.words import TopicTerms, TopicWords, language_code, words_of
from periplus.store.export.captures import latest_captures
from periplus.store.export.documents import read_document
from periplus.view.figures import Figure, PlotCurve

from .crawl import SimulatedCrawl, SimulatedPages
from .network import NetworkSettings
from .recording import page_of, web_of_collection
from .runs import PolicyChoice
from .web import Web
from .workers import Progress

FIRST: Final = 500
"""Pages at the beginning of a crawl over which the harvest is compared."""
RELEVANT_SHARE: Final = 0.04
"""Share of all pages that counts as relevant."""
_LAYER_EXAMPLES: Final = 200
"""Pages of each layer that a context graph is trained with."""
_LAYER_STRIDE: Final = 3
"""One page in three may be an example, so that most pages are judged by a classifier that has not seen them."""
_POINTS: Final = 60
"""Points of a curve."""

Bools = NDArray[np.bool_]


class TopicPage(Struct, frozen=True):
    """A page of the web that is crawled: what its topic is measured by, and its links in document order."""

    url: Url
    title: str
    language: str
    main_text: str
    text: str
    links: list[tuple[Url, str]]


class TopicView(Struct, frozen=True):
    """A web as one topic sees it: the relevance of each page, how near its links are, and which pages are relevant.

    `layers` are for `context_graph`: how many links each page seems to be away from the topic.
    """

    name: str
    relevance: list[float]
    near: list[list[Nearness] | None]
    relevant: Bools
    layers: list[int] = []


class TopicalWeb(Struct, frozen=True):
    """A web, the links of each page as written, and a view of each topic."""

    web: Web
    links: list[list[int]]
    views: list[TopicView]


class FocusedRow(Struct, frozen=True):
    """An ordering on a topic: how many of the relevant pages it had after `pages` of `total`, and how soon.

    `harvest` is the share of relevant pages among the first 500, `recall` the share of all relevant pages at the end,
    `area` the mean of the recall over the crawl. `at`, `recalls` and `harvests` are the curves.
    """

    experiment: str
    policy: str
    topic: str
    pages: int
    total: int
    relevant: int
    harvest: float
    recall: float
    area: float
    at: list[int]
    recalls: list[float]
    harvests: list[float]


def topical_web(
    web: Web,
    documents: Iterable[TopicPage],
    topics: Sequence[str],
    share: float = RELEVANT_SHARE,
    *,
    with_layers: bool = False,
) -> TopicalWeb:
    """Read every page once, for all topics. `with_layers`: also train the layers of `context_graph`."""
    if not 0.0 < share < 1.0:
        raise ConfigError(f"the share of relevant pages must be above 0 and below 1, got {share}")
    numbers = {url: page for page, url in enumerate(web.names())}
    readers = [_TopicReader(topic, len(web)) for topic in topics]
    links: list[list[int]] = [[] for _ in range(len(web))]
    counts = [counts_of(())] * len(web)
    for document in documents:
        page = numbers.get(document.url)
        if page is None:
            continue
        known = [(numbers[url], anchor) for url, anchor in document.links if url in numbers]
        links[page] = [target for target, _ in known]
        language = language_code(document.language)
        main = words_of(f"{document.title}\n{document.main_text or document.text}")
        if with_layers:
            counts[page] = counts_of(main)
        found = link_words(document.text, [anchor for _, anchor in known])
        for reader in readers:
            places = [position for position, _ in reader.terms.places(found.words, language)]
            reader.near[page] = nearness(found.spans, len(found.words), places) if places else None
            reader.add(page, main, language)
    views = [reader.view(share) for reader in readers]
    return TopicalWeb(web, links, [_with_layers(view, links, counts) for view in views] if with_layers else views)


def _with_layers(view: TopicView, links: Sequence[Sequence[int]], counts: Sequence[TermCounts]) -> TopicView:
    """Train a classifier on a part of the pages of each layer, and predict the layer of every page from its words."""
    sources: list[list[int]] = [[] for _ in links]
    for page, targets in enumerate(links):
        for target in dict.fromkeys(targets):
            sources[target].append(page)
    order = np.argsort(view.relevance, kind="stable")
    known = distances(order[-max(int(view.relevant.sum()) // 4, 1) :].tolist(), sources)
    examples: list[list[TermCounts]] = [[] for _ in range(LAYERS + 1)]
    for page, layer in enumerate(known):
        if len(examples[layer]) < _LAYER_EXAMPLES and page % _LAYER_STRIDE == 0:
            examples[layer].append(counts[page])
    judge = LayerClassifier(examples)
    return replace(view, layers=[judge.layer(each) for each in counts])


class _TopicReader:
    """Collects what a topic needs of each page."""

    def __init__(self, topic: str, pages: int) -> None:
        self._name = topic
        self.terms = TopicTerms.parse(topic)
        self.near: list[list[Nearness] | None] = [None] * pages
        self._counts: dict[int, tuple[int, Counter[int]]] = {}

    def add(self, page: int, words: Sequence[str], language: str) -> None:
        """Count the terms of a page."""
        self._counts[page] = len(words), Counter(number for _, number in self.terms.places(words, language))

    def view(self, share: float) -> TopicView:
        """Weights from all pages, then relevance, then the best share of the pages."""
        topic = TopicWords(self.terms)
        learnt = topic.learnt
        for length, counts in self._counts.values():
            learnt.samples.append((length, sorted(counts.items())))
            for number in counts:
                learnt.with_term[number] += 1
        learnt.pages = len(self._counts)
        if not learnt.pages:
            raise UsageError("the collection has no page that can be read", hint="crawl something first")
        topic.calibrate(is_bounded=False)
        relevance = np.zeros(len(self.near))
        for page, (length, counts) in self._counts.items():
            relevance[page] = topic.scaled(topic.raw(length, counts))
        least = np.sort(relevance)[-max(round(share * len(relevance)), 1)]
        if not least:
            least = np.min(relevance[relevance > 0.0], initial=1.0)
        return TopicView(self._name, relevance.tolist(), self.near, relevance >= least)


class _KnownTopic:
    """A topic whose answers are known."""

    def __init__(self, view: TopicView, numbers: Mapping[Url, int]) -> None:
        self._view = view
        self._numbers = numbers
        self.state = TopicState()

    def relevance(self, page: ParsedPage) -> float:
        """Looked up."""
        return self._view.relevance[self._numbers[page.url]]

    def nearness(self, page: ParsedPage, anchors: Sequence[str]) -> list[Nearness]:
        """Looked up."""
        return self._view.near[self._numbers[page.url]] or [Nearness(0.0, 0.0)] * len(anchors)

    def layer(self, page: ParsedPage) -> int:
        """Looked up."""
        return self._view.layers[self._numbers[page.url]] if self._view.layers else LAYERS


class FocusedPages(SimulatedPages):
    """The pipeline of a simulated crawl with a topic."""

    def __init__(self, topical: TopicalWeb, names: Sequence[Url], numbers: Mapping[Url, int], focus: Focus) -> None:
        super().__init__(topical.web, names, numbers, None)
        self._links = topical.links
        self._focus = focus

    def links(self, processed: Processed, at: float, share: Share) -> list[Discovery]:
        """The links of a page, each with its potential."""
        outcome = processed.answer.outcome
        if outcome.task.purpose is not Purpose.PAGE or not is_page(outcome):
            return super().links(processed, at, share)
        names, seen = self._names, self._seen
        targets = self._links[self._pages[outcome.task.url]]
        page = self._focus.appraised(page_of(outcome.task.url, ()))
        worths = self._focus.worths(page, [(names[target], "") for target in targets], share(len(targets)))
        news = []
        for target in dict.fromkeys(targets):
            gain = worths[names[target]]
            if self.keeps_links or not seen[target]:
                seen[target] = 1
                news.append(target)
            else:
                self._again[names[target]] = gain
        url, depth = outcome.task.url, outcome.task.depth + 1
        return [Discovery(names[each], Source.LINK, at, depth, url, gain=worths[names[each]]) for each in news]


def run_focused(
    topical: TopicalWeb,
    policies: Sequence[PolicyChoice],
    *,
    limit: int,
    explore: float = 0.0,
    network: NetworkSettings | None = None,
    progress: Progress | None = None,
) -> list[FocusedRow]:
    """Every policy on every topic: a row each."""
    rows = []
    for view in topical.views:
        for policy in policies:
            rows.append(row_of(topical, view, policy, fetched_pages(topical, view, policy, limit, explore, network)))
            if progress is not None:
                progress(len(rows), len(policies) * len(topical.views))
    return rows


def fetched_pages(
    topical: TopicalWeb,
    view: TopicView,
    policy: PolicyChoice,
    limit: int,
    explore: float = 0.0,
    network: NetworkSettings | None = None,
) -> NDArray[np.int32]:
    """The pages that a crawl fetches, in order."""
    network = network or NetworkSettings(connections=1, delay=0.0)
    ordering = policy.ordering(lambda _url: 0.0, 0)
    if not isinstance(ordering, Focusing):
        return SimulatedCrawl(topical.web, ordering, network, limit=limit).run().fetched
    focusing = ordering

    def make(names: Sequence[Url], numbers: Mapping[Url, int]) -> SimulatedPages:
        focus = Focus(lambda _state: _KnownTopic(view, numbers), focusing, explore, CrawlStats())
        return FocusedPages(topical, names, numbers, focus)

    return SimulatedCrawl(topical.web, ordering, network, limit=limit, make_pages=make).run().fetched


def row_of(topical: TopicalWeb, view: TopicView, policy: PolicyChoice, fetched: NDArray[np.int32]) -> FocusedRow:
    """What a crawl found of the pages that are relevant in a view."""
    hits = view.relevant[fetched]
    found, count = np.cumsum(hits), max(int(view.relevant.sum()), 1)
    ends = np.unique(np.linspace(1, max(len(hits), 1), _POINTS).round().astype(int))[: len(hits)]
    recalls = found / count
    return FocusedRow(
        experiment="focused",
        policy=str(policy),
        topic=view.name,
        pages=len(hits),
        total=len(topical.web),
        relevant=count,
        harvest=float(hits[:FIRST].mean()) if len(hits) else 0.0,
        recall=float(recalls[-1]) if len(hits) else 0.0,
        area=float(recalls.mean()) if len(hits) else 0.0,
        at=ends.tolist(),
        recalls=[round(float(recalls[end - 1]), 4) for end in ends],
        harvests=[round(float(hits[max(end - FIRST // 5, 0) : end].mean()), 4) for end in ends],
    )


def mean_recall(rows: Sequence[FocusedRow]) -> list[PlotCurve]:
    """From pages to recall, a line for each policy: the mean over its topics, between the least and the largest."""
    curves = []
    for policy in dict.fromkeys(row.policy for row in rows):
        group = [row for row in rows if row.policy == policy]
        at = np.array(max((row.at for row in group), key=len), float)
        lines = np.array([np.interp(at, row.at, row.recalls) for row in group])
        low, high = lines.min(axis=0), lines.max(axis=0)
        curves.append(PlotCurve(policy, at.tolist(), lines.mean(axis=0).tolist(), low.tolist(), high.tolist()))
    return curves


def recall_plot(rows: Sequence[FocusedRow]) -> Figure:
    """Recall by pages, a line for each ordering."""
    first = rows[0]
    topics = list(dict.fromkeys(row.topic for row in rows))
    return Figure(
        title="Which ordering finds the pages on the topic first?",
        x_label="pages fetched",
        y_label="recall",
        curves=tuple(mean_recall(rows)),
        caption=f"{first.relevant:,} of {first.total:,} pages are relevant. Topics: {'; '.join(topics)}.",
        y_as="share",
        y_from_zero=True,
    )


def topical_collection(
    folder: Path, topics: Sequence[str], share: float = RELEVANT_SHARE, *, with_layers: bool = False
) -> TopicalWeb:
    """The web of a finished collection, with its pages as its archive has them."""
    return topical_web(web_of_collection(folder), _documents(folder), topics, share, with_layers=with_layers)


def _documents(folder: Path) -> Iterable[TopicPage]:
    for capture in latest_captures(folder / "tables"):
        found = read_document(folder / "warc", capture)
        if not isinstance(found, str):
            yield document(found.page)


def document(page: ParsedPage) -> TopicPage:
    """What matters of a page."""
    links = page.links.to_others()
    followed = list(zip(links.urls, links.anchors, strict=True))
    return TopicPage(page.url, page.title, page.language, page.main_text, page.text, followed)
