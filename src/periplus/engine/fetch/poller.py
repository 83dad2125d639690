"""Waits for libcurl's sockets, and lets other threads end the wait.

libcurl reports the sockets to watch and the time of its next timeout (`CURLMOPT_SOCKETFUNCTION`,
`CURLMOPT_TIMERFUNCTION`). The cost of a turn then depends on the number of sockets with events, not on the number of
open sockets, and there is no limit of 1,024 as with `select`.
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
    """Drives one `CurlMulti`, whatever its transfers are.

    libcurl starts and stops to watch a connection with every request. To stop costs a system call that the next request
    nearly always reverses, so a socket is only unregistered when it has an event that no transfer waits for.
    """

    def __init__(self, multi: Any) -> None:
        self._multi = multi
        self._sockets = select.epoll() if hasattr(select, "epoll") else _Poll()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._sockets.register(self._wake_read, _IN)
        self._watched: set[int] = set()
        self._call_at: float | None = None
        multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)

    def wake(self) -> None:
        """End the current wait, or else the next one. May be called from any thread and any signal handler."""
        with contextlib.suppress(BlockingIOError):  # the pipe is full, so the wait ends anyway
            os.write(self._wake_write, b"\0")

    def turn(self, until: float) -> bool:
        """Wait for events, at most until a time of `time.monotonic`, and handle them. Returns `True` after `wake`."""
        if self._call_at is not None:
            until = min(until, self._call_at)
        woken = False
        for fd, events in self._sockets.poll(max(0.0, until - time.monotonic())):
            if fd in self._watched:
                self._multi.socket_action(fd, _bits(events))
            elif fd == self._wake_read:
                woken = True
                self._drain_wakes()
            else:
                self._unregister(fd)
        if self._call_at is not None and self._call_at <= time.monotonic():
            self._call_at = None
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        return woken

    def close(self) -> None:
        """Close everything. The multi must be closed before."""
        self._sockets.close()
        wake_write, self._wake_write = self._wake_write, -1  # a late `wake` must not write to a reused descriptor
        os.close(self._wake_read)
        os.close(wake_write)

    def _drain_wakes(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._wake_read, 4096):
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

    def _unregister(self, fd: int) -> None:
        with contextlib.suppress(OSError, KeyError):  # it is closed, and so unregistered, already
            self._sockets.unregister(fd)


class _Poll:
    """`select.poll` with the interface of `select.epoll`, for systems without epoll."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self.register = self._poll.register
        self.modify = self._poll.modify
        self.unregister = self._poll.unregister

    def poll(self, timeout: float) -> list[tuple[int, int]]:
        """Events within `timeout` seconds."""
        return self._poll.poll(math.ceil(timeout * 1000))

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def _bits(events: int) -> int:
    """Events as libcurl's flags; after an error or a hang-up it reads, and finds out."""
    ready = 0
    if events & ~_OUT:
        ready |= pycurl.CSELECT_IN
    if events & _OUT:
        ready |= pycurl.CSELECT_OUT
    return ready
