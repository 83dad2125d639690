"""What the coordinator must not forget when it dies: a small file beside the states of the shards.

It is replaced whole, and is on the disk before anybody is told what it says.
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
    """For each shard its last epoch, whether somebody has it, and what it was granted; and the run of the command.

    Epochs are for ever; what was granted, and how many coordinators there were, is of one run.
    """

    run: str = ""
    epochs: list[int] = []
    is_held: list[bool] = []
    granted: list[int] = []
    coordinators: int = 0

    @classmethod
    def of(cls, run: str, shards: int) -> Self:
        """Of a run that has just begun."""
        return cls(run, [0] * shards, [False] * shards, [0] * shards)

    def is_of(self, run: str, coordinator: int) -> bool:
        """Whether nobody came after this one. An earlier one may have written at the last moment: it has no say."""
        return self.run == run and self.coordinators <= coordinator


def _fitted(values: list[T], shards: int, default: T) -> list[T]:
    return [*values, *[default] * (shards - len(values))]


def claim(path: Path, run: str, shards: int) -> None:
    """A run of the command begins: from now on the file is its own. What another run granted is nobody's any more."""
    kept = load(path)
    epochs, is_held = _fitted(kept.epochs, shards, 0), _fitted(kept.is_held, shards, False)
    save(path, Remembered(run, epochs, is_held, [0] * shards))


def check(path: Path, run: str, shards: int) -> None:
    """Whether what is kept is this run's: it is not where the folder of the collection is another one, or none."""
    kept = load(path)
    if kept.run != run or len(kept.epochs) < shards:
        raise CollectionError(
            f"{path} on {platform.node()} is not that of this crawl",
            hint="every node must have the folder of the collection at the same path; or was the file removed?",
        )


def succeed(path: Path, run: str) -> int:
    """A coordinator begins: which of this run it is. The last one may live on, cut off from us: it will find out."""
    kept = load(path)
    if kept.run != run:
        return 0
    kept.coordinators += 1
    save(path, kept)
    return kept.coordinators


def load(path: Path) -> Remembered:
    """What was kept, or nothing."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Remembered)
    except FileNotFoundError:
        return Remembered()
    except msgspec.MsgspecError as error:
        raise CollectionDamaged(
            f"{path} cannot be understood: {error}", hint="if no crawl of this collection runs anywhere, remove it"
        ) from error


def save(path: Path, remembered: Remembered) -> None:
    """Keep it, durably."""
    draft = path.with_suffix(".new")
    with draft.open("wb") as file:
        file.write(msgspec.json.encode(remembered))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
