"""What the coordinator must not forget when it dies: a small file beside the states of the shards.

It is replaced whole, and is on the disk before anybody is told what it says.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from periplus.model import CollectionDamaged

T = TypeVar("T")


class Remembered(Struct):
    """For each shard its last epoch, whether somebody has it, and what it was granted; and the run of the command.

    Epochs are for ever; what was granted is of one run.
    """

    run: str = ""
    epochs: list[int] = []
    is_held: list[bool] = []
    granted: list[int] = []


def _fitted(values: list[T], shards: int, default: T) -> list[T]:
    return [*values, *[default] * (shards - len(values))]


def claim(path: Path, run: str, shards: int) -> None:
    """A run of the command begins: from now on the file is its own. What another run granted is nobody's any more."""
    kept = load(path)
    epochs, is_held = _fitted(kept.epochs, shards, 0), _fitted(kept.is_held, shards, False)
    save(path, Remembered(run, epochs, is_held, [0] * shards))


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
