"""Waiting for sockets: what libcurl watches, and a way to end the wait from elsewhere.

libcurl names the sockets that it wants watched and the time when it wants to be called (`CURLMOPT_SOCKETFUNCTION`,
`CURLMOPT_TIMERFUNCTION`). The work of a turn then depends on the sockets where something happened, not on how many
there are, and there is no limit of 1,024 as with `select`.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import time
from typing import Any, Final

import pycurl

_REMOVE: Final = pycurl.POLL_REMOVE
_IN: Final = select.POLLIN
_OUT: Final = select.POLLOUT
_WANTED: Final = {pycurl.POLL_NONE: 0, pycurl.POLL_IN: _IN, pycurl.POLL_OUT: _OUT, pycurl.POLL_INOUT: _IN | _OUT}


class Poller:
    """Drives one `CurlMulti`. Nothing here knows what the transfers are about.

    A connection is watched and let go with every request. Letting go costs a system call that is nearly always undone
    by the next request on it, so it is put off until something happens on the socket that nobody waits for.
    """

    def __init__(self, multi: Any) -> None:
        self._multi = multi
        self._sockets = select.epoll() if hasattr(select, "epoll") else _Poll()
        self._bell, self._button = os.pipe()
        os.set_blocking(self._bell, False)
        os.set_blocking(self._button, False)
        self._sockets.register(self._bell, _IN)
        self._watched: set[int] = set()
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
        for fd, events in self._sockets.poll(max(0.0, until - time.monotonic())):
            if fd in self._watched:
                self._multi.socket_action(fd, _bits(events))
            elif fd == self._bell:
                woken = True
                self._silence()
            else:
                self._let_go(fd)
        if self._call_at is not None and self._call_at <= time.monotonic():
            self._call_at = None
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        return woken

    def close(self) -> None:
        """Let go of everything. The multi must be closed before."""
        self._sockets.close()
        button, self._button = self._button, -1  # a late ring must not reach whoever gets the number next
        os.close(self._bell)
        os.close(button)

    def _silence(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._bell, 4096):
                pass

    def _set_timer(self, milliseconds: int) -> None:
        self._call_at = None if milliseconds < 0 else time.monotonic() + milliseconds / 1000

    def _watch(self, what: int, fd: int, _multi: object, _data: object) -> None:
        if what == _REMOVE:
            self._watched.discard(fd)
            return
        self._watched.add(fd)
        try:
            self._sockets.modify(fd, _WANTED[what])
        except FileNotFoundError:
            self._sockets.register(fd, _WANTED[what])

    def _let_go(self, fd: int) -> None:
        with contextlib.suppress(OSError, KeyError):  # it is closed, and so forgotten, already
            self._sockets.unregister(fd)


class _Poll:
    """`select.poll` with the manners of `select.epoll`, for systems that have no such thing."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self.register = self._poll.register
        self.modify = self._poll.modify
        self.unregister = self._poll.unregister

    def poll(self, timeout: float) -> list[tuple[int, int]]:
        """What happened within so many seconds."""
        return self._poll.poll(math.ceil(timeout * 1000))

    def close(self) -> None:
        """Nothing is held."""


def _bits(events: int) -> int:
    """What happened, in libcurl's words; an error or a hang-up lets it read and find out."""
    ready = 0
    if events & ~_OUT:
        ready |= pycurl.CSELECT_IN
    if events & _OUT:
        ready |= pycurl.CSELECT_OUT
    return ready
