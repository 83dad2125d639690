"""The focus of a crawl on a topic: pages get a relevance when they are read, and their links a potential.

Both are computed where the machine reads a page, from the page and from the committed state alone, so that a replay
gives the same. The topic learns from every page, and so does what is expected of URLs (`parts.focus`); the ordering
(`parts.focus.ordering`) makes a potential of what a link says.

One page in twenty (`explore`) lets one of its links in as if it were on the topic. Which one is decided by a hash, so
that the crawl also sees what neither anchors nor relevant pages point to: soft focus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from msgspec import Struct, field
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from periplus.engine.links import Worths
from periplus.engine.part import Desk, Part, Setup
from periplus.engine.stats import DRY, CrawlStats
from periplus.model import ConfigError, Ordering, ParsedPage, Url

from .learning import LearnerState, LinkLearner, folder_of
from .ordering import RELEVANT, Focusing, LinkSigns, inherited, inherited_of, potential_of, worth_of
from .settings import FocusTables
from .topic import Nearness, TopicState, topic_maker

WINDOW: Final = 100
"""Pages over which the harvest rate is measured."""


class Appraiser(Protocol):
    """A topic (`parts.focus.Topic`), or what a simulation has in its place."""

    @property
    def state(self) -> TopicState:
        """The state to commit."""

    def relevance(self, page: ParsedPage) -> float:
        """The relevance of a page."""

    def nearness(self, page: ParsedPage, anchors: Sequence[str]) -> list[Nearness]:
        """How near each link of a page is to the topic."""

    def layer(self, page: ParsedPage) -> int:
        """How many links the page is away from the topic, as far as that is known."""


LEAST_WEIGHT: Final = 0.05
"""The least share of its weight that an off-topic page keeps: it may still link to new pages."""
MakeTopic = Callable[[TopicState | None], Appraiser]
"""Makes the topic of a crawl from what it has learnt before."""


class FocusState(Struct, array_like=True):
    """The state that a focused crawl commits: what was learnt, and the last pages.

    `recent` has for each of the last pages whether it was relevant; `pages` counts all of them.
    """

    topic: TopicState | None = None
    learner: LearnerState = field(default_factory=LearnerState)
    recent: list[bool] = field(default_factory=list)
    pages: int = 0


class Focus:
    """The focus of a crawl. The harvest is counted in `stats`."""

    def __init__(
        self, make: MakeTopic, ordering: Focusing, explore: float, stats: CrawlStats, saved: FocusState | None = None
    ) -> None:
        self._state = saved or FocusState()
        self._topic = make(self._state.topic)
        self._ordering = ordering
        self._learner = LinkLearner(self._state.learner)
        self._explore = explore
        self._stats = stats

    @property
    def state(self) -> FocusState:
        """The state to commit."""
        return replace(self._state, topic=self._topic.state, learner=self._learner.state)

    def appraised(self, page: ParsedPage) -> ParsedPage:
        """A page with its relevance, which is counted. What was learnt from it counts for the next."""
        relevance = self._topic.relevance(page)
        self._learner.learn(page.url, relevance)
        stats = self._stats
        recent, is_relevant = self._state.recent, relevance >= RELEVANT
        recent.append(is_relevant)
        del recent[:-WINDOW]
        stats.appraised += 1
        stats.relevant += is_relevant
        stats.recent, stats.recent_relevant = len(recent), sum(recent)
        stats.dry = 0 if stats.recent_relevant >= DRY * stats.recent else stats.dry + 1
        self._state.pages += 1
        return replace(page, relevance=relevance)

    def worths(self, page: ParsedPage, links: Sequence[tuple[Url, str]], worth: float) -> dict[Url, float]:
        """The worth of each link of a page, of several to one URL the best. `worth` is that of the page itself."""
        relevance = page.relevance or 0.0
        passed = inherited(relevance, inherited_of(worth))
        near = self._topic.nearness(page, [anchor for _, anchor in links])
        targets = dict.fromkeys(url for url, _ in links)
        promise = self._promises(targets) if self._ordering.is_learning else {}
        layer = self._topic.layer(page) if self._ordering.needs_layers else 0
        best: dict[Url, float] = {}
        for (url, _), signs in zip(links, near, strict=True):
            link_signs = LinkSigns(*signs, promise.get(url, 1.0), layer)
            potential = self._ordering.potential(relevance, passed, link_signs, len(targets))
            if potential >= best.get(url, 0.0):
                best[url] = potential
        worths = {potential: worth_of(potential, passed) for potential in {*best.values()}}
        found = {url: worths[potential] for url, potential in best.items()}
        self._let_one_in(page, found)
        return found

    def _promises(self, urls: Iterable[Url]) -> dict[Url, float]:
        """The promises of the folders of these URLs; most links of a page are into a few."""
        folders: dict[str, float] = {}
        found = {}
        for url in urls:
            folder = folder_of(url)
            if folder not in folders:
                folders[folder] = self._learner.promise(url)
            found[url] = folders[folder]
        return found

    def _let_one_in(self, page: ParsedPage, found: dict[Url, float]) -> None:
        """Raise one link of every twentieth page."""
        every = round(1.0 / self._explore) if self._explore > 0.0 else 0
        if every and found and self._state.pages % every == 0:
            chosen = min(found, key=lambda url: xxh3_64_intdigest((page.url + url).encode()))
            found[chosen] = worth_of(1.0, inherited_of(found[chosen]))


class FocusPart(Part):
    """The focus of a shard. The relevance of pages is kept with their scores, and decides which are worth a visit."""

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:
        """One, if there is a topic."""
        topic = setup.settings.some(FocusTables).topic
        return [cls(desk, topic_maker(topic, setup.layout), setup.ordering, topic.explore)] if topic else []

    def __init__(self, desk: Desk, make: MakeTopic, ordering: Ordering | None, explore: float) -> None:
        if ordering is None or not isinstance(ordering, Focusing):
            raise ConfigError(
                "this ordering does not use the topic", hint="write --order focused, shark, best_first or n_best"
            )
        self._focus = Focus(make, ordering, explore, desk.events.stats, desk.saved(FocusState))
        self._scores = scores = desk.frontier.scores
        desk.weights.multiply_by(lambda url: max(potential_of(scores.worth([url])[0]), LEAST_WEIGHT))

    def flush(self) -> FocusState:
        """The state to commit."""
        return self._focus.state

    def worths(self) -> Worths:
        """Every link has its own worth."""
        return self._focus.worths

    def mark(self, page: ParsedPage) -> ParsedPage:
        """The page with its relevance."""
        appraised = self._focus.appraised(page)
        relevance = appraised.relevance or 0.0
        self._scores.revalue(page.url, lambda worth: worth_of(relevance, inherited_of(worth)))
        return appraised
