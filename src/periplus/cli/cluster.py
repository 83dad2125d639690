"""`periplus cluster`: what is done to a collection with several shards, here or on many machines.

`resize` changes their number. Without a running crawl this is done here; otherwise the crawl is asked to do it,
which stops for it and goes on, and this command waits until it has. `restart` asks a running crawl to continue its
shards with the version of Periplus that runs this command.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import click
import msgspec
from msgspec import Struct
from msgspec.structs import replace
from rich.console import Console

from periplus.collection.collection import CollectionSetup, existing, held
from periplus.collection.resizing import MAX_SHARDS, Resized, ResizingStep, plan_of, request
from periplus.collection.restarting import RestartRequest, request_restart, requested_restart
from periplus.collection.typed_values import duration
from periplus.engine.sharding.builds import Build
from periplus.model import CollectionInUse, UsageError

from . import options
from .commands import Argument, CommandGroup, Option
from .consoles import stderr_console, stdout_console
from .crawl.resizing import ProgressReporter, line_of, resize_patiently, say

_LOOK_AGAIN = 0.2

cluster = CommandGroup(
    "cluster",
    "Change how many shards a collection has, or restart them.\n\nExample: periplus cluster resize docs 4",
)


class ResizeSummary(Struct, frozen=True):
    """What `--json` prints. `by` is `command`, or `crawl` if one that runs has done it: the counts are its own then."""

    collection: str
    before: int
    after: int
    sites: int
    urls: int
    rows: int
    seconds: float
    by: str


@cluster.verb
def restart(
    collection: options.Collected,
    wait: Annotated[
        str, Option("--wait", metavar="TIME", help="How long to wait until all shards are restarted.")
    ] = "10m",
) -> None:
    """Restart the shards of a running crawl one after the other, with the version of Periplus that is installed here.

    Example: periplus cluster restart docs
    """
    asked = existing(collection)
    asked.check_trusted()
    layout, console = asked.layout, stderr_console()
    until = time.monotonic() + (duration("--wait", wait) or 0.0)
    if _is_free(asked.folder):
        raise UsageError(f"no crawl runs into {asked.folder}", hint="begin one with this version")
    own = RestartRequest.own()
    request_restart(layout, own)
    say(console, "the running crawl is asked to restart its shards (Ctrl-C keeps the request)")
    while (state := requested_restart(layout)) is not None:
        if replace(state, refused="") != own:
            raise UsageError(
                f"another command asked for Periplus {state.build.version} by {state.python} meanwhile",
                hint="run one restart at a time: wait for that one, then run this command again",
            )
        if state.refused:
            layout.restart_request.unlink(missing_ok=True)
            raise UsageError(
                state.refused,
                hint="the crawl goes on: fix this and run this command again, or stop it and run it with that version",
            )
        if _is_free(asked.folder):
            layout.restart_request.unlink(missing_ok=True)
            raise UsageError(
                f"the crawl into {asked.folder} has ended", hint="the next one has the version that begins it"
            )
        if time.monotonic() > until:
            raise CollectionInUse(
                "not all shards were restarted yet", hint="the request is kept: the crawl goes on with it"
            )
        time.sleep(_LOOK_AGAIN)
    say(stdout_console(), f"all shards run Periplus {Build.own().version} now")


def _is_free(folder: Path) -> bool:
    """Whether no command uses a collection."""
    try:
        with held(folder):
            return True
    except CollectionInUse:
        return False


@cluster.verb
def resize(
    collection: options.Collected,
    shards: Annotated[int, Argument(metavar="N", min=1, max=MAX_SHARDS, help="Number of shards.")],
    wait: Annotated[
        str, Option("--wait", metavar="TIME", help="How long to wait for a running crawl to do it.")
    ] = "10m",
    json: options.Json = False,
) -> None:
    """Change the number of shards of a collection, stopped or running; only sites that must move are moved.

    Example: periplus cluster resize docs 4
    """
    asked = existing(collection)
    asked.check_trusted()
    patience = duration("--wait", wait) or 0.0
    console = stderr_console()
    began, before = time.monotonic(), asked.layout.shards
    done, by = _resize(asked, shards, patience, console)
    seconds = time.monotonic() - began
    if json:
        summary = ResizeSummary(
            str(collection), before, done.after, done.sites, done.urls, done.rows, round(seconds, 3), by
        )
        click.echo(msgspec.json.encode(summary))
    elif by == "crawl":
        say(stdout_console(), f"from {before} to {done.after} shards: the crawl that runs has done it, and goes on")
    else:
        say(stdout_console(), line_of(done, seconds))


def _resize(asked: CollectionSetup, shards: int, patience: float, console: Console) -> tuple[Resized, str]:
    """Resize here if no crawl is running, else let the running crawl do it; return the result and which did it."""
    reporter, until = ProgressReporter(console), time.monotonic() + patience
    found = _here(asked, shards, reporter)
    if found is not None:
        return found, "command"
    request(asked.layout, shards)
    say(console, "a crawl runs: it is asked to do it, and goes on then (Ctrl-C leaves it asked)")
    while not _is_done(asked, shards):
        if time.monotonic() > until:
            raise CollectionInUse(
                f"{asked.folder} is in use, and who uses it has not changed its shards yet",
                hint="the request is kept: the running crawl, or the next one, does it as soon as it can",
            )
        time.sleep(_LOOK_AGAIN)
        if _is_refused(asked, shards):
            raise UsageError(
                f"the crawl that runs into {asked.folder} cannot have {shards} shards",
                hint="the crawl prints the reason: a cluster has at most one shard per processor",
            )
        found = None if _is_done(asked, shards) else _here(asked, shards, reporter)
        if found is not None:
            return found, "command"
    return Resized(shards, shards), "crawl"


def _here(asked: CollectionSetup, shards: int, tell: Callable[[ResizingStep], None]) -> Resized | None:
    """What was done; `None`: the collection is not free."""
    with ExitStack() as holding:
        try:
            holding.enter_context(held(asked.folder))
        except CollectionInUse:
            return None
        return resize_patiently(existing(asked.folder), shards, tell)


def _is_refused(asked: CollectionSetup, shards: int) -> bool:
    """Whether the request is gone without a result."""
    layout = asked.layout
    return not layout.resize_request.exists() and plan_of(layout) is None and layout.shards != shards


def _is_done(asked: CollectionSetup, shards: int) -> bool:
    layout = asked.layout
    return not layout.resize_request.exists() and plan_of(layout) is None and layout.shards == shards
