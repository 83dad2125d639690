"""Shards of one crawl that take turns in this process, their coordinator, and what they report as defects."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from tests.faults.disk import Crashed
from tests.faults.shards import End, Pipe, Team

from periplus.engine import standstill
from periplus.engine.sharding.messages import ShardStopped
from periplus.engine.sharding.processes import ProcessTeam
from periplus.engine.sharding.worker import ShardWorker
from periplus.model import Discovery

if TYPE_CHECKING:
    from tests.meeting.crawls import Meeting

_TURN: Final = 5.0
"""Seconds that a shard waits at a time."""
_REPORT_EVERY: Final = 2.0
"""Seconds between two reports of a shard to the coordinator."""


class Complaints(logging.Handler):
    """What the crawl itself reports as a defect: it repairs a standstill, and nothing else would show that."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Listen meanwhile."""
        log = logging.getLogger(standstill.__name__)
        log.addHandler(self)
        try:
            yield
        finally:
            log.removeHandler(self)


class InnerWorker:
    """A shard of a team, its end of the pipe, and the worker that handles its messages."""

    def __init__(self, run: Meeting, number: int, count: int, seeds: Sequence[Discovery], end: End) -> None:
        self.number, self.end, self._run, self._report_at = number, end, run, 0.0
        self.shard = run.make(number, count)
        self.worker = ShardWorker(self.shard, seeds, end.send)

    def turn(self) -> bool:
        """Handle what has arrived and take a step; whether it goes on."""
        while self.worker.grace is None and self.end.poll():
            self.worker.handle(self.end.recv())
        if self.worker.grace is not None:
            self.shard.stop(self.worker.grace)
            self.end.send(ShardStopped(self.shard.status()))
            self.shard.close()
            self._run.closed(self.number)
            return False
        self.shard.step(self._run.time_to_next(_TURN))
        self.worker.post_output()
        if self._run.true.at >= self._report_at:
            self._report_at = self._run.true.at + _REPORT_EVERY
            self.worker.post_status()
        return True


class InnerTeam(Team):
    """The coordinator with its shards in this process."""

    def __init__(self, run: Meeting, workers: int, limit: int | None) -> None:
        ProcessTeam.__init__(self, cast("Any", None), workers, limit)
        self.run_ = run

    def _spawn(self, number: int) -> Any:
        down, up = (Pipe(self.run_.true, self.run_.chance) for _ in range(2))
        worker = InnerWorker.__new__(InnerWorker)
        here = End(up, down)
        try:
            worker.__init__(self.run_, number, len(self._workers), self._seeds[number], End(down, up))  # type: ignore[misc]
            self.run_.workers[number] = worker
        except Crashed:
            here.close()
        return here, _Gone()

    def poll(self, timeout: float) -> None:
        for number, worker in list(self.run_.workers.items()):
            try:
                if not worker.turn():
                    del self.run_.workers[number]
            except Crashed:
                self.run_.story.append(f"  shard {number} died at {self.run_.hours:.2f} h")
                del self.run_.workers[number]
                worker.end.close()
                self.forgive()
        self.run_.true.at += 0.001
        super().poll(timeout)


class _Gone:
    """In place of a process: the shard lives in this one."""

    def join(self, timeout: float | None = None) -> None: ...

    def is_alive(self) -> bool:
        return False
