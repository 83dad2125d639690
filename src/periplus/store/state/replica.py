"""A state on a machine's own disk whose every commit is first copied to a path that other machines reach.

LMDB wants a local disk: it maps its file into memory and locks it, both of which network file systems do slowly or not
at all. So the environment lies on the disk of the node, and beside the shard's journal a copy of it (`redo`): an image,
and the rows that each commit since has changed. A commit is made when its rows are in the copy; the local file follows,
and is never ahead. The next process that opens the shard, here or elsewhere, takes the local file if its last commit is
one of the copy's, else the image, and then what was changed since: a node that was lost takes nothing with it.

**Holders.** To open a shard is to take its next commit number with an empty commit, under an `epoch`. From then on the
process that held it before finds that number taken when it commits, and must end. An epoch older than the last is
refused: a process that was slow to start does not depose its successor. 0 is for callers without epochs: the last
goes on.

**Images.** When the deltas take more bytes than the image, a new one is written in the background, from a reading of
LMDB's that commits do not disturb. So each changed byte is written about twice, and a restore reads about twice what
the state holds.

Reading needs the whole state, too: `followed` keeps a copy of the copy up to date, in a folder for temporary files.
`bring_home` turns a copied state into one that lies in the collection; a state that lies there becomes a copied one by
being opened as such.
"""

from __future__ import annotations

import fcntl
import logging
import mmap
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from xxhash import xxh3_64_hexdigest

from periplus.model import CollectionDamaged, CollectionError, CollectionInUse

from ..durable import move
from .environment import Environment, Table
from .files import DATA, MAP_SIZE, lost_state, remove_files, was_begun
from .redo import FOLDER, Changes, Contents, RedoLog, Stamp, taken_over

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

log = logging.getLogger(__name__)

SMALLEST_FOLD = 8 << 20
"""Bytes of deltas up to which no new image is written."""
MOST_DELTAS = 2_000
"""Number of deltas after which a new image is written, whatever their size: a restore opens each of them."""
ROWS_AT_ONCE = 50_000
"""Rows after which a restore commits; until then they take memory."""

SMALLEST_PAGE = 4096
"""Bytes of a page of LMDB, at least: a state that comes from another machine may have larger ones than ours."""

_STAMP = b"replica"
_TRIES = 20
_LOCAL, _HOME, _LEFT = "folding", "homecoming", "copy.left"


class Replica:
    """The copy of one state, for as long as a process holds it: in the folder `home` of its shard, under an `epoch`."""

    def __init__(self, home: Path, *, epoch: int = 0, smallest_fold: int = SMALLEST_FOLD) -> None:
        self.home = home
        self._redo = RedoLog(home / FOLDER)
        self._epoch = epoch
        self._smallest_fold = smallest_fold
        self._base = 0
        self._base_size = 0
        self._sizes: dict[int, int] = {}
        self._last = 0
        self._folder: ThreadPoolExecutor | None = None
        self._folding: Future[None] | None = None

    def open(self, local: Path, *, map_size: int = MAP_SIZE) -> Environment:
        """The state as last committed by any process, in a folder of this machine; held from now on."""
        finish_homecoming(self.home)
        self._environment = _opened(local, map_size)
        try:
            if self._redo.contents() is None:
                if was_begun(self.home) and not has_state(self.home):
                    raise lost_state(self.home)
                self._found(local)
            remove_files(self.home)
            self._claim()
            self._scratch = local / _LOCAL
            self._environment.log_to(self)
        except BaseException:
            self._environment.close()
            raise
        return self._environment

    # a commit

    def append(self, changes: Changes) -> None:
        """Copy what a commit changes, before it is made here."""
        stamp = Stamp.new(self._last + 1, self._epoch)
        self._sizes[stamp.commit] = self._redo.append(stamp, changes)
        if not self._is_held(stamp):
            raise taken_over(self.home)
        self._last = stamp.commit
        _stamp_with(self._counters, stamp)
        self._fold_if_due()

    def close(self) -> None:
        """Let an image that is being written be finished: it reads from the environment."""
        if self._folder is not None:
            self._folder.shutdown(wait=True)
            self._report_folding()

    # whose it is

    def _is_held(self, taken: Stamp) -> bool:
        """Whether a free number was never taken before: no image is newer.

        That is certain while our image exists. Otherwise it was replaced, by us or by the previous holder, which was
        still writing one: of a commit before this, or after.
        """
        if self._redo.has_base(self._base):
            return True
        contents = self._redo.contents()
        if contents is None or contents.base >= taken.commit:
            return False
        self._base = max(self._base, contents.base)
        return True

    def _claim(self) -> None:
        """Take the next number, after all that is there. A process that is deposed by it may be faster a few times."""
        for _ in range(_TRIES):
            contents = catch_up(self._environment, self._redo)
            self._counters = _counters(self._environment)
            last = _stamp_of(self._counters)
            if last is None or (self._epoch and last.epoch > self._epoch):
                raise taken_over(self.home)
            self._epoch = self._epoch or last.epoch
            if contents.last > last.commit:
                self._redo.remove(contents.last)  # it was never written to its end
            stamp = Stamp.new(last.commit + 1, self._epoch)
            self._base = contents.base
            with suppress(CollectionInUse, FileNotFoundError):
                self._redo.append(stamp, {})
                if self._is_held(stamp):
                    self._begin_with(stamp)
                    return
        raise taken_over(self.home)

    def _begin_with(self, stamp: Stamp) -> None:
        self._redo.remove_drafts()
        self._base_size, self._sizes = self._redo.sizes()
        _stamp_with(self._counters, stamp)
        self._environment.commit()
        self._last = stamp.commit

    def _found(self, local: Path) -> None:
        """Write the first image: of the state in the collection, or of an empty one."""
        (self.home / FOLDER).mkdir(parents=True, exist_ok=True)
        scratch = _emptied(local / _LOCAL)
        before = Environment(self.home if (self.home / DATA).is_file() else scratch / "none")
        try:
            stamp = Stamp.new(0, self._epoch)
            _stamp_with(_counters(before), stamp)
            before.commit()
            (scratch / "image").mkdir()
            with suppress(CollectionInUse):  # another was quicker: then it goes on from there
                self._redo.put_base(stamp, before.copy(scratch / "image"))
        finally:
            before.close()
            shutil.rmtree(scratch)

    # images

    def _fold_if_due(self) -> None:
        self._report_folding()
        if self._folding is not None:
            return
        due = max(self._base_size, self._smallest_fold)
        sizes = [size for number, size in self._sizes.items() if number > self._base]
        if sum(sizes) > due or len(sizes) > MOST_DELTAS:
            if self._folder is None:
                from concurrent.futures import ThreadPoolExecutor

                self._folder = ThreadPoolExecutor(1, thread_name_prefix="periplus-image")
            self._folding = self._folder.submit(self._fold)

    def _fold(self) -> None:
        """Write an image of the last commit, in a separate thread. The image records which commit it is."""
        scratch = _emptied(self._scratch)
        try:
            image = self._environment.copy(scratch)
            reader = Environment(scratch, readonly=True)
            try:
                stamp = _stamp_of(_counters(reader))
            finally:
                reader.close()
            if stamp is None or stamp.commit <= self._base:
                return
            self._base_size = self._redo.put_base(stamp, image)
            self._base = stamp.commit
            self._redo.remove_before(stamp.commit)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _report_folding(self) -> None:
        """An image that could not be written loses nothing: the deltas are there. It is tried again when it is due."""
        if self._folding is None or not self._folding.done():
            return
        error, self._folding = self._folding.exception(), None
        self._sizes = {number: size for number, size in self._sizes.items() if number > self._base}
        if error is not None:
            log.warning("no new image of %s: %s", self.home, error)


# shared by the holder and by readers


def catch_up(environment: Environment, redo: RedoLog) -> Contents:
    """Apply the commits of a copy up to its last, and return its position. Files may be replaced meanwhile."""
    for _ in range(_TRIES):
        contents = redo.contents()
        if contents is None:
            break
        with suppress(FileNotFoundError):
            if not _is_of(redo, contents, _stamp_of(_counters(environment))):
                environment.replace(lambda target, base=contents.base: redo.restore(base, target))  # type: ignore[misc]
            _apply(environment, redo, contents)
            return contents
    raise CollectionDamaged(f"{redo.folder} has no image any more", hint="restore it from a backup")


def _is_of(redo: RedoLog, contents: Contents, stamp: Stamp | None) -> bool:
    """Whether a state is one of those that the copy went through, and what came after it is still there."""
    return stamp is not None and contents.base <= stamp.commit <= contents.last and redo.stamp(stamp.commit) == stamp


def _apply(environment: Environment, redo: RedoLog, contents: Contents) -> None:
    """What was changed since, delta by delta. The last may be torn: then it was never acknowledged."""
    counters = _counters(environment)
    stamp = _stamp_of(counters)
    if stamp is None:
        raise CollectionDamaged(f"the image {contents.base} in {redo.folder} does not say what it is")
    for number in range(stamp.commit + 1, contents.last + 1):
        found = redo.changes(number)
        if found is None:
            if number != contents.last:
                raise CollectionDamaged(f"commit {number} in {redo.folder} is torn", hint="restore it from a backup")
            break
        stamp, changes = found
        for name, rows in changes.items():
            _put(environment.table(name), rows)
        _stamp_with(counters, stamp)
        if environment.uncommitted >= ROWS_AT_ONCE:
            environment.commit()
    environment.commit()


def _put(table: Table, rows: dict[bytes, bytes | None]) -> None:
    """In the order of keys, which is faster."""
    table.put_many(sorted((key, value) for key, value in rows.items() if value is not None))
    for key in sorted(key for key, value in rows.items() if value is None):
        table.delete(key)


def _counters(environment: Environment) -> Table:
    return environment.table("counters")


def _stamp_of(counters: Table) -> Stamp | None:
    found = counters.get(_STAMP)
    return None if found is None else msgspec.msgpack.decode(found, type=Stamp)


def _stamp_with(counters: Table, stamp: Stamp) -> None:
    counters.put(_STAMP, msgspec.msgpack.encode(stamp))


def _opened(local: Path, map_size: int) -> Environment:
    """The environment; a local file that cannot be read is removed, since its copy has everything."""
    try:
        return Environment(local, map_size=map_size)
    except CollectionDamaged as error:
        log.warning("%s: it is restored from its copy", error)
        remove_files(local)
        return Environment(local, map_size=map_size)


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


# where a state lies


def is_copied(home: Path) -> bool:
    """Whether the state of a shard lies on some machine's disk, and its copy here."""
    return any((home / FOLDER).glob("*.base")) or (home / _LEFT).is_dir()


def has_state(home: Path) -> bool:
    """Whether a folder holds a state with a commit. LMDB begins with two empty pages."""
    path = home / DATA
    pages = SMALLEST_PAGE if was_begun(home) else mmap.PAGESIZE
    return path.is_file() and path.stat().st_size > 2 * pages


def is_begun(home: Path) -> bool:
    """Whether a shard has a state at all, here or copied."""
    return has_state(home) or is_copied(home)


def bring_home(home: Path) -> None:
    """Move the state of a shard back into the collection, if it is elsewhere, and depose the process that held it."""
    finish_homecoming(home)
    if not is_copied(home):
        return
    environment = Replica(home).open(home / _HOME)
    try:
        environment.changed = None
        _counters(environment).delete(_STAMP)
        environment.commit()
    finally:
        environment.close()
    try:
        move(home / FOLDER, home / _LEFT)  # from here on it lies here
    except OSError as error:
        raise CollectionError(
            f"{home / FOLDER} cannot be renamed: {error.strerror}", hint="copy the collection to a disk first"
        ) from error
    finish_homecoming(home)


def finish_homecoming(home: Path) -> None:
    """Finish `bring_home`, if it was killed after its point of no return."""
    if (home / _LEFT).is_dir():
        with suppress(FileNotFoundError):
            move(home / _HOME / DATA, home / DATA)
        shutil.rmtree(home / _HOME, ignore_errors=True)
        shutil.rmtree(home / _LEFT, ignore_errors=True)


@contextmanager
def followed(home: Path, prepare: Callable[[Environment], None]) -> Iterator[Path]:
    """A folder with a copied state as last committed, to be opened by a reader before this ends.

    Only the copy is read, so the crawl is not disturbed; a second reading soon after only takes what was changed
    since. `prepare` makes the tables, of which a state that has just begun has not all.
    """
    redo = RedoLog(home / FOLDER)
    folder = _cache() / xxh3_64_hexdigest(str(home.resolve()).encode())
    folder.mkdir(exist_ok=True)
    with (folder / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        environment = _opened(folder, MAP_SIZE)
        try:
            catch_up(environment, redo)
            prepare(environment)
        finally:
            environment.close()
        yield folder


def _cache() -> Path:
    """A folder that only this user of the machine can enter."""
    folder = Path(tempfile.gettempdir()) / f"periplus-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or folder.is_symlink():
        return Path(tempfile.mkdtemp(prefix="periplus-"))
    return folder
