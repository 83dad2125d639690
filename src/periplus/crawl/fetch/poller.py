"""Waiting for sockets: what libcurl watches, and a way to end the wait from elsewhere.

libcurl names the sockets that it wants watched and the time when it wants to be called (`CURLMOPT_SOCKETFUNCTION`,
`CURLMOPT_TIMERFUNCTION`). The work of a turn then depends on the sockets where something happened, not on how many
there are, and there is no limit of 1,024 as with `select`.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from typing import Any, Final

import pycurl

_READ: Final = selectors.EVENT_READ
_WRITE: Final = selectors.EVENT_WRITE


class Poller:
    """Drives one `CurlMulti`. Nothing here knows what the transfers are about."""

    def __init__(self, multi: Any) -> None:
        self._multi = multi
        self._selector = selectors.DefaultSelector()
        self._bell, self._button = os.pipe()
        os.set_blocking(self._bell, False)
        os.set_blocking(self._button, False)
        self._selector.register(self._bell, _READ)
        self._call_at: float | None = None
        multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)

    def wake(self) -> None:
        """End the wait that is under way, or else the next. May be called from any thread and any signal handler."""
        with contextlib.suppress(BlockingIOError):  # it rings already
            os.write(self._button, b"\0")

    def turn(self, until: float) -> bool:
        """Wait till something happens, until a time of `time.monotonic` at most, and see to it. `True`: woken."""
        if self._call_at is not None:
            until = min(until, self._call_at)
        woken = False
        act = self._multi.socket_action
        for key, events in self._selector.select(max(0.0, until - time.monotonic())):
            if key.fd == self._bell:
                woken = True
                self._silence()
            else:
                act(key.fd, events)  # libcurl's bits for "readable" and "writable" are the selector's
        if self._call_at is not None and self._call_at <= time.monotonic():
            self._call_at = None
            act(pycurl.SOCKET_TIMEOUT, 0)
        return woken

    def close(self) -> None:
        """Let go of everything. The multi must be closed before."""
        self._selector.close()
        os.close(self._bell)
        os.close(self._button)

    def _silence(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._bell, 4096):
                pass

    def _set_timer(self, milliseconds: int) -> None:
        self._call_at = None if milliseconds < 0 else time.monotonic() + milliseconds / 1000

    def _watch(self, what: int, fd: int, _multi: object, _data: object) -> None:
        if what == pycurl.POLL_REMOVE:
            with contextlib.suppress(KeyError, OSError):
                self._selector.unregister(fd)
            return
        events = what & (_READ | _WRITE)
        try:
            self._selector.modify(fd, events)
        except KeyError:
            self._selector.register(fd, events)
