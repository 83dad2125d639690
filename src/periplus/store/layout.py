"""Where things lie in a collection, and what is known of a shard that is not open."""

from __future__ import annotations

import logging
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from xxhash import xxh3_64_hexdigest

from periplus.model import CollectionDamaged

from .state.files import lost_state, was_begun
from .state.marks import committed_marks
from .state.replica import is_begun
from .tables import Spooled
from .warc.end import WarcEnd

Meta = TypeVar("Meta")

log = logging.getLogger(__name__)


class ShardCommit(Struct, frozen=True):
    """How far the tables and the archive of a shard reached when it last committed."""

    shard: int
    tables: bytes | None
    archive: WarcEnd | None


class Layout(Struct, frozen=True):
    """Where things lie in a collection."""

    folder: Path

    @property
    def settings(self) -> Path:
        """The settings of the crawl."""
        return self.folder / "periplus.toml"

    @property
    def warc(self) -> Path:
        """Every answer, as it came."""
        return self.folder / "warc"

    @property
    def tables(self) -> Path:
        """What happened, as Parquet."""
        return self.folder / "tables"

    @property
    def search(self) -> Path:
        """The index that is searched."""
        return self.folder / "search"

    @property
    def kept_chunks(self) -> Path:
        """Pages in chunks, kept from one export to the next."""
        return self.folder / "insight" / "chunks"

    @property
    def learnt(self) -> Path:
        """What jobs over the tables have learnt for the crawl."""
        return self.folder / "learnt"

    @property
    def inbox(self) -> Path:
        """URLs that sites pushed, until a crawl has taken them."""
        return self.folder / "receivers" / "inbox.sqlite"

    @property
    def subscriptions(self) -> Path:
        """WebSub subscriptions, with their secrets."""
        return self.folder / "receivers" / "subscriptions.json"

    def shard(self, number: int) -> Path:
        """What a shard remembers."""
        return self.folder / "state" / f"shard-{number:02d}"

    def local(self, disk: Path, number: int) -> Path:
        """The state of a shard on a machine's own disk, which may also have those of other collections."""
        name = f"{self.folder.resolve().name}-{xxh3_64_hexdigest(str(self.folder.resolve()).encode())}"
        return disk / name / self.shard(number).name

    def log(self, number: int) -> Path:
        """The inputs of a shard since its last commit."""
        return self.shard(number) / "log"

    def spool(self, number: int) -> Path:
        """Rows of a shard that are on their way to Parquet."""
        return self.shard(number) / "spool"

    def ranks(self, by: Path) -> Path:
        """The scores of URLs in an earlier collection."""
        return self.folder / "state" / f"ranks-{xxh3_64_hexdigest(str(by).encode())}.npy"

    @property
    def coordinator(self) -> Path:
        """What the coordinator of a crawl on many machines must not forget."""
        return self.folder / "state" / "coordinator.json"

    @property
    def handed_over(self) -> Path:
        """Up to where programs have handled the pages that were stored (see `periplus.library`)."""
        return self.folder / "state" / "handed-over.json"

    def export_mark(self, name: str) -> Path:
        """How far the exports of this name have come (see `apps.export.changed`)."""
        return self.folder / "state" / "exports" / f"{name}.json"

    @property
    def listed_ranks(self) -> Path:
        """The scores of listed pages by links and sitemaps, as of the last start of the crawl."""
        return self.folder / "state" / "ranks-listed.npy"

    def weights(self, name: str) -> Path:
        """What pages were worth by this importance, when they were last watched."""
        return self.folder / "state" / f"ranks-weight-{name}.npy"

    @property
    def refresh_plan(self) -> Path:
        """The last refresh, or the one that is under way or was stopped (see `refreshing`)."""
        return self.folder / "state" / "refresh.json"

    @property
    def resizing(self) -> Path:
        """What is under way while the number of shards changes (see `resizing`)."""
        return self.folder / "state" / "resizing"

    @property
    def resize_request(self) -> Path:
        """The number of shards that a running crawl is asked to have."""
        return self.folder / "state" / "resize-to"

    @property
    def restart_request(self) -> Path:
        """The request to restart the shards of a running crawl."""
        return self.folder / "state" / "restart"

    @property
    def spooled(self) -> tuple[Spooled, ...]:
        """How far each shard that has begun has committed its rows."""
        return tuple(Spooled(commit.shard, self.spool(commit.shard), commit.tables) for commit in self.commits())

    def commits(self) -> list[ShardCommit]:
        """How far each shard that has begun had come when it last committed.

        A shard whose state is lost or damaged is read from its files, as far as they go, and a warning is logged.
        """
        found = (self.commit_of(number) for number in range(self.shards))
        return [commit for commit in found if commit is not None]

    def commit_of(self, number: int) -> ShardCommit | None:
        """How far one shard had come; `None` if it has not begun."""
        try:
            self.check_begun(number)
            if not is_begun(self.shard(number)):
                return None
            meta = meta_of(self.shard(number), _Ends, "ShardMeta") or _Ends()
            return ShardCommit(number, meta.tables, meta.archive)
        except CollectionDamaged as error:
            from .tables.writer import surviving_mark  # imports Arrow, which only damage needs here

            log.warning("%s; tables and archive are read as far as they go (%s)", error, error.hint)
            return ShardCommit(number, surviving_mark(self.tables, self.spool(number), number), None)

    def check_begun(self, number: int) -> None:
        """Raise `CollectionDamaged` if a shard has written something before and has no state any more."""
        home = self.shard(number)
        if not is_begun(home) and (was_begun(home) or self.has_files(number)):
            raise lost_state(home)

    def has_files(self, number: int) -> bool:
        """Whether there are WARC or Parquet files of a shard."""
        from .warc.records import files_of  # only where a state is missing

        has_rows = next(self.tables.glob(f"*/{number:02d}-*.parquet"), None) is not None
        return has_rows or (self.warc.is_dir() and next(files_of(self.warc, number), None) is not None)

    @property
    def shards(self) -> int:
        """How many shards the collection has; 0: it was not begun."""
        return len(list((self.folder / "state").glob("shard-*")))


class _Ends(Struct, frozen=True):
    """How far the files of a shard reach: of a `ShardMeta`, without its other types."""

    tables: bytes | None = None
    archive: WarcEnd = WarcEnd()


def meta_of(folder: Path, kind: type[Meta], name: str = "") -> Meta | None:
    """A value that a shard has committed, which may be open elsewhere; `name` is that of the type if it is another."""
    with closing(committed_marks(folder)) as marks:
        return marks.meta(kind, name)
