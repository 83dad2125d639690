"""The crawls of a served folder: each crawl ID has a folder of its own with the state of its frontier."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from periplus.model import CollectionError, CollectionInUse, UsageError
from periplus.store.durable import move
from periplus.store.folders import FolderLock, FolderLocked, sync_folder
from periplus_urlfrontier.client_frontier import ClientFrontier
from periplus_urlfrontier.client_queues import ClientQueues

DEFAULT: Final = "DEFAULT"
"""The crawl ID that an empty one stands for."""
MAX_CRAWLS: Final = 256
"""Crawls of one folder: each holds a file open, and an address space of its own."""
_MAX_NAME: Final = 200
"""Characters of the name of a crawl's folder; file systems take 255 bytes."""
_PREFIX: Final = "crawl-"
_DELETED: Final = "deleted"
"""The folder that a deleted crawl is moved to until its files are removed."""


class Crawls:
    """The frontiers of a folder by crawl ID, opened when they are first used. For one thread."""

    def __init__(self, folder: Path) -> None:
        """Lock the folder; it is made if it does not exist."""
        if (folder / "periplus.toml").exists():
            raise UsageError(
                f"{folder} is a collection, and has a frontier of its own",
                hint="Give another folder: it gets a folder for each crawl ID of other programs.",
            )
        if not folder.exists():
            folder.mkdir(parents=True)
            sync_folder(folder.parent)
        try:
            self._lock = FolderLock(folder, "owner.lock")
        except FolderLocked as error:
            raise CollectionInUse(str(error), hint="wait until it ends, or stop it") from error
        self._folder = folder
        self._remove_deleted()
        self._open: dict[str, tuple[ClientQueues, ClientFrontier]] = {}
        self._names = {_name_of(path) for path in folder.glob(f"{_PREFIX}*") if path.is_dir()}

    @property
    def names(self) -> list[str]:
        """The crawl IDs, in order."""
        return sorted(self._names)

    def admits(self, crawl: str) -> bool:
        """Whether there is such a crawl. A new one is begun, unless its name is too long or there are too many."""
        crawl = crawl or DEFAULT
        if crawl not in self._names and len(_folder_name(crawl)) <= _MAX_NAME and len(self._names) < MAX_CRAWLS:
            self.frontier(crawl)
        return crawl in self._names

    def existing(self, crawl: str) -> ClientFrontier | None:
        """The frontier of a crawl; `None`: there is no such crawl."""
        return self.frontier(crawl) if (crawl or DEFAULT) in self._names else None

    def frontier(self, crawl: str) -> ClientFrontier:
        """The frontier of a crawl, which is begun if there is none."""
        crawl = crawl or DEFAULT
        found = self._open.get(crawl)
        if found is None:
            folder = self._folder / _folder_name(crawl)
            folder.mkdir(exist_ok=True)
            queues = ClientQueues(folder)
            if crawl not in self._names:  # a commit writes to the file, not the names of file and folder
                sync_folder(folder)
                sync_folder(self._folder)
            found = self._open[crawl] = queues, ClientFrontier(queues)
            self._names.add(crawl)
        return found[1]

    def delete(self, crawl: str) -> int:
        """Delete a crawl with its files; how many URLs it had."""
        crawl = crawl or DEFAULT
        if crawl not in self._names:
            return 0
        self.frontier(crawl)
        queues, _ = self._open.pop(crawl)
        count = queues.size[0]
        queues.close()
        move(self._folder / _folder_name(crawl), self._folder / _DELETED)  # whole or not at all
        self._names.discard(crawl)
        self._remove_deleted()
        return count

    def _remove_deleted(self) -> None:
        """Remove the files of a deleted crawl, also those that an earlier process did not get to."""
        if (self._folder / _DELETED).exists():
            shutil.rmtree(self._folder / _DELETED)

    def commit(self) -> None:
        """Make everything durable. A frontier whose commit fails is opened again later, as of its last commit."""
        for crawl, (queues, _) in list(self._open.items()):
            if queues.uncommitted:
                try:
                    queues.commit()
                except CollectionError:
                    self.drop(crawl)
                    raise

    def drop(self, crawl: str) -> None:
        """Close a crawl and lose what is not durable."""
        queues, _ = self._open.pop(crawl)
        queues.close()

    def drop_all(self) -> None:
        """Close all crawls and lose what is not durable."""
        for crawl in list(self._open):
            self.drop(crawl)

    def close(self) -> None:
        """Close everything, without a commit, and release the folder."""
        self.drop_all()
        self._lock.close()


def _folder_name(crawl: str) -> str:
    return _PREFIX + quote(crawl, safe="")


def _name_of(path: Path) -> str:
    return unquote(path.name.removeprefix(_PREFIX))
