"""Acting out a stream of actions on a connection: as fast as the client reads, no faster, and fair to the others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from .hostile import Action, Reset, Wait

IN_A_ROW = 8
"""After this many pieces the other connections have their turn."""


class Player:
    """Plays one script or one streamed body; `on_end(was_reset)` is called once, unless it is stopped before."""

    def __init__(
        self,
        actions: Iterator[Action],
        send: Callable[[bytes], None],
        on_end: Callable[[bool], None],
        *,
        pace: float = 1.0,
    ) -> None:
        """`pace` scales every wait: 0.01 makes a test a hundred times as quick."""
        self._actions = actions
        self._send = send
        self._on_end = on_end
        self._pace = pace
        self._loop = asyncio.get_running_loop()
        self._next: asyncio.Handle | None = None
        self._is_held = False

    def start(self) -> None:
        """Begin, or go on."""
        self._next = None
        for _ in range(IN_A_ROW):
            if self._is_held:
                return
            match self._next_action():
                case bytes() as piece:
                    self._send(piece)
                case Wait(seconds):
                    self._next = self._loop.call_later(seconds * self._pace, self.start)
                    return
                case Reset():
                    self._on_end(True)
                    return
                case None:
                    self._on_end(False)
                    return
        self._next = self._loop.call_soon(self.start)

    def _next_action(self) -> Action | None:
        """The next action. A bug of ours in a script is a reset, so that the client does not wait."""
        try:
            return next(self._actions, None)
        except Exception as error:
            self._loop.call_exception_handler({"message": "a script of the lab failed", "exception": error})
            return Reset()

    def hold(self) -> None:
        """The client does not keep up: send nothing more for now."""
        self._is_held = True

    def release(self) -> None:
        """The client has caught up."""
        self._is_held = False
        if self._next is None:
            self._next = self._loop.call_soon(self.start)

    def stop(self) -> None:
        """The client has left: nothing more, not even `on_end`."""
        self._is_held = True
        if self._next:
            self._next.cancel()
            self._next = None
