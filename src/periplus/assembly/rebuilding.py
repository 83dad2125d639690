"""Rebuilds what a shard knows, and its rows, by giving archived answers to its state machine.

The machine learns from an archived answer as from one that has just arrived (`Adopted`): the record of its URL, links,
robots.txt files, sitemaps, near-duplicates, counts, the calendar of revisits. So there is one way from answers to
states and rows, the one that crawls. The shard reads all archives of the collection, in the order of time: pages of
other shards link to its own sites, and sites may have moved to it when the number of shards changed.

What left no answer is not rebuilt: failed requests, DNS lookups, sites that were given up because they did not answer,
pings, the price of a watch, and shares of addresses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from periplus.crawl.engine import ANSWERS_PER_INPUT
from periplus.crawl.inputs import (
    Adopted,
    AdoptionEnded,
    Answer,
    Discovered,
    Emit,
    Flushed,
    Input,
    SitemapsSubmitted,
    Tick,
)
from periplus.crawl.machine import Machine
from periplus.crawl.sitemaps import UnfinishedFile
from periplus.model import (
    Discovery,
    Event,
    Excluded,
    Fetched,
    FetchEnded,
    FetchTask,
    SitemapEntriesRead,
    SitemapRead,
    SitemapVisited,
    Url,
)
from periplus.store import WarcEnd
from periplus.store.warc import ArchivedAnswer, archived_answers

from .layout import Layout
from .missing_rows import AnswerTimes, MissingRows

_BETWEEN_CHECKPOINTS: Final = 2_000
"""Answers between two checkpoints, as in a crawl: bounds what is held in memory."""


class Applied(NamedTuple):
    """An archived answer, when it was applied, and whether this shard archived it."""

    at: float
    is_counted: bool
    answer: ArchivedAnswer


def answers_of(
    layout: Layout, ends: Mapping[int, WarcEnd], times: AnswerTimes, *, shard: int, shards: int
) -> Iterator[Applied]:
    """The answers of these archives up to their ends, in the order of time.

    What shards that were removed have archived counts for the first shard, which has inherited their counts.
    """

    def archived(number: int, end: WarcEnd) -> Iterator[Applied]:
        is_own = number == shard
        is_counted = is_own or (shard == 0 and number >= shards)
        for answer in archived_answers(layout.warc, number, until=end):
            outcome = answer.outcome
            at = times.applied_at(outcome, answer.stored) if is_own else outcome.started_at + outcome.duration
            yield Applied(at, is_counted, answer)

    return merge(*(archived(number, end) for number, end in ends.items() if end.file), key=itemgetter(0))


class Rebuild:
    """Applies answers to a machine. `rows` takes the events; `checkpoint` makes durable what was done so far.

    Of a shard with a whole state only rows are wanted, and only those that it had recorded: `unfinished` are sitemaps
    that it has half read, whose entries it reports when it reads on; `was_refused` whether it had refused a URL.
    """

    def __init__(
        self,
        machine: Machine,
        rows: MissingRows,
        checkpoint: Callable[[], None],
        unfinished: Sequence[UnfinishedFile] = (),
        was_refused: Callable[[FetchTask], bool] = lambda _task: True,
    ) -> None:
        self._machine = machine
        self._rows = rows
        self._checkpoint = checkpoint
        self._unfinished = {(file.stored.file, file.stored.offset) for file in unfinished if file.stored is not None}
        self._was_refused = was_refused
        self._silent: set[Url] = set()
        self.adopted = 0
        """Answers applied so far."""

    def run(self, seeds: Callable[[float], Sequence[Discovery]], answers: Iterable[Applied]) -> None:
        """Begin with `seeds`, which are given the time of the first answer, and apply all answers."""
        at, is_counted = 0.0, False
        for inputs in _inputs(answers):
            if not self.adopted:
                self._begin(seeds, inputs.at)
            at, is_counted = inputs.at, is_counted or inputs.is_counted
            self._note_unfinished(inputs)
            self._apply(inputs)
            self.adopted += len(inputs.answers)
            if self.adopted % _BETWEEN_CHECKPOINTS < len(inputs.answers):
                self._checkpoint()
        if not self.adopted:
            at = time.time()
            self._begin(seeds, at)
        self._apply(AdoptionEnded(at, is_counted))
        self._apply(Flushed(at))

    def _begin(self, seeds: Callable[[float], Sequence[Discovery]], at: float) -> None:
        self._apply(Discovered(tuple(seeds(at)), at))
        self._apply(SitemapsSubmitted(at))

    def _apply(self, given: Input) -> None:
        """Apply an input, then read sitemaps and fill queues as long as there is something to do."""
        self._emit(given)
        while self._machine.wants_tick(given.at):
            self._emit(Tick(given.at))

    def _emit(self, given: Input) -> None:
        for effect in self._machine.apply(given):
            if isinstance(effect, Emit):
                self._rows.add([event for event in effect.events if not self._is_silent(event)])

    def _note_unfinished(self, given: Adopted) -> None:
        for answer in given.answers:
            if answer.stored is not None and (answer.stored.file, answer.stored.offset) in self._unfinished:
                self._silent.add(answer.outcome.task.url)

    def _is_silent(self, event: Event) -> bool:
        match event:
            case SitemapEntriesRead(url=url) | SitemapRead(url=url) | SitemapVisited(url=url):
                return url in self._silent
            case FetchEnded(outcome=Excluded(task=task)):
                return not self._was_refused(task)
        return False


def _inputs(answers: Iterable[Applied]) -> Iterator[Adopted]:
    """Answers that were applied together, as far as that is known; of each URL one."""
    for (at, is_counted), some in groupby(answers, itemgetter(0, 1)):
        together: dict[Url, Answer] = {}
        for each in some:
            url = each.answer.outcome.task.url
            if url in together or len(together) >= ANSWERS_PER_INPUT:
                yield Adopted(tuple(together.values()), at, is_counted)
                together = {}
            together[url] = _answer(each.answer)
        yield Adopted(tuple(together.values()), at, is_counted)


def _answer(archived: ArchivedAnswer) -> Answer:
    """As an input has it. A body that cannot be found any more is not read as an empty one."""
    outcome = archived.outcome
    is_lost = isinstance(outcome, Fetched) and outcome.is_truncated and not outcome.body
    return Answer(outcome, archived.stored, archived.payload, is_read=not is_lost)
