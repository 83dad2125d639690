"""Where things lie in a collection, and what a shard that is not open says of itself."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from xxhash import xxh3_64_hexdigest

from periplus.crawl.machine import ShardMeta
from periplus.store import DiskState, is_begun
from periplus.store.tables import Spooled


class Layout(Struct, frozen=True):
    """Where things lie in a collection."""

    folder: Path

    @property
    def settings(self) -> Path:
        """What was asked."""
        return self.folder / "periplus.toml"

    @property
    def warc(self) -> Path:
        """Every answer, as it came."""
        return self.folder / "warc"

    @property
    def tables(self) -> Path:
        """What happened, as Parquet."""
        return self.folder / "tables"

    def shard(self, number: int) -> Path:
        """What a shard remembers."""
        return self.folder / "state" / f"shard-{number:02d}"

    def local(self, disk: Path, number: int) -> Path:
        """What a shard remembers, if it lies on a machine's own disk, where other collections may lie, too."""
        name = f"{self.folder.resolve().name}-{xxh3_64_hexdigest(str(self.folder.resolve()).encode())}"
        return disk / name / self.shard(number).name

    def log(self, number: int) -> Path:
        """The inputs of a shard since its last commit."""
        return self.shard(number) / "log"

    def spool(self, number: int) -> Path:
        """Rows of a shard that are on their way to Parquet."""
        return self.shard(number) / "spool"

    def ranks(self, by: Path) -> Path:
        """What an earlier collection says that URLs are worth."""
        return self.folder / "state" / f"ranks-{xxh3_64_hexdigest(str(by).encode())}.npy"

    @property
    def coordinator(self) -> Path:
        """What the coordinator of a crawl on many machines must not forget."""
        return self.folder / "state" / "coordinator.json"

    @property
    def listed_ranks(self) -> Path:
        """What links and sitemaps said, when the crawl was last begun, that listed pages are worth."""
        return self.folder / "state" / "ranks-listed.npy"

    def weights(self, name: str) -> Path:
        """What pages were worth by this importance, when they were last watched."""
        return self.folder / "state" / f"ranks-weight-{name}.npy"

    @property
    def resizing(self) -> Path:
        """What is under way while the number of shards changes (see `resizing`)."""
        return self.folder / "state" / "resizing"

    @property
    def resize_request(self) -> Path:
        """The number of shards that somebody wants a running crawl to have."""
        return self.folder / "state" / "resize-to"

    @property
    def spooled(self) -> tuple[Spooled, ...]:
        """How far each shard that has begun has committed its rows."""
        return tuple(
            Spooled(number, self.spool(number), None if meta is None else meta.tables)
            for number in range(self.shards)
            if is_begun(self.shard(number))
            for meta in [meta_of(self.shard(number))]
        )

    @property
    def shards(self) -> int:
        """How many shards the collection has; 0: it was not begun."""
        return len(list((self.folder / "state").glob("shard-*")))


def meta_of(folder: Path) -> ShardMeta | None:
    """What a shard that may be open elsewhere has committed of itself."""
    state = DiskState.read_only(folder)
    try:
        return state.meta(ShardMeta)
    finally:
        state.close()
