"""Waits until files below a folder change: notified by the system if `watchfiles` is installed, else by polling.

A build writes many files in a few seconds: a change counts once nothing has changed for `DEBOUNCE` seconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any, Final

from xxhash import xxh3_64_intdigest

DEBOUNCE: Final = 2.0
"""Seconds without a change after which a build is taken to be complete."""
POLL: Final = 60.0
"""Seconds between two polls of the modification times, where the system does not report changes."""
LONGEST_BUILD: Final = 600.0
"""Seconds after which a folder is scanned even if its files keep changing."""
_MASK: Final = (1 << 64) - 1


def folder_changes(
    root: Path,
    *,
    skip: Callable[[str], bool] = lambda _: False,
    stop: Event | None = None,
    poll: float = POLL,
    debounce: float = DEBOUNCE,
) -> Iterator[None]:
    """Yield each time that files below a folder have changed and then stayed the same, until `stop` is set.

    `skip` returns whether a path, relative to the folder, is ignored, as are those that the publisher writes.
    """
    stop = stop or Event()
    try:
        watchfiles = import_module("watchfiles")
    except ImportError:
        yield from _polled(root.resolve(), skip, stop, poll, debounce)
    else:
        yield from _notified(watchfiles, root.resolve(), skip, stop, debounce)


def _notified(watchfiles: Any, root: Path, skip: Callable[[str], bool], stop: Event, debounce: float) -> Iterator[None]:
    def counts(_: object, path: str) -> bool:
        name = os.path.relpath(path, root).replace(os.sep, "/")
        return not _is_hidden(name) and not skip(name)

    pause = round(debounce * 1_000)
    for _ in watchfiles.watch(
        root, watch_filter=counts, debounce=round(LONGEST_BUILD * 1_000), step=pause, stop_event=stop
    ):
        yield


def _polled(root: Path, skip: Callable[[str], bool], stop: Event, poll: float, debounce: float) -> Iterator[None]:
    known = fingerprint(root, skip)
    while not stop.wait(poll):
        seen = fingerprint(root, skip)
        if seen == known:
            continue
        for _ in range(max(round(LONGEST_BUILD / debounce), 1)):
            if stop.wait(debounce):
                return
            before, seen = seen, fingerprint(root, skip)
            if seen == before:
                break
        known = seen
        yield


def fingerprint(root: Path, skip: Callable[[str], bool] = lambda _: False) -> int:
    """A number that is another one when a file below a folder is new, gone, or has another size or time."""
    total, folders = 0, [(root, "")]
    while folders:
        folder, prefix = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            path = prefix + entry.name
            if entry.name.startswith(".") or skip(path):
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    folders.append((Path(entry.path), f"{path}/"))
                    continue
                about = entry.stat()
            except OSError:
                continue
            line = f"{path}\0{about.st_mtime_ns}\0{about.st_size}".encode("utf-8", "surrogateescape")
            total = (total + xxh3_64_intdigest(line)) & _MASK  # a sum: the order of a folder's entries means nothing
    return total


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))
