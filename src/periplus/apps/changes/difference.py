"""Computes the difference between two texts for people: removed, added and edited passages, with the words marked.

Texts are compared piece by piece (`pieces_of`), with clocks and counters masked as in the crawl (`content.digests`).
Between two unchanged pieces, pieces with nearly the same words are paired and compared word by word; the others are
removed or added as a whole. A word or two that match by coincidence between two larger changes are merged into them,
because a reader wants phrases. Texts are untrusted, so the work is bounded for any input (`Budget`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cache
from itertools import groupby, pairwise
from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from periplus.content.digests import masked

Pair = tuple[int, int]
Gap = tuple[int, int, int, int]
"""From where to where in the one, and in the other."""


class Budget:
    """Steps that may still be done."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def pay(self, steps: int) -> bool:
        """Spend `steps`, if that many are left; whether they were."""
        if steps > self.steps:
            return False
        self.steps -= steps
        return True


def matches(old: Sequence[Hashable], new: Sequence[Hashable], budget: Budget) -> list[Pair]:
    """The positions of common elements of two sequences: increasing on both sides.

    Common prefixes and suffixes are matched first, then elements that occur exactly once on each side and in the same
    order (the patience diff of Bram Cohen, with the longest increasing subsequence of Fredman 1975). The same is
    repeated between these anchors; where there is none, the longest common subsequence is computed by its quadratic
    table. When the budget is spent, the rest counts as different: the result is longer than necessary, but never wrong.
    """
    found: list[Pair] = []
    gaps: list[Gap] = [(0, len(old), 0, len(new))]
    while gaps:
        gap = _trimmed(old, new, gaps.pop(), found)
        start, end, other, other_end = gap
        if start == end or other == other_end or not budget.pay(end - start + other_end - other):
            continue
        anchors = _anchors(old, new, gap)
        if anchors:
            found += anchors
            gaps += _between(gap, anchors)
        elif budget.pay((end - start) * (other_end - other)):
            found += _common(old, new, gap)
    return sorted(found)


def _trimmed(old: Sequence[Hashable], new: Sequence[Hashable], gap: Gap, found: list[Pair]) -> Gap:
    """A gap without what both sides begin and end with, which is noted."""
    start, end, other, other_end = gap
    while start < end and other < other_end and old[start] == new[other]:
        found.append((start, other))
        start, other = start + 1, other + 1
    while start < end and other < other_end and old[end - 1] == new[other_end - 1]:
        end, other_end = end - 1, other_end - 1
        found.append((end, other_end))
    return start, end, other, other_end


def _anchors(old: Sequence[Hashable], new: Sequence[Hashable], gap: Gap) -> list[Pair]:
    start, end, other, other_end = gap
    here, there = Counter(old[start:end]), Counter(new[other:other_end])
    places = {new[place]: place for place in range(other, other_end)}
    pairs = [
        (place, places[old[place]])
        for place in range(start, end)
        if here[old[place]] == 1 and there.get(old[place]) == 1
    ]
    return _increasing(pairs)


def _increasing(pairs: Sequence[Pair]) -> list[Pair]:
    """The longest subsequence that increases on the right side, too."""
    tails: list[int] = []
    ends: list[int] = []
    before = [-1] * len(pairs)
    for number, (_, right) in enumerate(pairs):
        at = bisect_left(tails, right)
        before[number] = ends[at - 1] if at else -1
        tails[at : at + 1] = [right]
        ends[at : at + 1] = [number]
    chosen = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]


def _between(gap: Gap, anchors: Sequence[Pair]) -> list[Gap]:
    start, end, other, other_end = gap
    gaps = []
    for left, right in [*anchors, (end, other_end)]:
        gaps.append((start, left, other, right))
        start, other = left + 1, right + 1
    return gaps


def _common(old: Sequence[Hashable], new: Sequence[Hashable], gap: Gap) -> list[Pair]:
    """The longest common subsequence, by the table of its lengths from each place to the end."""
    start, end, other, other_end = gap
    width = other_end - other
    table = [[0] * (width + 1)]
    for left in range(end - 1, start - 1, -1):
        below, row = table[-1], [0] * (width + 1)
        item = old[left]
        for column in range(width - 1, -1, -1):
            if item == new[other + column]:
                row[column] = below[column + 1] + 1
            else:
                row[column] = max(below[column], row[column + 1])
        table.append(row)
    table.reverse()
    return _walked(table, old, new, gap)


def _walked(table: list[list[int]], old: Sequence[Hashable], new: Sequence[Hashable], gap: Gap) -> list[Pair]:
    start, end, other, other_end = gap
    found, left, right = [], start, other
    while left < end and right < other_end:
        row, column = left - start, right - other
        if old[left] == new[right]:
            found.append((left, right))
            left, right = left + 1, right + 1
        elif table[row + 1][column] >= table[row][column + 1]:
            left += 1
        else:
            right += 1
    return found


_LONG_LINE: Final = 300
_LONG_SENTENCE: Final = 1_000
_LEAST_WORDS: Final = 16
_MOST_WORDS: Final = 160
_CUT: Final = 0x1F
"""One word in this many is a cut point."""
_ALONE: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Thai, Lao, Burmese, Khmer, kana, ideographs."""
_SENTENCE: Final = r"(?<=[.!?…][\"'”’)\]])\s+|(?<=[.!?…])\s+(?=[^\sa-z])|(?<=[。！？])"
_WORD: Final = rf"(?:[{_ALONE}]|[^\W{_ALONE}]+|[^\w\s])\s*"
_COUNTED: Final = rf"[{_ALONE}]|[^\W{_ALONE}]+"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when it is first used: most commands that show changes compare no texts."""
    return re.compile(pattern)


def pieces_of(text: str) -> list[str]:
    """The pieces of a text, in order; none is empty. A piece is a line or, if the line is too long, a sentence.

    Text without either is cut after words chosen by their hash, so that an insertion moves no other cut
    (content-defined chunks, as in rsync and LBFS).
    """
    return [piece for line in text.splitlines() for piece in _of_line(line.strip()) if piece]


def words_of(piece: str) -> list[str]:
    """The words of a piece, each with the space behind it, so that the words joined are the piece.

    Words are runs of letters and figures; in scripts without spaces, single characters; otherwise single signs.
    """
    return _compiled(_WORD).findall(piece)


def is_counted(word: str) -> bool:
    """Whether a token is a word and not a sign."""
    return _compiled(_COUNTED).match(word) is not None


def count_words(piece: str) -> int:
    """How many words a piece has, without signs."""
    return len(_compiled(_COUNTED).findall(piece))


def _of_line(line: str) -> Iterator[str]:
    if len(line) <= _LONG_LINE:
        yield line
        return
    for sentence in _compiled(_SENTENCE).split(line):
        if len(sentence) > _LONG_SENTENCE:
            yield from _chunks(sentence)
        elif sentence.strip():
            yield sentence.strip()


def _chunks(text: str) -> Iterator[str]:
    chunk: list[str] = []
    for word in words_of(text):
        chunk.append(word)
        is_cut = len(chunk) >= _LEAST_WORDS and xxh3_64_intdigest(word.strip().encode("utf-8", "replace")) & _CUT == 0
        if is_cut or len(chunk) >= _MOST_WORDS:
            yield "".join(chunk).strip()
            chunk = []
    if rest := "".join(chunk).strip():
        yield rest


MAX_TEXT: Final = 1 << 18
"""Characters of each text that are looked at: those of a book of a hundred pages."""
MAX_PIECES: Final = 10_000
"""And pieces of it."""
_STEPS: Final = 1 << 20
_ALIKE: Final = 0.5
"""Minimum share of common words for two pieces to be versions of one."""
_WINDOW: Final = 8
"""Pieces ahead in which the other version of one is looked for."""
_BY_CHANCE: Final = 2


class RunStatus(StrEnum):
    """The status of a run of words."""

    KEPT = "kept"
    REMOVED = "removed"
    ADDED = "added"


class Run(Struct, frozen=True, gc=False):
    """Consecutive words with the same mark."""

    mark: RunStatus
    text: str


class Passage(Struct, frozen=True):
    """A piece of text. `follows`: it comes right after the passage before it, nothing between is left out."""

    runs: tuple[Run, ...]
    follows: bool = True

    @property
    def is_changed(self) -> bool:
        """Whether any of its words were removed or added."""
        return any(run.mark is not RunStatus.KEPT for run in self.runs)


class Difference(Struct, frozen=True):
    """All differences, in order, with some context; counts are in words.

    `is_cut`: a text was longer than the part that is compared.
    """

    passages: tuple[Passage, ...]
    removed: int
    added: int
    before: int
    after: int
    is_cut: bool = False

    @property
    def size(self) -> float:
        """The share of words that differ, from 0 to 1: words removed and added, of all words of both texts.

        0: the same; 1: nothing in common; a text that doubled: 0.33.
        """
        return (self.removed + self.added) / max(self.before + self.after, 1)


def diff(old: str, new: str, *, context: int = 1) -> Difference:
    """What differs between two texts, with `context` equal pieces around each place."""
    before, after = pieces_of(old[:MAX_TEXT]), pieces_of(new[:MAX_TEXT])
    is_cut = max(len(old), len(new)) > MAX_TEXT or max(len(before), len(after)) > MAX_PIECES
    before, after = before[:MAX_PIECES], after[:MAX_PIECES]
    budget = Budget(_STEPS)
    pairs = matches(list(map(_key, before)), list(map(_key, after)), budget)
    passages = list(_passages(before, after, pairs, budget))
    marked = Counter[RunStatus]()
    for passage in passages:
        for run in passage.runs if passage.is_changed else ():
            marked[run.mark] += count_words(run.text)
    return Difference(
        tuple(_around(passages, context)),
        marked[RunStatus.REMOVED],
        marked[RunStatus.ADDED],
        sum(map(count_words, before)),
        sum(map(count_words, after)),
        is_cut,
    )


def _key(piece: str) -> bytes:
    return masked(piece.encode("utf-8", "replace"))


# pieces


def _passages(
    before: Sequence[str], after: Sequence[str], pairs: Sequence[tuple[int, int]], budget: Budget
) -> Iterator[Passage]:
    for (left, right), (next_left, next_right) in pairwise([(-1, -1), *pairs, (len(before), len(after))]):
        if right >= 0:
            yield _whole(RunStatus.KEPT, after[right])
        yield from _changed(before[left + 1 : next_left], after[right + 1 : next_right], budget)


def _changed(removed: Sequence[str], added: Sequence[str], budget: Budget) -> Iterator[Passage]:
    """The pieces between two unchanged pieces, before and now."""
    done = 0
    bags = [_bag(piece) for piece in added]
    for piece in removed:
        found = _other_version(_bag(piece), bags, done) if done < len(added) else None
        if found is None:
            yield _whole(RunStatus.REMOVED, piece)
            continue
        yield from (_whole(RunStatus.ADDED, each) for each in added[done:found])
        yield Passage(tuple(_edited(words_of(piece), words_of(added[found]), budget)))
        done = found + 1
    yield from (_whole(RunStatus.ADDED, each) for each in added[done:])


def _whole(mark: RunStatus, piece: str) -> Passage:
    return Passage((Run(mark, piece),))


def _bag(piece: str) -> Counter[str]:
    return Counter(word.strip().lower() for word in words_of(piece))


def _other_version(words: Counter[str], bags: Sequence[Counter[str]], start: int) -> int | None:
    """The index of the piece ahead that has nearly the same words."""
    best, found = _ALIKE, None
    for place in range(start, min(start + _WINDOW, len(bags))):
        other = bags[place]
        share = 2 * (words & other).total() / max(words.total() + other.total(), 1)
        if share > best or (share == best and found is None):
            best, found = share, place
    return found


def _around(passages: Sequence[Passage], context: int) -> Iterator[Passage]:
    """The passages that changed, and those around them."""
    shown = set[int]()
    for place, passage in enumerate(passages):
        if passage.is_changed:
            shown.update(range(max(0, place - context), min(len(passages), place + context + 1)))
    for place in sorted(shown):
        follows = place == 0 or place - 1 in shown
        yield Passage(passages[place].runs, follows)


# words


def _edited(before: Sequence[str], after: Sequence[str], budget: Budget) -> Iterator[Run]:
    keys = [word.strip() for word in before], [word.strip() for word in after]
    pairs = matches(*keys, budget)
    tokens: list[tuple[RunStatus, str]] = []
    for (left, right), (next_left, next_right) in pairwise([(-1, -1), *pairs, (len(before), len(after))]):
        if right >= 0:
            tokens.append((RunStatus.KEPT, after[right]))
        tokens += [(RunStatus.REMOVED, word) for word in before[left + 1 : next_left]]
        tokens += [(RunStatus.ADDED, word) for word in after[right + 1 : next_right]]
    return _joined(_without_chance(tokens))


def _without_chance(tokens: Sequence[tuple[RunStatus, str]]) -> list[tuple[RunStatus, str]]:
    """Merge a few unchanged words between larger changes into them: removed, and added again."""
    groups = [(is_kept, list(group)) for is_kept, group in groupby(tokens, lambda token: token[0] is RunStatus.KEPT)]
    sizes = [_count(group) for _, group in groups]
    for place in range(1, len(groups) - 1):
        is_kept, group = groups[place]
        if is_kept and sizes[place] <= _BY_CHANCE and sizes[place] < min(sizes[place - 1], sizes[place + 1]):
            words = [word for _, word in group]
            both = [*((RunStatus.REMOVED, word) for word in words), *((RunStatus.ADDED, word) for word in words)]
            groups[place] = (False, both)
    settled = []
    for is_kept, merged in groupby(groups, lambda group: group[0]):
        tokens = [token for _, group in merged for token in group]
        settled += tokens if is_kept else [*_with(RunStatus.REMOVED, tokens), *_with(RunStatus.ADDED, tokens)]
    return settled


def _count(tokens: Iterable[tuple[RunStatus, str]]) -> int:
    return sum(is_counted(word) for _, word in tokens)


def _with(mark: RunStatus, tokens: Iterable[tuple[RunStatus, str]]) -> list[tuple[RunStatus, str]]:
    return [token for token in tokens if token[0] is mark]


def _joined(tokens: Iterable[tuple[RunStatus, str]]) -> Iterator[Run]:
    for mark, group in groupby(tokens, lambda token: token[0]):
        yield Run(mark, "".join(word for _, word in group))
