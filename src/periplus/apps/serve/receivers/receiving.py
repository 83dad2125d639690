"""All receivers of a server, and what happens in the background: keys are checked, hubs are asked."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock, Thread
from typing import Final, ParamSpec
from weakref import WeakKeyDictionary

from periplus.model import PeriplusError

from ..served import Served
from .intake import Intake, MessageCounts, MessageKind, Result, SenderLimits
from .keys import IndexNowReceiver
from .reports import ReportReceiver
from .websub import Subscriber, Subscription, WebSubReceiver

log = logging.getLogger("periplus.web")

TICK: Final = 0.25
"""Seconds between two looks for what is due: how long a new key waits at most, where nothing else does."""
_THREADS: Final = 4
"""Requests to other servers at a time; one that does not answer holds a thread for the timeout of the wire."""


P = ParamSpec("P")


class Receivers:
    """The receivers of a server, for the collections that are to have them. `is_open`: whether there are any."""

    def __init__(self, served: Served) -> None:
        chosen = [
            each
            for each in served.collections.values()
            if served.settings.receive or each.collection.config.receivers.enabled
        ]
        self._intakes = [Intake(each) for each in chosen]
        settings = [intake.settings for intake in self._intakes]
        self.is_open = bool(chosen)
        self.counts = MessageCounts(self._intakes[0].counters if self._intakes else None)
        self.limits = SenderLimits(
            max((each.messages_per_second for each in settings), default=1.0),
            max((each.urls_per_hour for each in settings), default=1),
        )
        self.large_bodies = 0
        self._subscribers = [
            Subscriber(intake, intake.settings.public_url or served.settings.public_url) for intake in self._intakes
        ]
        self.indexnow = IndexNowReceiver(self._intakes, self.limits, self.counts)
        self.websub = WebSubReceiver(self._subscribers, self.limits, self.counts)
        self.reports = ReportReceiver(self._intakes, self.limits, self.counts)
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="periplus-receivers")
        self._stopping = Event()
        self._thread: Thread | None = None

    @property
    def waiting(self) -> dict[str, int]:
        """URLs in the inbox of each collection, by its name."""
        return {intake.name: len(intake.inbox) for intake in self._intakes}

    def start(self) -> None:
        """Begin to check keys and to ask hubs."""
        if self.is_open and self._thread is None:
            self._thread = Thread(target=self._run, name="periplus-receivers", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End what happens in the background. Messages are on the disk: the next server continues."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for intake in self._intakes:
            intake.close()

    def _run(self) -> None:
        while not self._stopping.wait(TICK):
            self._begin_due()

    def _begin_due(self) -> None:
        for claim in self.indexnow.due_claims():
            self._pool.submit(_logged, self.indexnow.check, claim)
        for subscriber in self._subscribers:
            if subscriber.is_look_due(time.monotonic()):
                self._pool.submit(_logged, subscriber.look)
            if subscriber.is_asking:
                for subscription in subscriber.subscriptions.take_due(time.time()):
                    self._pool.submit(_logged, self._ask, subscriber, subscription)

    def _ask(self, subscriber: Subscriber, subscription: Subscription) -> None:
        if not subscriber.ask(subscription):
            self.counts.add(MessageKind.WEBSUB, Result.REFUSED, subscriber.intake.counters)


def _logged(job: Callable[P, object], *arguments: P.args, **named: P.kwargs) -> None:
    """Run a job in a thread; an error goes to the log."""
    try:
        job(*arguments, **named)
    except PeriplusError as error:
        log.warning("%s; %s", error, error.hint)
    except Exception:
        log.exception("a job of the receivers failed")


_RECEIVERS: WeakKeyDictionary[Served, Receivers] = WeakKeyDictionary()
_LOCK = Lock()


def receivers_of(served: Served) -> Receivers:
    """The receivers of a server; made when they are first asked for."""
    with _LOCK:
        if served not in _RECEIVERS:
            _RECEIVERS[served] = Receivers(served)
        return _RECEIVERS[served]
