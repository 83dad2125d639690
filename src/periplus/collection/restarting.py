"""The request to restart the shards of a crawl that runs, one after the other: how it is upgraded without a stop.

The command that asks leaves a small file beside the states, with its interpreter and its build; the command that runs
the crawl has the shards of this machine continued by that interpreter, and removes the file when all of them are, or
writes into it why it does not. The file names a program that will be run: it counts only if the user of the crawl wrote
it while the crawl ran.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from periplus.engine.sharding import ShardedCrawl
from periplus.engine.sharding.builds import Build
from periplus.model import UsageError
from periplus.store.durable import write_file
from periplus.store.layout import Layout


class RestartRequest(Struct, frozen=True):
    """Who asks: an interpreter, and what is installed there. `refused`: why it is not done."""

    python: str
    build: Build
    refused: str = ""

    @classmethod
    def own(cls) -> RestartRequest:
        """That of this process."""
        return cls(sys.executable, Build.own())


def requested_restart(layout: Layout) -> RestartRequest | None:
    """What was asked, if it was; a file that cannot be read, or that another user wrote, asks nothing."""
    try:
        if layout.restart_request.stat().st_uid != os.geteuid():
            return None
        return msgspec.json.decode(layout.restart_request.read_bytes(), type=RestartRequest)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def request_restart(layout: Layout, asked: RestartRequest) -> None:
    """Ask the process that runs the crawl for it."""
    write_file(layout.restart_request, msgspec.json.encode(asked))


def drop_restart(layout: Layout) -> None:
    """Refuse what was asked of a crawl that has ended."""
    asked = requested_restart(layout)
    if asked is not None:
        request_restart(layout, replace(asked, refused="the crawl has ended, and another has begun"))


def begin_restart(crawl: ShardedCrawl, layout: Layout, asked: RestartRequest) -> str:
    """Restart the shards of a crawl; why not, if it refuses."""
    refusal = Build.own().refusal(asked.build)
    refusal = f"Periplus {asked.build.version} cannot continue its shards: {refusal}" if refusal else ""
    if not Path(asked.python).is_file():
        refusal = f"{asked.python} is not there"
    if not refusal:
        try:
            crawl.restart(asked.python)
        except UsageError as error:
            refusal = str(error)
    if refusal:
        request_restart(layout, replace(asked, refused=refusal))
    return refusal
