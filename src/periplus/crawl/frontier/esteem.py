"""What URLs are worth while they wait, for orderings in whose eyes that changes.

Most orderings decide when a URL is found. Some learn from every link (`Learning`: in-degree, OPIC, RankMass): there a
URL that gains moves up in its queue, from level to level, so that it moves at most twice for each octave. Some look at
all that is known from time to time (`Ranking`: PageRank): then whatever changed its level moves. And some of these let
only a batch into the queues, the best of what is known, and keep the rest in a pool until all of it is fetched
(Castillo et al. 2004: *Batch*).

A URL that is being fetched keeps its place until its outcome is known, whatever it gains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from periplus.model import (
    Discovery,
    Lane,
    Learning,
    Ordering,
    Queued,
    Ranking,
    Source,
    Stage,
    Standing,
    State,
    Ticket,
    Url,
)
from periplus.policy.ordering import level_of, levels_of
from periplus.urls import site_of

from .rounds import Rounds

_AT_ONCE = 10_000
"""So many URLs are moved together: more would take memory."""
_AGES = 10**12
"""Pages fetched: longer than anybody waits."""
_BITS = {source: 1 << position for position, source in enumerate(Source)}


class Esteem:
    """Keeps the standing of every URL, and every queue in its order."""

    def __init__(
        self, state: State, rounds: Rounds, ordering: Ordering, *, is_out: Callable[[Url], bool], pages: int
    ) -> None:
        self._state = state
        self._rounds = rounds
        self._learning = ordering if isinstance(ordering, Learning) else None
        self._ranking = ordering if isinstance(ordering, Ranking) else None
        self._is_sinking = self._learning is not None and _sinks(self._learning)
        self._is_out = is_out
        self.pages = pages
        self._ranked_at = pages
        self.pooled = state.standings.pooled if self._is_batch else 0
        self._left = _queued(state) if self._is_batch else 0
        rounds.on_removed = self._removed

    @property
    def _is_batch(self) -> bool:
        return self._ranking is not None and self._ranking.is_batch

    # what comes in

    def credit(self, discoveries: Sequence[Discovery]) -> list[Discovery]:
        """Let those gain that are known by this source already; the rest, which is new in some way."""
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

    def credit_judged(self, wanted: Sequence[Discovery]) -> list[Discovery]:
        """The same once filters have given each its name; the rest, each once, with all that it gains."""
        news: dict[tuple[Url, Source], Discovery] = {}
        for discovery in self.credit(wanted):
            name = (discovery.url, discovery.source)
            known = news.get(name)
            news[name] = discovery if known is None else replace(known, gain=known.gain + discovery.gain)
        return [discovery for discovery in news.values() if not discovery.is_more]

    def _gain(self, url: Url, standing: Standing, gain: float) -> None:
        standing.worth += gain
        if self._learning is not None and standing.stage == Stage.WAITING:
            level = level_of(self._score(standing))
            if level != standing.level and not self._is_out(url):
                self._settle(url, standing, level)

    def _score(self, standing: Standing) -> float:
        if self._learning is None:
            return standing.worth
        return self._learning.score_of(standing.worth, self.pages - standing.since)

    def _settle(self, url: Url, standing: Standing, level: int) -> bool:
        """Give a URL its place at a level; whether that is another."""
        if level == standing.level:
            return False
        site = site_of(url)
        self._state.queues.remove([Ticket(standing.place, Queued(url, site, standing.lane, standing.level))])
        self._wait(standing, self._state.queues.push([Queued(url, site, standing.lane, level)])[0])
        self._rounds.raised(site, level)
        return True

    def _wait(self, standing: Standing, ticket: Ticket) -> None:
        standing.stage, standing.level, standing.place = Stage.WAITING, ticket.entry.level, ticket.place

    def also(self, discovery: Discovery) -> None:
        """Another source tells of a URL that is known."""
        standing = self._state.standings.get([discovery.url])[0]
        if standing is not None:
            standing.sources |= _BITS[discovery.source]
            self._gain(discovery.url, standing, discovery.gain)
            self._state.standings.put([(discovery.url, standing)])

    def queue(self, found: Sequence[tuple[Discovery, float, Queued]]) -> list[Queued]:
        """Let in what is new, with its score: into the queues or into the pool. What was queued."""
        standings = [
            Standing(
                worth=max(score, 0.0),
                stage=Stage.POOLED,
                level=entry.level,
                lane=entry.lane,
                since=self.pages,
                sources=_BITS[discovery.source],
                is_seed=discovery.source is Source.SEED,
            )
            for discovery, score, entry in found
        ]
        entries = [] if self._is_batch else [entry for _, _, entry in found]
        if self._is_batch:
            self.pooled += len(found)
        else:
            for ticket, standing in zip(self._state.queues.push(entries), standings, strict=True):
                self._wait(standing, ticket)
        self._state.standings.put([(entry.url, each) for (_, _, entry), each in zip(found, standings, strict=True)])
        return entries

    @property
    def keeps_links(self) -> bool:
        """Whether links are kept, each from a URL to a URL."""
        return self._ranking is not None

    def link(self, discoveries: Sequence[Discovery]) -> None:
        """Keep the links by which these were found, for an ordering that looks at all of them."""
        if self._ranking is not None:
            self._state.standings.link([(each.referrer, each.url) for each in discoveries if each.referrer is not None])

    def released(self, tickets: Sequence[Ticket]) -> None:
        """These wait again, after a failure."""
        standings = self._state.standings.get([ticket.entry.url for ticket in tickets])
        changed = []
        for ticket, standing in zip(tickets, standings, strict=True):
            if standing is not None:
                self._wait(standing, ticket)
                changed.append((ticket.entry.url, standing))
        self._left += len(tickets)
        self._state.standings.put(changed)

    # what goes out

    def _removed(self, url: Url) -> None:
        self._left -= 1
        standing = self._state.standings.get([url])[0]
        if standing is not None:
            standing.stage, standing.place = Stage.DONE, b""
            self._state.standings.put([(url, standing)])

    def recall(self, url: Url) -> Ticket | None:
        """The place of a URL that was out when a process ended, if it keeps one.

        One that is pooled was chosen for a batch after the last commit: it is let into its queue again.
        """
        standing = self._state.standings.get([url])[0]
        if standing is None or standing.stage not in (Stage.POOLED, Stage.WAITING):
            return None
        entry = Queued(url, site_of(url), standing.lane, standing.level)
        if standing.stage == Stage.POOLED:
            self._wait(standing, self._state.queues.push([entry])[0])
            self._state.standings.put([(url, standing)])
            self.pooled -= 1
            self._left += 1
            self._rounds.call([entry])
        return Ticket(standing.place, entry)

    def revive(self, entries: Sequence[Queued]) -> None:
        """Let these wait again, whatever became of them before: they keep their worth."""
        tickets = self._state.queues.push(entries)
        self.released(tickets)

    def pass_on(self, url: Url, links: int) -> float:
        """A page was read: what each URL that it leads to gains."""
        standing = self._state.standings.get([url])[0]
        if standing is None or self._learning is None or not links:
            return 0.0
        share = self._learning.share(standing.worth, links)
        standing.worth = self._learning.rest(standing.worth)
        self._state.standings.put([(url, standing)])
        return share

    def has_sunk(self, ticket: Ticket) -> bool:
        """Whether the first of a queue, looked at again, belongs further back. It is there now."""
        if not self._is_sinking:
            return False
        url = ticket.entry.url
        standing = self._state.standings.get([url])[0]
        if standing is None or self._learning is None or standing.place != ticket.place:
            return False
        level = level_of(self._score(standing))
        has_sunk = level > standing.level and self._settle(url, standing, level)
        if has_sunk:
            self._state.standings.put([(url, standing)])
        return has_sunk

    # looking at everything

    @property
    def is_due(self) -> bool:
        """Whether it is time to look at all that is known."""
        if self._ranking is None:
            return False
        if self._ranking.is_batch:
            return self.pooled > 0 and self._left <= 0
        return self.pages - self._ranked_at >= self._ranking.every

    def rank(self) -> None:
        """Look at all that is known, and put every queue in order; or form the next batch."""
        if self._ranking is None:
            return
        known = self._state.standings.known()
        worth = self._ranking.ranks(known)
        self._state.standings.revalue(worth)
        self._ranked_at = self.pages
        levels = levels_of(worth)
        if self._ranking.is_batch:
            self._form_batch(np.flatnonzero(known.stage == Stage.POOLED), worth, levels)
        else:
            moved = np.flatnonzero((known.stage == Stage.WAITING) & (known.level != levels))
            for start in range(0, len(moved), _AT_ONCE):
                self._move(moved[start : start + _AT_ONCE], levels)

    def _move(self, moved: NDArray[np.int64], levels: NDArray[np.uint8]) -> None:
        changed = self._state.standings.numbered(moved.tolist())
        for (url, standing), level in zip(changed, levels[moved].tolist(), strict=True):
            if not self._is_out(url):
                self._settle(url, standing, level)
        self._state.standings.put(changed)

    def _form_batch(self, pooled: NDArray[np.int64], worth: NDArray[np.float64], levels: NDArray[np.uint8]) -> None:
        """The best of the pool go into the queues; among equals those that came first."""
        size = self._ranking.batch_size(len(pooled)) if self._ranking is not None else 0
        best = pooled[np.argsort(-worth[pooled], kind="stable")[:size]]
        for start in range(0, len(best), _AT_ONCE):
            self._let_in(best[start : start + _AT_ONCE], levels)
        self.pooled -= len(best)
        self._left = len(best)

    def _let_in(self, best: NDArray[np.int64], levels: NDArray[np.uint8]) -> None:
        chosen = self._state.standings.numbered(best.tolist())
        entries = [
            Queued(url, site_of(url), standing.lane, level)
            for (url, standing), level in zip(chosen, levels[best].tolist(), strict=True)
        ]
        for (_, standing), ticket in zip(chosen, self._state.queues.push(entries), strict=True):
            self._wait(standing, ticket)
        self._state.standings.put(chosen)
        self._rounds.call(entries)


def _sinks(learning: Learning) -> bool:
    """Whether a URL is wanted less the longer it waits. Most orderings know no age."""
    return learning.score_of(1.0, _AGES) < learning.score_of(1.0, 0)


def _queued(state: State) -> int:
    """How many pages wait in the queues, without those that wait for a time."""
    waiting = ((site, lane) for site, lane, _ in state.queues.waiting() if lane is not Lane.FILES)
    return sum(state.queues.length(site, lane) for site, lane in waiting)
