"""Which word to search for next: the one that is expected to find most new records for its requests.

How many records match a word is estimated from the share of known records that have it, times an estimate of how many
records there are (Ntoulas, Zerfos, Cho 2005). That estimate is Petersen's, by how many records of the last queries were
known before. The most frequent word not yet issued (Barbosa, Freire 2004) is nearly as good; rare words are not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

MAX_WORDS: Final = 5_000
"""Words that are remembered of a form: the rarest are dropped."""
_WINDOW: Final = 20
"""Queries over which the number of records is estimated, and after which one that finds nothing new has ended."""
_BLIND_FACTOR: Final = 10.0
"""How many times more records there may be than are known, while none was found twice."""
_ENOUGH: Final = 0.95
"""The share of the estimated records at which a search is complete."""
_LEAST_GAIN: Final = 0.02
"""New records a request below which queries are not worth it."""
_SMALL_GAIN: Final = 0.25
"""New records a request below which the estimate is believed: words of one text go together, so it is often too low."""
_TRIES: Final = 3
"""Words of a source that are issued before it is compared with others."""
_WORD: Final = re.compile(r"[^\W\d_]{3,30}")
_STOP: Final = frozenset(
    ["the", "and", "for", "with", "from", "that", "this", "are", "was", "not", "all", "any", "der", "die", "das", "und",
     "les", "des", "une", "los", "las", "del", "para", "next", "page", "more", "home"]
)  # fmt: skip


class WordSource(Struct):
    """The success rate of words of a source: `hits` of `tries` found something."""

    tries: int = 0
    hits: int = 0

    @property
    def success(self) -> float:
        """The expected share of words that find something."""
        return (self.hits + 1) / (self.tries + 2)


class EndedQuery(Struct, array_like=True):
    """A query that has ended: how many records it showed, and how many of them were known."""

    shown: int
    known: int
    requests: int


class Words(Struct):
    """The data for choosing words. `counts` has how many known records have a word, by source."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    sources: dict[str, WordSource] = field(default_factory=dict)
    issued: set[str] = field(default_factory=set)
    queries: list[EndedQuery] = field(default_factory=list)
    known: int = 0
    most_shown: int = 0

    def add(self, source: str, texts: Iterable[str]) -> None:
        """Words of records (or of pages) that were found: each text counts once for each of its words."""
        counts = self.counts.setdefault(source, {})
        for text in texts:
            for word in {each.lower() for each in _WORD.findall(text)} - _STOP:
                counts[word] = counts.get(word, 0) + 1
        if len(counts) > MAX_WORDS:
            kept = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[: MAX_WORDS // 2]
            self.counts[source] = dict(kept)

    def ended(self, source: str, shown: int, known: int, requests: int) -> None:
        """Record the end of a query."""
        self.queries = [*self.queries[1 - _WINDOW :], EndedQuery(shown, known, requests)]
        self.most_shown = max(self.most_shown, shown)
        of_source = self.sources.setdefault(source, WordSource())
        of_source.tries += 1
        of_source.hits += shown > 0

    @property
    def estimate(self) -> float:
        """About how many records there are."""
        shown, known = (sum(getattr(query, name) for query in self.queries) for name in ("shown", "known"))
        return self.known * (shown / known if known else _BLIND_FACTOR) if self.known else 0.0

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which numbers the number of records is, with a probability of about 95 %."""
        shown, known = (sum(getattr(query, name) for query in self.queries) for name in ("shown", "known"))
        if not known:
            return float(self.known), self.estimate
        error = 1.96 * self.estimate * math.sqrt((1 - known / shown) / known)
        return max(self.estimate - error, float(self.known)), self.estimate + error

    def is_done(self, control: int | None = None) -> bool:
        """Whether further queries are not worth it; with `control`, also if as many of the last found nothing new."""
        if control is not None:
            last = [query for query in self.queries if query.shown][-control:]
            if len(last) == control and all(query.shown == query.known for query in last):
                return True
        if len(self.queries) < _WINDOW:
            return False
        gain = sum(query.shown - query.known for query in self.queries) / sum(query.requests for query in self.queries)
        return gain < _LEAST_GAIN or (gain < _SMALL_GAIN and self.known >= _ENOUGH * self.estimate)

    def next_round(self, number: int, page: int = 10) -> list[tuple[str, str]]:
        """The words to issue next: some of each source that was not tried enough, then the best of all sources."""
        for source in sorted(self.counts):
            tries = self.sources.get(source, WordSource()).tries
            if tries < _TRIES and (found := self.best(_TRIES - tries, page, source)):
                return found
        return self.best(number, page)

    def best(self, number: int, page: int = 10, only: str = "") -> list[tuple[str, str]]:
        """The best words, with their sources. `page` is how many records a page of results shows."""
        estimate, cap = self.estimate, max(self.most_shown, page)
        ranked = []
        for source, counts in self.counts.items():
            if only not in ("", source):
                continue
            success = self.sources.get(source, WordSource()).success
            for word, records in counts.items():
                if word not in self.issued:
                    worth, new = _worth(records, self.known, estimate, cap, page)
                    ranked.append((-round(success * worth, 2), -success * new, word, source))
        ranked.sort()
        chosen = {word: source for _, _, word, source in reversed(ranked[: 2 * number])}
        first = list(dict.fromkeys(word for _, _, word, _ in ranked))[:number]
        return [(word, chosen.get(word, "")) for word in first]


def _worth(records: int, known: int, estimate: float, cap: int, page: int) -> tuple[float, float]:
    """The new records that a word is expected to find: per request, and in total."""
    if not known:
        return float(records), float(records)
    matching = records * estimate / known
    shown = min(matching, cap)
    new = max(matching - records, 0.0) * shown / matching if matching else 0.0
    cost = 1 + max(0.0, shown / page - 1) + new
    return new / cost, new
