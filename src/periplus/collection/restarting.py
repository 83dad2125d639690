"""The request to restart the shards of a running crawl, one after the other: how it is upgraded without a stop.

`periplus cluster restart` writes a small file beside the states, with its interpreter and its build. The command that
runs the crawl has the shards of this machine continued by that interpreter, and removes the file when all of them are,
or writes the reason into it if it refuses. The file names a program that will be run, so it counts only if the user of
the crawl wrote it while the crawl ran, and no other user could write to it: it must not be a link, it must belong to
that user, and neither its group nor others may write to it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from stat import S_ISREG, S_IWGRP, S_IWOTH
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from periplus.engine.sharding import ShardedCrawl
from periplus.engine.sharding.builds import Build
from periplus.model import UsageError
from periplus.store.durable import write_file
from periplus.store.layout import Layout

_MAX_BYTES: Final = 16 * 1024
"""Bytes of a request that are read: it has two names and a sentence."""
_PRIVATE: Final = 0o600


class RestartRequest(Struct, frozen=True):
    """An interpreter, and the build that is installed there. `refused`: why the crawl does not restart with it."""

    python: str
    build: Build
    refused: str = ""

    @classmethod
    def own(cls) -> RestartRequest:
        """The interpreter and the build of this process."""
        return cls(sys.executable, Build.own())


def requested_restart(layout: Layout) -> RestartRequest | None:
    """The request, if there is one. A file that cannot be read, or that another user could write, does not count."""
    try:
        descriptor = os.open(layout.restart_request, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not _is_own(os.fstat(descriptor)):
                return None
            return msgspec.json.decode(file.read(_MAX_BYTES), type=RestartRequest)
    except (OSError, msgspec.MsgspecError):
        return None


def _is_own(status: os.stat_result) -> bool:
    """Whether only this user can have written a file."""
    return S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & (S_IWGRP | S_IWOTH)


def request_restart(layout: Layout, asked: RestartRequest) -> None:
    """Ask the process that runs the crawl to restart its shards."""
    write_file(layout.restart_request, msgspec.json.encode(asked), mode=_PRIVATE)


def refuse_restart(layout: Layout, asked: RestartRequest, why: str) -> None:
    """Leave the reason for the command that made the request."""
    request_restart(layout, replace(asked, refused=why))


def end_restart(layout: Layout, done: RestartRequest, failure: str = "") -> None:
    """Remove a request that is done, or leave why it failed, unless another has taken its place."""
    if requested_restart(layout) not in (done, None):
        return
    if failure:
        refuse_restart(layout, done, failure)
    else:
        layout.restart_request.unlink(missing_ok=True)


def drop_restart(layout: Layout) -> None:
    """Refuse a request that was made of a crawl that has ended."""
    asked = requested_restart(layout)
    if asked is not None:
        refuse_restart(layout, asked, "the crawl has ended, and another has begun")


def begin_restart(crawl: ShardedCrawl, layout: Layout, asked: RestartRequest) -> str:
    """Restart the shards of a crawl; the reason if it refuses, else nothing."""
    refusal = Build.own().refusal(asked.build)
    refusal = f"Periplus {asked.build.version} cannot continue its shards: {refusal}" if refusal else ""
    if not (Path(asked.python).is_file() and os.access(asked.python, os.X_OK)):
        refusal = f"{asked.python} is not a program that this user can run"
    if not refusal:
        try:
            crawl.restart(asked.python)
        except UsageError as error:
            refusal = str(error)
    if refusal:
        refuse_restart(layout, asked, refusal)
    return refusal
