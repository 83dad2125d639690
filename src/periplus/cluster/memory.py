"""What the coordinator must not forget when it dies: a small file beside the states of the shards.

It is replaced as a whole, and is on disk before any worker gets what it says.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Self, TypeVar

import msgspec
from msgspec import Struct

from periplus.model import CollectionDamaged, CollectionError

T = TypeVar("T")


class Remembered(Struct):
    """For each shard its last epoch, whether it is held, and the pages granted to it; and the run of the command.

    Epochs are permanent; pages granted, and the number of coordinators so far, belong to one run.
    """

    run: str = ""
    epochs: list[int] = []
    is_held: list[bool] = []
    granted: list[int] = []
    coordinators: int = 0

    @classmethod
    def of(cls, run: str, shards: int) -> Self:
        """The memory of a run that has just started."""
        return cls(run, [0] * shards, [False] * shards, [0] * shards)

    def is_of(self, run: str, coordinator: int) -> bool:
        """Whether no later coordinator has claimed it. What an earlier one wrote at the last moment does not count."""
        return self.run == run and self.coordinators <= coordinator


def _fitted(values: list[T], shards: int, default: T) -> list[T]:
    return [*values, *[default] * (shards - len(values))]


def claim(path: Path, run: str, shards: int) -> None:
    """A run of the command starts: from now on the file is its own. Pages that another run granted do not count."""
    kept = load_memory(path)
    epochs, is_held = _fitted(kept.epochs, shards, 0), _fitted(kept.is_held, shards, False)
    save_memory(path, Remembered(run, epochs, is_held, [0] * shards))


def check(path: Path, run: str, shards: int) -> None:
    """Raise unless the file belongs to this run; it does not if the folder of the collection is missing on a node."""
    kept = load_memory(path)
    if kept.run != run or len(kept.epochs) < shards:
        raise CollectionError(
            f"{path} on {platform.node()} does not belong to this crawl",
            hint="Every node must have the folder of the collection at the same path; or was the file removed?",
        )


def succeed(path: Path, run: str) -> int:
    """A coordinator starts; returns its number in this run. Its predecessor may live on, cut off, and will see this."""
    kept = load_memory(path)
    if kept.run != run:
        return 0
    kept.coordinators += 1
    save_memory(path, kept)
    return kept.coordinators


def load_memory(path: Path) -> Remembered:
    """What was saved, or an empty memory."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Remembered)
    except FileNotFoundError:
        return Remembered()
    except msgspec.MsgspecError as error:
        raise CollectionDamaged(
            f"{path} cannot be decoded: {error}", hint="If no crawl of this collection runs anywhere, remove it"
        ) from error


def save_memory(path: Path, remembered: Remembered) -> None:
    """Save durably."""
    draft = path.with_suffix(".new")
    with draft.open("wb") as file:
        file.write(msgspec.json.encode(remembered))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
