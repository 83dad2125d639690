"""The scores of waiting URLs, and their places in the queues.

Most orderings decide once, when a URL is found: `FixedScores`. Some learn from every link (`Learning`: in-degree, OPIC,
RankMass): there a URL that gains moves up in its queue, from level to level, so at most twice for each octave. Some
look at all that is known from time to time (`Ranking`: PageRank): then every URL that changed its level moves. And some
of these let only a batch into the queues, the best of what is known, and keep the rest in a pool until all of it is
fetched (Castillo et al. 2004: *Batch*). Those are `PriorityIndex`.

Both answer the same questions, so nothing else asks which of the two it has. A URL that is being fetched keeps its
place until its outcome is known, whatever it gains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from periplus.model import (
    Combining,
    Discovery,
    Lane,
    Learning,
    Ordering,
    Queued,
    Ranking,
    Source,
    Stage,
    Ticket,
    Url,
    UrlScore,
)
from periplus.policy.ordering import RISES, ByWorth, level_of, levels_of
from periplus.store import State
from periplus.urls import site_of

from .discounts import Discounts
from .frontier_state import ScoreState
from .steering import FIRST_LEVEL, Steering, SteeringState

_CHUNK = 10_000
"""URLs moved together: enough to be fast, few enough to bound memory."""
_VERY_OLD = 10**12
"""Pages fetched: longer than any URL waits."""
_SCORED = frozenset({Lane.DISCOVERY, Lane.SITEMAPS})
"""Lanes whose URLs have a place by their score. Revisits are placed by their worth (`engine.revisit`)."""
_BITS = {source: 1 << position for position, source in enumerate(Source)}

Candidate = tuple[Discovery, float, Queued]
"""A URL to be queued: how it was discovered, its score, and its place."""
Combine = Callable[[float, float, float], float]
"""What a URL is worth after it gained: its worth, the gain, and the share of the gain that counts."""


class FixedScores:
    """Scores that never change: a URL gets its place when it is found."""

    learns = keeps_links = is_due = False
    pooled = 0
    queued_twice = 0
    """URLs that have an entry in two lanes, or a second one that is left over from a visit."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.pages = 0
        self.steering = Steering(SteeringState())
        self.discounts = Discounts()
        self._raised: dict[str, int] = {}

    def unknown(self, discoveries: Sequence[Discovery]) -> Sequence[Discovery]:
        """The URLs that must be looked up: all."""
        return discoveries

    def unknown_judged(self, discoveries: Sequence[Discovery]) -> Sequence[Discovery]:
        """The URLs that must be looked up once filters have given each its name: all."""
        return discoveries

    def found_again(self, discovery: Discovery, candidate: Candidate | None) -> list[Candidate]:  # noqa: ARG002
        """Another source names a known URL: it may be queued in the lane of that source as well."""
        self.queued_twice += candidate is not None
        return [] if candidate is None else [candidate]

    def queue(self, candidates: Sequence[Candidate]) -> list[Queued]:
        """Queue these; which of them wait now."""
        entries = [entry for _, _, entry in candidates]
        self._state.queues.push(entries)
        return entries

    def requeue(self, entries: Sequence[Queued]) -> None:
        """Queue these again, whatever their earlier result."""
        self._state.queues.push(entries)

    def link(self, discoveries: Sequence[Discovery]) -> None:
        """Do nothing: links do not matter."""

    def gain(self, gains: Mapping[Url, float]) -> list[Url]:  # noqa: ARG002
        """Do nothing: links do not matter."""
        return []

    def ticket_of(self, url: Url) -> Ticket | None:  # noqa: ARG002
        """The place of a URL in its queue, if that is kept: it is not."""
        return None

    def released(self, tickets: Sequence[Ticket]) -> None:
        """Record that these wait again after a failure."""

    def removed(self, url: Url) -> None:
        """Record that a URL has left its queue."""

    def share(self, url: Url, links: int) -> float:  # noqa: ARG002
        """The gain that each link of a page passes on: nothing."""
        return 0.0

    def worth(self, urls: Sequence[Url]) -> list[float]:
        """The score of each URL by its links: not known."""
        return [0.0] * len(urls)

    def has_sunk(self, ticket: Ticket) -> bool:  # noqa: ARG002
        """Whether the head of a queue belongs further back: never."""
        return False

    def rank(self) -> list[Queued]:
        """Do nothing: nothing is ranked."""
        return []

    def raise_all(self, tickets: Sequence[Ticket]) -> None:
        """Move these URLs to the first level of their queues."""
        self._state.queues.remove(tickets)
        self._state.queues.push([replace(ticket.entry, level=FIRST_LEVEL) for ticket in tickets])
        self._raised.update((ticket.entry.site, FIRST_LEVEL) for ticket in tickets)

    def rescore(self, levels: Sequence[tuple[Ticket, int]]) -> None:
        """Move each of these URLs to another level of its queue."""
        moved = [(ticket, level) for ticket, level in levels if level != ticket.entry.level]
        self._state.queues.remove([ticket for ticket, _ in moved])
        self._state.queues.push([replace(ticket.entry, level=level) for ticket, level in moved])
        for ticket, level in moved:
            self._raised[ticket.entry.site] = min(level, self._raised.get(ticket.entry.site, level))

    def revalue(self, url: Url, change: Callable[[float], float]) -> None:
        """Do nothing: the worth of a page that was read is not kept."""

    def raised(self) -> dict[str, int]:
        """The sites of which a URL has moved up: because people prefer it, not by links."""
        raised, self._raised = self._raised, {}
        return raised

    def snapshot(self) -> ScoreState:
        """Nothing to store."""
        return ScoreState()


class PriorityIndex:
    """Keeps the score of every URL, and every queue in order. `is_out`: whether a URL is being fetched."""

    learns = True
    queued_twice = 0
    """A URL has one place: no URL waits in two lanes."""

    def __init__(
        self,
        state: State,
        ordering: Ordering,
        *,
        is_out: Callable[[Url], bool],
        pages: int,
        saved: ScoreState | None = None,
    ) -> None:
        self._state = state
        self._learning = ordering if isinstance(ordering, Learning) else None
        self._ranking = ordering if isinstance(ordering, Ranking) else None
        self._combined: Combine = ordering.combined if isinstance(ordering, Combining) else _added
        self._is_plain = (
            self._combined is _added
            and self._learning is not None
            and getattr(type(ordering), "score_of", None) is ByWorth.score_of
        )
        self._is_sinking = self._learning is not None and _sinks(self._learning)
        self._is_out = is_out
        self.pages = pages
        saved = saved or ScoreState(ranked_at=pages)
        self._ranked_at, self.pooled, self._left = saved.ranked_at, saved.pooled, saved.left
        self.steering = Steering(SteeringState())
        self.discounts = Discounts()
        self._raised: dict[str, int] = {}

    @property
    def _is_batch(self) -> bool:
        return self._ranking is not None and self._ranking.is_batch

    def snapshot(self) -> ScoreState:
        """The state to commit besides the standings."""
        return ScoreState(self._ranked_at, self.pooled, self._left)

    # what comes in

    def unknown(self, discoveries: Sequence[Discovery]) -> list[Discovery]:
        """Add gains to URLs that are known from this source already; return the others."""
        news = []
        changed = []
        standings = self._state.standings.get([discovery.url for discovery in discoveries])
        for discovery, standing in zip(discoveries, standings, strict=True):
            if standing is None or not (standing.sources & _BITS[discovery.source] or discovery.is_more):
                news.append(discovery)
            elif discovery.gain:
                self._gain(discovery.url, standing, discovery.gain)
                changed.append((discovery.url, standing))
        if changed:
            self._state.standings.put(changed)
        return news

    def unknown_judged(self, discoveries: Sequence[Discovery]) -> list[Discovery]:
        """The same once filters have given each its name; the others, each once, with all that it gains."""
        news: dict[tuple[Url, Source], Discovery] = {}
        for discovery in self.unknown(discoveries):
            name = (discovery.url, discovery.source)
            known = news.get(name)
            news[name] = (
                discovery if known is None else replace(known, gain=self._combined(known.gain, discovery.gain, 1.0))
            )
        return [discovery for discovery in news.values() if not discovery.is_more]

    def revalue(self, url: Url, change: Callable[[float], float]) -> None:
        """Change the worth of a page that was read; links that gain change it no more (`Combining`)."""
        standing = self._state.standings.get([url])[0]
        if standing is not None:
            standing.worth = change(standing.worth)
            self._state.standings.put([(url, standing)])

    def gain(self, gains: Mapping[Url, float]) -> list[Url]:
        """Count the links of a page to URLs that were linked to before; which of them have no score here.

        Where gains are added up, a score that is held is changed in place, and its level looked at only when that must
        be another: most links of most pages are those of the site's navigation.
        """
        held = self._state.standings.held
        others = [url for url in gains if url not in held]
        read = dict(zip(others, self._state.standings.get(others), strict=True)) if others else {}
        is_plain = self._is_plain and self.discounts.is_empty
        for url, gain in gains.items():
            standing = held.get(url) or read[url]
            if standing is None:
                continue
            if not is_plain:
                self._gain(url, standing, gain)
                continue
            standing.worth += gain
            if standing.worth >= RISES[standing.level] and standing.stage == Stage.WAITING:
                self._rise(url, standing)
        if others:
            self._state.standings.put([(url, standing) for url, standing in read.items() if standing is not None])
        return [url for url in others if read[url] is None]

    def _gain(self, url: Url, standing: UrlScore, gain: float) -> None:
        if standing.stage == Stage.DONE and self._combined is not _added:
            return
        standing.worth = self._combined(standing.worth, gain, self.discounts.worth(url))
        if self._learning is not None and standing.stage == Stage.WAITING:
            self._rise(url, standing)

    def _rise(self, url: Url, standing: UrlScore) -> None:
        level = self._level(url, standing)
        if level != standing.level and not self._is_out(url):
            self._settle(url, standing, level)

    def _score(self, standing: UrlScore) -> float:
        if self._learning is None:
            return standing.worth
        return self._learning.score_of(standing.worth, self.pages - standing.since)

    def _level(self, url: Url, standing: UrlScore) -> int:
        return FIRST_LEVEL if self.steering.prefers(url) else level_of(self._score(standing))

    def _settle(self, url: Url, standing: UrlScore, level: int) -> bool:
        """Move a URL to a level; whether that is another."""
        if level == standing.level:
            return False
        site = site_of(url)
        self._state.queues.remove([Ticket(standing.place, Queued(url, site, standing.lane, standing.level))])
        _wait(standing, self._state.queues.push([Queued(url, site, standing.lane, level)])[0])
        self._raised[site] = min(level, self._raised.get(site, level))
        return True

    def raise_all(self, tickets: Sequence[Ticket]) -> None:
        """Move these URLs to the first level of their queues."""
        urls = [ticket.entry.url for ticket in tickets]
        for ticket, standing in zip(tickets, self._state.standings.get(urls), strict=True):
            if standing is not None and standing.place == ticket.place:
                self._settle(ticket.entry.url, standing, FIRST_LEVEL)
                self._state.standings.put([(ticket.entry.url, standing)])

    def rescore(self, levels: Sequence[tuple[Ticket, int]]) -> None:
        """Do nothing: links decide where URLs wait, not the sitemaps that list them."""

    def raised(self) -> dict[str, int]:
        """The sites with a URL that has moved since the last call, with the best of the new levels."""
        raised, self._raised = self._raised, {}
        return raised

    def found_again(self, discovery: Discovery, candidate: Candidate | None) -> list[Candidate]:  # noqa: ARG002
        """Another source names a known URL: it gains, and keeps its place."""
        standing = self._state.standings.get([discovery.url])[0]
        if standing is not None:
            standing.sources |= _BITS[discovery.source]
            self._gain(discovery.url, standing, discovery.gain)
            self._state.standings.put([(discovery.url, standing)])
        return []

    def queue(self, candidates: Sequence[Candidate]) -> list[Queued]:
        """Put these into the queues or into the pool; which of them wait now."""
        standings = [
            UrlScore(
                worth=max(score, 0.0),
                stage=Stage.POOLED,
                level=entry.level,
                lane=entry.lane,
                since=self.pages,
                sources=_BITS[discovery.source],
                is_seed=discovery.source is Source.SEED,
            )
            for discovery, score, entry in candidates
        ]
        entries = [] if self._is_batch else [entry for _, _, entry in candidates]
        if self._is_batch:
            self.pooled += len(candidates)
        else:
            for ticket, standing in zip(self._state.queues.push(entries), standings, strict=True):
                _wait(standing, ticket)
        self._state.standings.put(
            [(entry.url, each) for (_, _, entry), each in zip(candidates, standings, strict=True)]
        )
        return entries

    def requeue(self, entries: Sequence[Queued]) -> None:
        """Queue these again, whatever their earlier result: they keep their score."""
        self.released(self._state.queues.push(entries))

    @property
    def keeps_links(self) -> bool:
        """Whether links are kept, each from a URL to a URL."""
        return self._ranking is not None

    def link(self, discoveries: Sequence[Discovery]) -> None:
        """Keep the links by which these were found, for an ordering that looks at all of them."""
        if self._ranking is not None:
            self._state.standings.link([(each.referrer, each.url) for each in discoveries if each.referrer is not None])

    def ticket_of(self, url: Url) -> Ticket | None:
        """The place of a URL in its queue, if it waits."""
        standing = self._state.standings.get([url])[0]
        if standing is None or standing.stage != Stage.WAITING:
            return None
        return Ticket(standing.place, Queued(url, site_of(url), standing.lane, standing.level))

    def released(self, tickets: Sequence[Ticket]) -> None:
        """Record that these wait again after a failure; or they were pooled, and an archive has answers for them."""
        pages = [ticket for ticket in tickets if ticket.entry.lane in _SCORED]
        standings = self._state.standings.get([ticket.entry.url for ticket in pages])
        changed = []
        for ticket, standing in zip(pages, standings, strict=True):
            if standing is not None:
                self.pooled -= standing.stage == Stage.POOLED
                _wait(standing, ticket)
                changed.append((ticket.entry.url, standing))
        self._left += len(pages)
        self._state.standings.put(changed)

    # what goes out

    def removed(self, url: Url) -> None:
        """Record that a URL has left its queue."""
        self._left -= 1
        standing = self._state.standings.get([url])[0]
        if standing is not None:
            standing.stage, standing.place = Stage.DONE, b""
            self._state.standings.put([(url, standing)])

    def share(self, url: Url, links: int) -> float:
        """A page was read: what each URL that it links to gains."""
        standing = self._state.standings.get([url])[0]
        if standing is None or self._learning is None or not links:
            return 0.0
        share = self._learning.share(standing.worth, links)
        standing.worth = self._learning.rest(standing.worth)
        self._state.standings.put([(url, standing)])
        return share

    def worth(self, urls: Sequence[Url]) -> list[float]:
        """The worth that links give each URL."""
        return [0.0 if standing is None else standing.worth for standing in self._state.standings.get(urls)]

    def has_sunk(self, ticket: Ticket) -> bool:
        """Whether the head of a queue, scored again, belongs further back. It is there now."""
        if not self._is_sinking:
            return False
        url = ticket.entry.url
        standing = self._state.standings.get([url])[0]
        if standing is None or self._learning is None or standing.place != ticket.place:
            return False
        level = self._level(url, standing)
        has_sunk = level > standing.level and self._settle(url, standing, level)
        if has_sunk:
            self._state.standings.put([(url, standing)])
        return has_sunk

    # ranking everything

    @property
    def is_due(self) -> bool:
        """Whether it is time to rank all known URLs."""
        if self._ranking is None:
            return False
        if self._ranking.is_batch:
            return self.pooled > 0 and self._left <= 0
        return self.pages - self._ranked_at >= self._ranking.every

    def rank(self) -> list[Queued]:
        """Rank all known URLs and put every queue in order; or form the next batch. Return what was queued."""
        if self._ranking is None:
            return []
        known = self._state.standings.known()
        worth = self._ranking.ranks(known)
        self._state.standings.revalue(worth)
        self._ranked_at = self.pages
        levels = levels_of(worth)
        if self._ranking.is_batch:
            return self._form_batch(np.flatnonzero(known.stage == Stage.POOLED), worth, levels)
        moved = np.flatnonzero((known.stage == Stage.WAITING) & (known.level != levels))
        for start in range(0, len(moved), _CHUNK):
            self._move(moved[start : start + _CHUNK], levels)
        return []

    def _move(self, moved: NDArray[np.int64], levels: NDArray[np.uint8]) -> None:
        changed = self._state.standings.numbered(moved.tolist())
        for (url, standing), level in zip(changed, levels[moved].tolist(), strict=True):
            if not self._is_out(url):
                self._settle(url, standing, FIRST_LEVEL if self.steering.prefers(url) else level)
        self._state.standings.put(changed)

    def _form_batch(
        self, pooled: NDArray[np.int64], worth: NDArray[np.float64], levels: NDArray[np.uint8]
    ) -> list[Queued]:
        """The best of the pool go into the queues; among equals those that came first."""
        size = self._ranking.batch_size(len(pooled)) if self._ranking is not None else 0
        best = pooled[np.argsort(-worth[pooled], kind="stable")[:size]]
        entries: list[Queued] = []
        for start in range(0, len(best), _CHUNK):
            entries += self._let_in(best[start : start + _CHUNK], levels)
        self.pooled -= len(best)
        self._left = len(best)
        return entries

    def _let_in(self, best: NDArray[np.int64], levels: NDArray[np.uint8]) -> list[Queued]:
        chosen = self._state.standings.numbered(best.tolist())
        entries = [
            Queued(url, site_of(url), standing.lane, level)
            for (url, standing), level in zip(chosen, levels[best].tolist(), strict=True)
        ]
        for (_, standing), ticket in zip(chosen, self._state.queues.push(entries), strict=True):
            _wait(standing, ticket)
        self._state.standings.put(chosen)
        return entries


Scores = FixedScores | PriorityIndex


def _added(worth: float, gain: float, share: float) -> float:
    return worth + gain * share


def _wait(standing: UrlScore, ticket: Ticket) -> None:
    standing.stage, standing.level, standing.place = Stage.WAITING, ticket.entry.level, ticket.place


def _sinks(learning: Learning) -> bool:
    """Whether a URL is wanted less the longer it waits. Most orderings ignore its age."""
    return learning.score_of(1.0, _VERY_OLD) < learning.score_of(1.0, 0)
