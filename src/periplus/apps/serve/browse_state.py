"""The committed state of a collection, read without disturbing its crawl.

State is read as `periplus info` reads it: LMDB is opened read-only, a snapshot of the last commit is looked at, and it
is closed again, so that no page is kept from reuse for longer than a request takes. Threads of this process share what
LMDB has open (`store.state.files`). If a crawl of this very process has it open for writing, LMDB does not allow a
second opening here: then a process of our own reads it, which is started once and stays.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

from periplus.collection.collection import CollectionSetup
from periplus.model import CollectionInUse
from periplus.store.tables import Spooled

_P = ParamSpec("_P")
_T = TypeVar("_T")
_PATIENCE = 25.0
"""Seconds to wait for the other process, whose first answer needs a new interpreter."""
_AGAIN = "Reload the page in a moment."
_HERE = "open in this process"
"""The error of `store.state` for a state that a crawl of this process writes."""


def read_state(read: Callable[_P, _T], *arguments: _P.args, **options: _P.kwargs) -> _T:
    """Call a function of a module that reads committed state, here or in a process that may."""
    try:
        return read(*arguments, **options)
    except CollectionInUse as error:
        if _HERE not in str(error):
            raise
    return _READER.call(read, *arguments, **options)


def spooled_of(collection: CollectionSetup) -> tuple[Spooled, ...]:
    """How far each shard has committed its rows."""
    return collection.layout.spooled


class _ReaderProcess:
    """One process that reads for this one; started when it is first needed, and again if it dies."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None

    def call(self, read: Callable[_P, _T], *arguments: _P.args, **options: _P.kwargs) -> _T:
        """Call a function there."""
        try:
            return self._started().submit(read, *arguments, **options).result(_PATIENCE)
        except BrokenProcessPool as error:
            self.close()
            raise CollectionInUse("The process that reads this collection has ended.", hint=_AGAIN) from error
        except TimeoutError as error:
            raise CollectionInUse("The process that reads this collection is starting.", hint=_AGAIN) from error

    def _started(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
            return self._pool

    def close(self) -> None:
        """End the process."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)


_READER = _ReaderProcess()


def close_reader() -> None:
    """End the process that reads for this one, if there is one."""
    _READER.close()
