"""Waits for libcurl's sockets, and lets other threads end the wait.

libcurl reports the sockets to watch and the time of its next timeout (`CURLMOPT_SOCKETFUNCTION`,
`CURLMOPT_TIMERFUNCTION`). The cost of a turn then depends on the number of sockets with events, not on the number of
open sockets, and there is no limit of 1,024 as with `select`.

Between two turns the program does other work, and what arrives meanwhile waits. That time is not the servers': the
poller keeps how long it has waited in all, and when what it handles has arrived. After other work of more than
`_BUSY` it asks the system, which knows for each TCP connection when the last data came (`TCP_INFO`, Linux).
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import pycurl

_REMOVE: Final = pycurl.POLL_REMOVE
_IN: Final = select.POLLIN
_OUT: Final = select.POLLOUT
_WANTED: Final = {pycurl.POLL_NONE: 0, pycurl.POLL_IN: _IN, pycurl.POLL_OUT: _OUT, pycurl.POLL_INOUT: _IN | _OUT}
_BUSY: Final = 0.005
"""Seconds of other work below which what is ready has not waited; of waiting beyond which none was ready."""
_LAST_DATA_RECEIVED: Final = 52
"""Where `struct tcp_info` has the milliseconds since the last data was received."""
_TICK: Final = 0.01
"""Seconds by which that may be too much: the system counts in ticks of its clock."""


class Poller:
    """Drives one `CurlMulti`, whatever its transfers are. `on_end` is called when some of them have ended.

    `transfers` is how many the multi has, those that have ended included; the caller counts them. `waited` is how many
    seconds the poller has waited for sockets, `arrived_at` when the event that is being handled came, by
    `time.monotonic`, if it had to wait for other work; infinite if not.

    libcurl starts and stops to watch a connection with every request. To stop costs a system call that the next request
    nearly always reverses, so a socket is only unregistered when it has an event that no transfer waits for.
    """

    def __init__(self, multi: Any, on_end: Callable[[], None]) -> None:
        self._multi = multi
        self._on_end = on_end
        self.transfers = 0
        self.waited = 0.0
        self.arrived_at = math.inf
        self._polled_at = time.monotonic()
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
        begun_at, polled_before = time.monotonic(), self._polled_at
        ready = self._sockets.poll(max(0.0, until - begun_at))
        self._polled_at = now = time.monotonic()
        self.waited += now - begun_at
        is_late = begun_at - polled_before > _BUSY > now - begun_at
        for fd, events in ready:
            if fd in self._watched:
                self.arrived_at = max(now - _age(fd), polled_before) if is_late else math.inf
                self._act(fd, _bits(events))
            elif fd == self._wake_read:
                woken = True
                self._drain_wakes()
            else:
                self._unregister(fd)
        if self._call_at is not None and self._call_at <= time.monotonic():
            self._call_at = None
            self.arrived_at = math.inf
            self._act(pycurl.SOCKET_TIMEOUT, 0)
        return woken

    def _act(self, fd: int, bits: int) -> None:
        _, running = self._multi.socket_action(fd, bits)
        if running < self.transfers:
            self._on_end()

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


def _age(fd: int) -> float:
    """Seconds since the last data came over a TCP connection, at least; 0 if the system does not know."""
    try:
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fd)
    except OSError:
        return 0.0
    try:
        known = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_DATA_RECEIVED + 4)
    except (OSError, AttributeError):  # not TCP, or not Linux
        return 0.0
    finally:
        connection.detach()
    return max(int.from_bytes(known[_LAST_DATA_RECEIVED:], sys.byteorder) / 1000 - _TICK, 0.0)


def _bits(events: int) -> int:
    """Events as libcurl's flags; after an error or a hang-up it reads, and finds out."""
    ready = 0
    if events & ~_OUT:
        ready |= pycurl.CSELECT_IN
    if events & _OUT:
        ready |= pycurl.CSELECT_OUT
    return ready
