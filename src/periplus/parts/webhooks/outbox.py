"""The queue of messages: a file for each message and receiver, in the folder `webhooks` of a collection.

A file is written whole before the first attempt and removed after the answer that accepts it, so a killed process loses
nothing. The number of files and the attempts of each are bounded.
"""

from __future__ import annotations

import logging
import secrets
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from periplus.store.durable import write_file

log = logging.getLogger(__name__)

MAX_WAITING: Final = 1_000
"""Messages that wait at most; the oldest are dropped for new ones."""
MAX_ATTEMPTS: Final = 20
"""Attempts after which a message is dropped: about four days."""
FIRST_RETRY: Final = 2.0
"""Seconds after the first failure; doubled each time."""
LONGEST_RETRY: Final = 43_200.0
"""Seconds between two attempts at most."""


class WaitingMessage(Struct, frozen=True):
    """A message for one receiver. `body` is what is signed and sent; `due_at` is when it is tried next."""

    id: str
    url: str
    body: str
    attempts: int = 0
    due_at: float = 0.0


class Outbox:
    """The messages of one collection that wait."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, url: str, body: str, now: float) -> None:
        """Queue a message; it is on the disk when this returns."""
        self._folder.mkdir(parents=True, exist_ok=True)
        waiting = self._files()
        for path in waiting[: max(len(waiting) + 1 - MAX_WAITING, 0)]:
            log.warning("a webhook was dropped: %s wait already", MAX_WAITING)
            path.unlink(missing_ok=True)
        name = f"{int(now * 1000):015d}-{secrets.token_hex(8)}"
        self._write(WaitingMessage(f"msg_{name}", url, body), self._folder / f"{name}.json")

    def due(self, now: float) -> list[WaitingMessage]:
        """The messages to be sent now, the oldest first."""
        found = []
        for path in self._files():
            try:
                message = msgspec.json.decode(path.read_bytes(), type=WaitingMessage)
            except FileNotFoundError:  # another process has sent it
                continue
            except msgspec.MsgspecError:
                log.warning("%s is damaged, and not sent", path)
                path.unlink(missing_ok=True)
                continue
            if message.due_at <= now or message.due_at > now + LONGEST_RETRY:
                found.append(message)
        return found

    def remove(self, message: WaitingMessage) -> None:
        """A message was accepted, or its receiver is no longer wanted."""
        self._path(message).unlink(missing_ok=True)

    def postpone(self, message: WaitingMessage, now: float) -> float | None:
        """Try a message again later; when, or `None` if it was tried often enough and is dropped."""
        attempts = message.attempts + 1
        if attempts >= MAX_ATTEMPTS:
            log.warning("a webhook was dropped after %s attempts", attempts)
            self.remove(message)
            return None
        due_at = now + min(FIRST_RETRY * float(1 << (attempts - 1)), LONGEST_RETRY)
        self._write(replace(message, attempts=attempts, due_at=due_at), self._path(message))
        return due_at

    def _path(self, message: WaitingMessage) -> Path:
        return self._folder / f"{message.id.removeprefix('msg_')}.json"

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("[0-9]*.json"))

    @staticmethod
    def _write(message: WaitingMessage, path: Path) -> None:
        write_file(path, msgspec.json.encode(message))
