"""The files of a change of the number of shards: one that is under way, or one that was asked for.

Both are small files beside the states. A crawl reads them; what is done is in `resizing`.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from periplus.model import CollectionDamaged, CollectionError
from periplus.store.tables.spool import sync_folder

from .layout import Layout

MAX_SHARDS = 256


class Plan(Struct, frozen=True):
    """What is under way: from how many shards to how many. `token` tells it from any other."""

    before: int
    after: int
    token: str


def plan_of(layout: Layout) -> Plan | None:
    """What is under way, or was when a process died."""
    if not layout.resizing.is_file():
        return None
    try:
        return msgspec.json.decode(layout.resizing.read_bytes(), type=Plan)
    except msgspec.MsgspecError as error:
        raise CollectionDamaged(f"{layout.resizing} cannot be read", hint="restore it from a copy") from error


def unfinished(layout: Layout, plan: Plan) -> CollectionError:
    """The error for any other command on a collection that is being resized."""
    return CollectionError(
        f"{layout.folder} was being resized from {plan.before} to {plan.after} shards when that was stopped",
        hint=f"periplus cluster resize {layout.folder} {plan.after} finishes it",
    )


def check_whole(layout: Layout) -> None:
    """Refuse to crawl between two numbers of shards."""
    plan = plan_of(layout)
    if plan is not None:
        raise unfinished(layout, plan)


def requested(layout: Layout) -> int | None:
    """The number of shards that a running crawl is asked to have."""
    try:
        text = layout.resize_request.read_text("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    return int(text) if text.isdecimal() and 1 <= int(text) <= MAX_SHARDS else None


def request(layout: Layout, shards: int) -> None:
    """Ask the process that runs the crawl for it."""
    write(layout.resize_request, f"{shards}\n".encode())


def write(path: Path, data: bytes) -> None:
    """Whole and durable, or not at all."""
    draft = path.with_name(path.name + ".new")
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)
