"""The simulated disk knows what each file held at its last sync, also where it reads only what was appended."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from tests.faults.disk import Disk


def durable(disk: Disk, path: Path) -> bytes:
    """What a loss of power certainly leaves of a file."""
    return bytes(disk._files[path.stat().st_ino].durable)


def change(path: Path, chance: Random) -> None:
    """Append to a file, cut it, write it anew, or replace it by another file."""
    data = bytes(chance.choices(range(256), k=chance.randint(1, 40)))
    match chance.choice(("append", "append", "append", "cut", "write", "replace", "overwrite")):
        case "append":
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            os.write(descriptor, data)
            os.close(descriptor)
        case "cut":
            os.truncate(path, chance.randint(0, path.stat().st_size))
        case "write":
            path.write_bytes(data)
        case "overwrite":
            descriptor = os.open(path, os.O_WRONLY)
            os.write(descriptor, data)
            os.close(descriptor)
        case "replace":
            path.unlink()
            path.with_name("other").write_bytes(data)
            path.with_name("other").rename(path)


@pytest.mark.parametrize("seed", range(20))
def test_every_sync_keeps_the_whole_file(tmp_path: Path, seed: int) -> None:
    """However it was changed since the sync before."""
    chance, path = Random(seed), tmp_path / "disk" / "file"
    disk = Disk(path.parent, chance)
    with disk.installed():
        path.write_bytes(b"begin")
        for _ in range(100):
            change(path, chance)
            if chance.random() < 0.5:
                descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
                os.fsync(descriptor)
                os.close(descriptor)
                assert durable(disk, path) == path.read_bytes()
