"""The order of the first results: what their words say when they are read closely. Pure functions.

A full-text engine adds up how often words occur. Here the first results are read as sequences of terms: whether words
stand beside each other or in one passage, and whether they are the name of the page, of a definition on it, or of links
to it. Each part is from 0 to 1, with words weighted by how rare they are; `Reranking` says how much a part counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log1p
from typing import Final

import numpy as np
import numpy.typing as npt

from .engine import Reranking
from .ranking import Ranked
from .term_numbers import DEFINITION, NO_TERMS, SEPARATOR, Numbers, PageTerms, number_of

PARTS: Final = ("near", "passage", "definition", "title", "anchor", "anchors", "length", "coverage")
_OF_TEXT: Final = ("near", "passage", "coverage")
"""Parts that say nothing of a page that lists others: its text is what these are called."""
_DISTANCES: Final = ((10, 0.2), (4, 0.5), (1, 1.0))
"""What a pair of words counts that are at most this far from each other."""
_WHOLE: Final = 1 - 1e-9
_APART: Final = 1_000
"""Words that are thought to lie between two pages."""
_WINDOW, _STEP = 40, 20
"""Words of a passage, and between the beginnings of two."""
_FOREIGN: Final = 3.0
"""What a word that was not typed takes from a name, in the unit of rarity: that of a word on one page in twenty."""
_TABLE: Final = 1 << 16
_FEW: Final = 12
"""Terms of a query up to which pages are compared with each of them: faster than a table."""

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


class AskedTerms:
    """The words of a query as numbers, ready to be looked for in many pages. `rarities` are by word."""

    def __init__(self, words: Sequence[Sequence[str]], rarities: Sequence[float]) -> None:
        self.rarities: Floats = np.array(rarities, np.float64)
        self.total = float(self.rarities.sum()) or 1.0
        pairs = sorted({number_of(term): place for place, word in enumerate(words) for term in word}.items())
        self._numbers: Numbers = np.array([number for number, _ in pairs], np.uint32)
        self._words: Places = np.array([place for _, place in pairs], np.intp)
        self._may_match = np.zeros(_TABLE if len(pairs) > _FEW else 0, np.bool_)
        if len(self._may_match):
            self._may_match[self._numbers & (_TABLE - 1)] = True

    def __len__(self) -> int:
        return len(self.rarities)

    def found_in(self, numbers: Numbers) -> tuple[Places, Places]:
        """Where words of the query are, and which words these are."""
        if not len(self._numbers):
            return np.zeros(0, np.intp), np.zeros(0, np.intp)
        if len(self._may_match):
            is_asked = self._may_match[numbers & (_TABLE - 1)]
        else:
            is_asked = numbers == self._numbers[0]
            for number in self._numbers[1:]:
                is_asked |= numbers == number
        places = np.flatnonzero(is_asked)
        found = numbers[places]
        nearest = np.minimum(np.searchsorted(self._numbers, found), len(self._numbers) - 1)
        is_same = self._numbers[nearest] == found
        return places[is_same], self._words[nearest[is_same]]


def reranked(
    ranked: Sequence[Ranked],
    asked: AskedTerms,
    pages: Mapping[int, PageTerms],
    weights: Reranking,
    *,
    is_short: bool,
    similar: Mapping[int, float],
) -> list[Ranked]:
    """The results with the first of them in their new order. One whose terms are not known counts as an empty page.

    `is_short`: pages with every word of the query were given more for it. `similar` is how near pages are to the query
    in meaning, where that is known.
    """
    first = ranked[: weights.results]
    found = parts_of(asked, [pages.get(one.candidate.match.id, NO_TERMS) for one in first])
    again = [
        _reranked(one, parts, weights, is_short=is_short, similar=similar.get(one.candidate.match.id))
        for one, parts in zip(first, found, strict=True)
    ]
    again.sort(key=lambda one: (-one.score, len(one.candidate.url), one.candidate.url))
    return [*again, *ranked[weights.results :]]


def _reranked(
    one: Ranked, parts: Sequence[float], weights: Reranking, *, is_short: bool, similar: float | None
) -> Ranked:
    added = {name: getattr(weights, name) * part for name, part in zip(PARTS, parts, strict=True)}
    if similar is not None:
        added["meaning"] = weights.meaning * similar
    if one.candidate.is_listing:
        added |= dict.fromkeys(_OF_TEXT, 0.0)
    if one.candidate.match.has_all_words and is_short:
        added["every_word"] = weights.every_word
    added["rank"] = weights.rank * log1p(max(0.0, one.candidate.page_rank))
    score = one.score - one.parts["rank"] + sum(added.values())
    return Ranked(one.candidate, score, {**one.parts, **added})


def parts_of(asked: AskedTerms, pages: Sequence[PageTerms]) -> list[list[float]]:
    """The parts of each page's score, in the order of `PARTS`. All pages are read at once, as one sequence."""
    body = JoinedLists([np.concatenate((page.title, page.body)) for page in pages])
    places, words = asked.found_in(body.numbers)
    of_page = body.page_of(places)
    has = np.zeros((len(pages), len(asked)), np.bool_)
    has[of_page, words] = True
    anchors = JoinedLists([page.anchors for page in pages])
    in_anchors, anchor_words = asked.found_in(anchors.numbers)
    has_anchor = np.zeros_like(has)
    has_anchor[anchors.page_of(in_anchors), anchor_words] = True
    definitions = _best_names(asked, [page.sections for page in pages], [page.levels == DEFINITION for page in pages])
    ids = _best_names(asked, [page.ids for page in pages])
    is_defined = ids > _WHOLE  # the words are beside each other in the name, if not in the text (`dict.get`)
    columns = (
        np.where(is_defined, 1.0, _nearness(asked, places, words, of_page, has)),
        np.where(is_defined, 1.0, _best_passages(asked, places - body.starts[of_page], words, of_page, body.lengths)),
        np.maximum(definitions, ids),
        _best_names(asked, [page.title for page in pages]),
        _best_names(asked, [page.anchors for page in pages]),
        has_anchor @ asked.rarities / asked.total,
        np.log1p(body.lengths),
        has @ asked.rarities / asked.total,
    )
    rows: list[list[float]] = np.stack(columns, axis=1).tolist()
    return rows


class JoinedLists:
    """Lists of numbers as one, and where each begins."""

    def __init__(self, lists: Sequence[Numbers]) -> None:
        self.numbers: Numbers = np.concatenate(lists)
        self.lengths: Places = np.array([len(each) for each in lists], np.intp)
        self._ends = np.cumsum(self.lengths)
        self.starts = self._ends - self.lengths

    def page_of(self, places: Places) -> Places:
        """The list that each place belongs to."""
        return np.searchsorted(self._ends, places, "right")


def _nearness(asked: AskedTerms, places: Places, words: Places, of_page: Places, has: npt.NDArray[np.bool_]) -> Floats:
    """How close neighbouring words of the query come to each other; of a single word, whether it occurs."""
    if len(asked) == 1:
        return has[:, 0].astype(np.float64)
    apart = places + of_page * _APART
    by_word = [apart[words == word] for word in range(len(asked))]
    pages_by_word = [of_page[words == word] for word in range(len(asked))]
    near = np.zeros(len(has))
    weights = asked.rarities[:-1] + asked.rarities[1:]
    for place, weight in enumerate(weights.tolist()):
        first, second = by_word[place], by_word[place + 1]
        if not len(first) or not len(second):
            continue
        after = np.searchsorted(second, first)
        ahead = np.abs(second[np.minimum(after, len(second) - 1)] - first)
        distance = np.minimum(ahead, np.abs(first - second[np.maximum(after - 1, 0)]))
        closeness = np.zeros(len(has))
        for most, value in _DISTANCES:
            closeness[pages_by_word[place][distance <= most]] = value
        near += weight * closeness
    return near / (float(weights.sum()) or 1.0)


def _best_passages(asked: AskedTerms, places: Places, words: Places, of_page: Places, lengths: Places) -> Floats:
    """The largest share of the query in one passage of each page; `places` are within the page."""
    windows = lengths // _STEP + 1
    first = np.cumsum(windows) - windows
    at = places // _STEP
    has = np.zeros((int(windows.sum()), len(asked)), np.bool_)
    for step in range(_WINDOW // _STEP):
        has[first[of_page] + np.maximum(at - step, 0), words] = True
    best: Floats = np.maximum.reduceat(has @ asked.rarities, first) / asked.total
    return best


def _best_names(asked: AskedTerms, lists: Sequence[Numbers], counted: Sequence[npt.NDArray[np.bool_]] = ()) -> Floats:
    """How much the best name in each list is what was typed; of those that are `counted`, if that is given."""
    joined = JoinedLists(lists)
    matches = name_matches(asked, joined.numbers)
    if counted:
        matches = np.where(np.concatenate(counted), matches, 0.0)
    best = np.zeros(len(lists))
    np.maximum.at(best, joined.page_of(np.flatnonzero(joined.numbers == SEPARATOR)), matches)
    return best


def name_matches(asked: AskedTerms, names: Numbers) -> Floats:
    """How much each name in a list is what was typed: 1 if it has every word and no other."""
    ends = np.flatnonzero(names == SEPARATOR)
    if not len(ends):
        return np.zeros(0)
    places, words = asked.found_in(names)
    of_name = np.searchsorted(ends, places)
    shared = np.zeros((len(ends), len(asked)), np.bool_)
    shared[of_name, words] = True
    lengths = ends.copy()
    lengths[1:] -= ends[:-1] + 1
    foreign = lengths - np.bincount(of_name, minlength=len(ends))
    matches: Floats = (shared @ asked.rarities) / (asked.total + _FOREIGN * foreign)
    return matches
