"""The one loop that waits: take, fetch, keep, read, report.

What the scheduler lends goes to the wire. What comes back is written to the archive and noted in the journal before
anything else happens to it; then it is read, its rows go to the tables, its links to whoever wants them, and the
scheduler is told. Every second or so all of that is made durable together (`checkpoint`): first what is pointed to, the
archive and the rows, then the state that points. So whatever happens, every record is readable and nothing is counted
twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeGuard

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from periplus.model import (
    Batch,
    Clock,
    Discovery,
    Event,
    Fetched,
    FetchOutcome,
    NotModified,
    Page,
    Purpose,
    Redirected,
    State,
    Url,
)
from periplus.policy.refresh import DAY, Bid
from periplus.store import Archive
from periplus.store.tables import Tables

from .census import Census
from .clock import Pace, Ration
from .copies import Answer, Copies
from .courier import Courier
from .fetch import CurlWire
from .frontier import AddressClaims, ClaimsReport, Freshness, NextVisit
from .journal import BatchNote, FileNote, Journal, Note, with_body
from .reading import PageReader, redirection
from .scheduler import CrawlScheduler
from .sitemaps import Forester
from .tally import Counting, Tally
from .telling import changes, fetches_and_pages

log = logging.getLogger(__name__)

_PATIENCE = 0.5
"""The loop looks around at least so often, whatever it waits for."""
_READ_TOGETHER = 32
"""So many answers are read together."""
_GAINING = 50_000
"""When so many URLs have gained, the scheduler is told, whether there is a checkpoint or not."""


class EngineSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How often everything is made durable."""

    checkpoint_interval: float = 1.0
    """Seconds between two commits, at least."""
    checkpoint_share: float = 0.05
    """And so long that commits take no more than this share of the time..."""
    checkpoint_outcomes: int = 2_000
    """...but no later than after so many outcomes..."""
    checkpoint_rows: int = 50_000
    """...or so many changed rows of the state, which take memory until then."""


class Engine:
    """Runs one scheduler on one wire, at a pace."""

    def __init__(
        self,
        settings: EngineSettings,
        *,
        scheduler: CrawlScheduler,
        wire: CurlWire,
        archive: Archive,
        tables: Tables,
        events: Counting,
        state: State,
        journal: Journal,
        reader: PageReader,
        clock: Clock,
        courier: Courier,
        forester: Forester,
        warc_folder: Path,
        pace: Pace | Ration,
        speed: float = 1.0,
        claims: AddressClaims | None = None,
        next_visits: Callable[[], Sequence[NextVisit]] = tuple,
    ) -> None:
        self._settings = settings
        self._scheduler = scheduler
        self._wire = wire
        self._archive = archive
        self._tables = tables
        self._events = events
        self._state = state
        self._journal = journal
        self._reader = reader
        self._clock = clock
        self._courier = courier
        self._forester = forester
        self._warc_folder = warc_folder
        self._pace = pace
        self._speed = speed
        self._claims = claims
        self.next_visits = next_visits
        self.batch_numbers, self.collect, self.wake = courier.numbers, courier.collect, wire.wake
        self.set_address_shares = (AddressClaims(1) if claims is None else claims).update
        self._copies = Copies(state, scheduler.comparer, knows_worth=scheduler.learns)
        self._unread: dict[Url, FileNote] = {}
        self._commits = commits_of(state)
        self._uncommitted = 0
        self._commit_at = clock.now() + settings.checkpoint_interval
        self.is_stopping = False

    # the loop

    def step(self, patience: float = _PATIENCE) -> None:
        """One turn: start what may be started, wait a little for what ends, and handle it."""
        now = self._clock.now()
        is_full = self.is_stopping or self._forester.is_full or self._courier.is_full
        slots = 0 if is_full else min(self._wire.free_slots, self._pace.room(now))
        if slots:
            for task in self._scheduler.take(slots, now):
                if task.ip is not None and (self._pace.counts_robots or task.purpose is not Purpose.ROBOTS):
                    self._pace.begin(now)
                self._wire.start(task)
        notes = self._keep(self._wire.finished(self._time_to_wait(now, patience)))
        for task, chunk in self._wire.arrived():
            self._forester.arrived(task, chunk, self._clock.now())
        for start in range(0, len(notes), _READ_TOGETHER):
            self._handle_all(notes[start : start + _READ_TOGETHER])
        self._tend(self._clock.now())
        if self._is_checkpoint_due():
            self.checkpoint()

    def _tend(self, now: float) -> None:
        """Read on in files, and let queues have what they list. A file ends for the scheduler when it was read."""
        if self._scheduler.is_idle and not self._scheduler.is_satisfied:
            self._forester.sweep(now)
        for refused in self._scheduler.files.refused():
            self._forester.ended(refused, now)
        for outcome in self._forester.step(now):
            self._unread.pop(outcome.task.url, None)
            self._scheduler.report(outcome, now)
            self._uncommitted += 1
        self._uncommitted += self._forester.is_busy

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits and nothing is under way; or all that was allowed has been fetched."""
        if not self._scheduler.is_idle:
            return False
        return self._scheduler.is_satisfied or self._forester.is_idle(self._clock.now())

    def _time_to_wait(self, now: float, patience: float) -> float:
        if self._forester.is_busy:
            return 0.0
        if self.is_stopping or not self._wire.free_slots or self._courier.is_full:
            return patience
        next_at = self._scheduler.next_at if self._pace.room(now) else self._pace.next_at(now)
        return patience if next_at is None else min(max(next_at - now, 0.0) / self._speed, patience)

    def _keep(self, arrived: Sequence[FetchOutcome]) -> list[Note]:
        """Write what arrived to the archive, and note that it did."""
        notes = []
        now = self._clock.now()
        for outcome in arrived:
            stored = None
            if isinstance(outcome, Fetched | NotModified | Redirected):
                stored = self._archive.write(outcome, self._wire.request_bytes(outcome.task))
            notes.append(Note(outcome, now, stored, self._archive.end))
        self._journal.append(note for note in notes if not note.is_nothing)
        return notes

    def _handle_all(self, notes: Sequence[Note], *, is_read: bool = True) -> None:
        """Record what arrived, tell the scheduler, and pass on where it leads: now, or again after a crash.

        Each step is done for all of them before the next: what a step needs is then still in the processor's caches.
        """
        pages = self._read([note.outcome for note in notes if _is_page(note.outcome)]) if is_read else {}
        read = [pages.get(note.outcome.task.url) if _is_page(note.outcome) else None for note in notes]
        self._tell(fetches_and_pages(notes, read))
        answers = [Answer(note.outcome, note.at, page) for note, page in zip(notes, read, strict=True)]
        readings = self._copies.judge(answers)
        self._tell(changes(notes, readings))
        for note, reading in zip(notes, readings, strict=True):
            if is_read and _is_file(note.outcome):
                self._unread[note.outcome.task.url] = FileNote(note.outcome, note.at, note.stored)
                self._forester.read(note.outcome, note.at)
                continue
            self._events.tally.copies += reading is not None and reading.is_copy
            self._scheduler.report(note.outcome, note.at, reading)
        for note, page in zip(notes, read, strict=True):
            self._pass_on(note, page)
            self._tell_forester(note, page)
        self._uncommitted += len(notes)

    def _tell(self, events: Sequence[Event]) -> None:
        if events:
            self._events.record(events)

    def _pass_on(self, note: Note, page: Page | None) -> None:
        outcome = note.outcome
        found: list[Discovery] = []
        if isinstance(outcome, Redirected) and outcome.task.purpose is Purpose.PAGE:
            found = [redirection(outcome, self._scheduler.pass_on(outcome.task.url, 1))]
            if self._courier.redirected(outcome):
                self._forget_links()
        elif page is not None and self._scheduler.learns:
            share = partial(self._scheduler.pass_on, outcome.task.url)
            found = self._reader.learn(page, outcome.task.depth, note.at, share)
        elif page is not None:
            found = self._reader.links(page, outcome.task.depth, note.at)
        if found:
            self._courier.deliver(found, note.at)
        if page is not None:
            self._scheduler.refresher.linked(outcome.task.url, (link.url for link in page.links), note.at)
        if self._reader.gaining >= _GAINING:
            self._deliver_gains()

    def _tell_forester(self, note: Note, page: Page | None) -> None:
        """What an answer means for the files of its site."""
        task = note.outcome.task
        if task.purpose is Purpose.SITEMAP and task.url not in self._unread:
            self._forester.ended(note.outcome, note.at)
        elif task.purpose is Purpose.ROBOTS and task.ip is not None:
            self._forester.naming.robots(task, note.at)
        elif page is not None:
            self._forester.naming.linked(page, note.at)

    def _deliver_gains(self) -> None:
        """What links met lately have brought. Before every commit, so that it holds what all pages in it pass on."""
        if self._reader.gaining:
            now = self._clock.now()
            self._courier.deliver(self._reader.gains(now), now)

    def _forget_links(self) -> None:
        """Links met before may be wanted now; what they brought until now was nobody's."""
        self._deliver_gains()
        self._reader.forget()

    def _read(self, answers: Sequence[FetchOutcome]) -> dict[Url, Page]:
        """Reading never raises for what a page says; where it does, we have a bug, and the crawl goes on."""
        pages = [answer for answer in answers if isinstance(answer, Fetched)]
        try:
            return {answer.task.url: page for answer, page in zip(pages, self._reader.read(pages), strict=True)}
        except Exception:
            log.exception("%s could not be read", ", ".join(answer.task.url for answer in pages))
        return {} if len(pages) < 2 else {url: page for one in pages for url, page in self._read([one]).items()}

    # what others see

    def stats(self) -> tuple[Census, Tally]:
        """The frontier and the crawl in numbers."""
        return self._scheduler.census(), self._events.tally

    @property
    def is_quiet(self) -> bool:
        """Whether everything is committed, and every batch for other shards is acknowledged."""
        return self._courier.is_quiet and not self._uncommitted

    def claims_report(self) -> ClaimsReport | None:
        """Which addresses this shard sends requests to, if there are other shards."""
        return None if self._claims is None else self._claims.report()

    def freshness(self) -> Freshness | None:
        """How fresh the collection is, if it is watched."""
        return self._scheduler.refresher.freshness(self._clock.now())

    def bid(self) -> Bid | None:
        """What it says of its visits, if the collection is watched."""
        return self._scheduler.refresher.bid(self._clock.now())

    def set_page_budget(self, pages: int | None) -> None:
        """How many pages may be fetched in total; `None`: any number."""
        self._scheduler.allowance = pages

    def set_visit_budget(self, visits_per_day: float) -> None:
        """How many visits per day may be made from now on, in a watch."""
        if isinstance(self._pace, Ration):
            self._scheduler.refresher.afford(visits_per_day)
            self._pace.change(visits_per_day / DAY, self._clock.now())

    # what is kept

    def receive(self, batch: Batch) -> None:
        """A batch of another shard."""
        note = BatchNote(batch, self._clock.now())
        self._journal.append([note])
        self._take(batch, note.at)
        self._uncommitted += 1

    def _take(self, batch: Batch, at: float) -> None:
        found = self._courier.take(batch)
        self._forester.naming.received(found, at)
        self._scheduler.discover(found, at)

    def discover(self, discoveries: Sequence[Discovery]) -> None:
        """What somebody tells us of; durable at once."""
        now = self._clock.now()
        self._forester.naming.received(discoveries, now)
        self._courier.deliver(discoveries, now)
        self.checkpoint()

    def submit(self) -> None:
        """Have the files fetched that a person has named."""
        self._forester.naming.submit(self._clock.now())
        self._uncommitted += 1

    def extend_scope(self, places: Sequence[Url]) -> None:
        """Add URLs that seeds have moved to. Durable at once: what is noted later was judged with them."""
        if self._courier.widen(places):
            self._forget_links()
            self.checkpoint()

    def acknowledged(self, receiver: int, number: int) -> None:
        """Another shard has a batch, and all before it."""
        self._courier.acknowledged(receiver, number)
        self._uncommitted += 1

    def recover(self) -> int:
        """Go through what had arrived but was not committed when the last process ended; how much that was."""
        recovered = 0
        deadly = self._journal.deadly(self._commits)
        for index, note in enumerate(self._journal.read(self._commits)):
            self._journal.trying(self._commits, index)
            if isinstance(note, BatchNote):
                self._take(note.batch, note.at)
            elif isinstance(note, FileNote):
                recovered += self._read_again(note, is_read=index not in deadly)
            else:
                recovered += self._recover(note, is_read=index not in deadly)
            self._read_up(note.at)
        self._scheduler.resumed()
        if recovered:
            self._journal.trying(self._commits, None)
        self.checkpoint()
        return recovered

    def _read_up(self, now: float) -> None:
        """Read all files that are here to their end: what was noted next may be of pages that they list."""
        self._tend(now)
        while self._forester.is_reading:
            self._tend(now)

    def _recover(self, note: Note, *, is_read: bool) -> bool:
        outcome, record = with_body(note, self._warc_folder)
        if isinstance(outcome, Fetched | Redirected) and record:
            self._archive.recall(outcome, record)
        if outcome.task.purpose is not Purpose.ROBOTS:
            self._scheduler.decide_again(outcome.task.site, note.at)
            self._read_up(note.at)
        if not self._scheduler.resume(outcome.task, note.at):
            return False
        if not is_read:
            log.error("%s is kept but not read: processes that read it died", outcome.task.url)
        self._handle_all([replace(note, outcome=outcome)], is_read=is_read)
        return True

    def _read_again(self, note: FileNote, *, is_read: bool) -> bool:
        outcome, _ = with_body(note, self._warc_folder)
        if not isinstance(outcome, Fetched) or not self._scheduler.resume(outcome.task, note.at):
            return False
        if is_read:
            self._unread[outcome.task.url] = replace(note, outcome=outcome)
            self._forester.read(outcome, note.at)
        else:
            log.error("%s is kept but not read: processes that read it died", outcome.task.url)
            self._scheduler.report(outcome, note.at)
            self._forester.ended(outcome, note.at)
        return True

    def _is_checkpoint_due(self) -> bool:
        now = self._clock.now()
        if self._uncommitted == 0:
            self._commit_at = max(self._commit_at, now + self._settings.checkpoint_interval / 2)
            return False
        are_many = self._uncommitted >= self._settings.checkpoint_outcomes
        return now >= self._commit_at or are_many or self._state.uncommitted >= self._settings.checkpoint_rows

    def checkpoint(self, *, is_last: bool = False) -> None:
        """Make everything durable up to here: what is pointed to first, then what points."""
        began_at = self._clock.now()
        self._deliver_gains()
        self._archive.sync()
        mark = self._tables.settle() if is_last else self._tables.checkpoint()
        self._scheduler.save()
        self._commits += 1
        self._courier.before_commit()
        self._state.mark("tables", mark)
        self._state.mark("archive", msgspec.msgpack.encode(self._archive.end))
        self._state.mark("tally", self._events.tally.encoded())
        self._state.mark("pages", self._scheduler.pages_done.to_bytes(8, "big"))
        self._state.mark("commits", self._commits.to_bytes(8, "big"))
        self._journal.prepare(self._commits, list(self._unread.values()))
        self._state.commit()
        self._journal.begin(self._commits)
        self._courier.after_commit()
        self._uncommitted = 0
        now = self._clock.now()
        wait = (now - began_at) / self._settings.checkpoint_share
        self._commit_at = now + max(self._settings.checkpoint_interval, wait)

    def stop(self, grace: float) -> None:
        """Start nothing more, wait for what is under way as long as `grace` says, and make everything durable."""
        self.is_stopping = True
        until = self._clock.now() + grace
        while self._wire.under_way and self._clock.now() < until:
            self.step(min(_PATIENCE, until - self._clock.now()))
        self._wire.cancel_all()
        self.step(0.0)
        self.checkpoint(is_last=True)

    def close(self) -> None:
        """Let go of the wire and of every file."""
        self._forester.close()
        self._wire.close()
        self._archive.close()
        self._journal.close()
        self._tables.close()
        self._state.close()


def commits_of(state: State) -> int:
    """How often a state was committed by an engine."""
    return int.from_bytes(state.marked("commits") or b"", "big")


def _is_page(outcome: FetchOutcome) -> bool:
    """Whether there is a page to be read."""
    return isinstance(outcome, Fetched) and outcome.task.purpose is Purpose.PAGE and 200 <= outcome.status < 300


def _is_file(outcome: FetchOutcome) -> TypeGuard[Fetched]:
    """Whether there is a file to be read: it is over when that is done."""
    return isinstance(outcome, Fetched) and outcome.task.purpose is Purpose.SITEMAP and outcome.status == 200
