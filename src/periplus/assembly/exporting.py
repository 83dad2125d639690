"""A collection in another format, as of the last commit of its shards: for the command line and for programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from periplus.model import UsageError
from periplus.store.export import Committed, Exported
from periplus.store.tables import Spooled

from .layout import Layout


def committed_of(layout: Layout) -> Committed:
    """How far the shards have come: also of a crawl that runs, or was killed."""
    commits = layout.commits()
    ends = (commit.archive for commit in commits if commit.archive is not None)
    spooled = (Spooled(commit.shard, layout.spool(commit.shard), commit.tables) for commit in commits)
    return Committed(tuple(spooled), tuple(ends))


def export_file(path: Path, write: Callable[[BinaryIO], Exported]) -> Exported:
    """Write a new file, which has its name only when it is complete."""
    if path.exists():
        raise UsageError(f"{path} exists already", hint="give another name, or remove it")
    draft = path.with_name(path.name + ".part")
    try:
        with _opened(draft) as file:
            exported = write(file)
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)
    return exported


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint="give a file in a folder that exists") from error
