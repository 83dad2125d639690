"""The folder of a collection: planned, begun, continued, locked, or not a collection.

What was asked is in its `periplus.toml`, over which the options of the command line go; seeds that are given again are
known by their canonical form, new ones are added. While a command crawls into a folder it holds a lock on it, so that
two do not write there at once; reading needs no lock.

Seeds that a person typed open their own sites (`engine.fetch.addresses`); `planned` is told which these are. What else
a collection may do outside of its folder is decided in `trust`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from periplus.engine.fetch import NO_CREDENTIALS, Credentials, opened_by, read_proxies, split_password
from periplus.engine.stats import CrawlStats
from periplus.model import CollectionDamaged, CollectionInUse, ConfigError, Url, UsageError
from periplus.store import DiskState, is_begun
from periplus.store.durable import is_draft, write_file
from periplus.store.folders import FolderLock, FolderLocked, check_contents
from periplus.store.layout import Layout
from periplus.urls import site_of

from . import trust
from .config.settings import Config
from .options import with_implied_when_new
from .readable import SOCKET, layout_of
from .seeds import MAX_SEEDS, read_seeds, seeds_and_credentials, seeds_from, split_userinfo

SEED_FILE = "seeds.txt"
SEEDS_IN_SETTINGS = 200
"""More seeds than a person would look through lie in a file of their own."""

_LOCK = "crawl.lock"
_INNOCENT = frozenset({_LOCK, SOCKET, ".DS_Store", "lost+found", SEED_FILE, trust.SIGNATURE})
"""What may lie in a folder that is to become a collection: others' dust, and our own, of a first moment that failed."""


class CollectionSetup(Struct, frozen=True):
    """A collection: its folder, its configuration and its seeds. `is_new`: nothing was crawled into it before.

    `credentials` are those given in seeds and for a proxy (`user:password@`), for this process and never saved;
    `untrusted` are names of settings in its folder that no person has given: here they have their defaults (`trust`).
    """

    folder: Path
    config: Config
    seeds: tuple[Url, ...]
    is_new: bool
    credentials: Credentials = NO_CREDENTIALS
    untrusted: tuple[str, ...] = ()

    @property
    def layout(self) -> Layout:
        """The paths in the folder."""
        return Layout(self.folder)

    @property
    def workers(self) -> int:
        """The number of shards: as configured, or as the collection was begun with, or one a core."""
        return self.config.crawl.workers or self.layout.shards or cores()

    def save(self) -> None:
        """Write the settings and seeds, if they are not there already, and create the folder of every shard.

        The number of shards is fixed here, before the first of them does anything: whatever happens afterwards, the
        next crawl divides the sites among as many.
        """
        self.check_trusted()
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.config
        if len(self.seeds) > SEEDS_IN_SETTINGS:
            write_file(self.folder / SEED_FILE, "".join(f"{seed}\n" for seed in self.seeds).encode())
            crawl = replace(config.crawl, seeds=(), seed_file=SEED_FILE, workers=self.workers)
        else:
            crawl = replace(config.crawl, seeds=tuple(self.seeds), seed_file="", workers=self.workers)
        config = replace(config, crawl=crawl)
        trust.sign(config, self.folder)
        path = self.layout.settings
        if not path.is_file() or Config.load(path) != config:
            write_file(path, config.dump().encode())
        for number in range(self.workers):
            self.layout.shard(number).mkdir(parents=True, exist_ok=True)

    def check_trusted(self) -> None:
        """Raise `ConfigError` if the folder has settings that no person has given: they are needed from here on."""
        trust.check(self.untrusted, self.folder)


def is_map(collection: CollectionSetup) -> bool:
    """Whether no pages are fetched, but only what sites publish about themselves."""
    return collection.config.sitemaps.only


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def planned(
    folder: Path,
    *,
    typed: Sequence[str] = (),
    typed_lines: Iterable[str] = (),
    found: Sequence[str] = (),
    settings: Path | None = None,
    options: Mapping[str, object],
    needs_seeds: bool = True,
    has_own_ordering: bool = False,
) -> CollectionSetup:
    """Return the collection that a crawl into a folder would make or continue; nothing is written yet.

    `typed` are seeds that a person gave, `typed_lines` those of a file that a person named: they open their own sites
    if these are private, as do the seeds in the file `settings`, which a person named, too, and those that `options`
    name. `found` are seeds from anywhere else, and open nothing, like those that the folder had before. If the program
    `has_own_ordering`, no option implies another.
    """
    from periplus.engine.part import Setup  # these load all of a crawl, which commands that only read do not need

    from .crawl_parts import check_parts
    from .opening import check_ordering
    from .resizing import check_whole

    layout = Layout(folder)
    is_new = not layout.settings.is_file()
    if is_new:
        _refuse_other_folders(folder)
    check_contents(folder, except_for=(SOCKET,))
    check_whole(layout)
    before = Config() if is_new else Config.load(layout.settings, options)
    config = Config.load(settings, options) if settings is not None else before
    config = config.with_options(options)
    config = with_implied_when_new(config, options) if is_new and not has_own_ordering else config
    config, of_proxy = without_password(config)
    if config.wire.proxies:
        read_proxies(config.wire.proxies)  # checks it
    named = _seeds_of(config, settings.parent) if settings is not None else _seeds_asked(options)
    named, given = seeds_and_credentials([*named, *typed, *_seeds_in(typed_lines)])
    typed_urls = seeds_from(named)
    opened = opened_by(typed_urls, config.dns.hosts, ())
    unsigned = trust.unsigned(before, folder, opened)
    if settings is None:
        trust.check([name for name in unsigned if options.get(name) is None], folder)
    config = _with_workers(config, before.crawl.workers or layout.shards, folder)
    check_ordering(config, layout)
    check_parts(Setup(config, layout))
    others, kept = seeds_and_credentials(_seeds_of(trust.without(before, unsigned), folder))
    credentials = kept.merged(given).merged(of_proxy)
    stored = seeds_from(others)
    seeds = tuple(dict.fromkeys([*stored, *typed_urls, *seeds_from(seeds_and_credentials(found)[0])]))
    if not seeds and needs_seeds:
        raise UsageError("no seeds", hint=f"give a seed: periplus crawl https://example.org -o {folder}")
    if credentials.sites and config.crawl.seeds:  # the settings of a run are logged
        config = config.with_options({"crawl.seeds": [split_userinfo(seed)[0] for seed in config.crawl.seeds]})
    earlier = () if "wire.allow_private" in unsigned else _opened_before(before, stored)
    entries = opened_by(typed_urls, config.dns.hosts, [*config.wire.allow_private, *earlier])
    config = config.with_options({"wire.allow_private": entries})
    return CollectionSetup(folder, config, seeds, is_new, credentials)


def without_password(config: Config) -> tuple[Config, Credentials]:
    """The settings without the password of a proxy, and that: settings are written to the collection and its log."""
    proxy, password = split_password(config.wire.proxy)
    return (
        (config.with_options({"wire.proxy": proxy}), Credentials(proxy=password))
        if password
        else (config, NO_CREDENTIALS)
    )


def _opened_before(before: Config, stored: Sequence[Url]) -> tuple[str, ...]:
    """The entries for sites of stored seeds: another `--allow-private` replaces the others, but not these."""
    allowed = before.wire.allow_private
    sites = set(map(site_of, stored)) if allowed else set()
    return tuple(entry for entry in allowed if entry in sites)


def existing(folder: Path) -> CollectionSetup:
    """Return an existing collection, for reading. Settings that no person has given are left out (`trust`)."""
    config = Config.load(layout_of(folder).settings)
    untrusted = trust.unsigned(config, folder)
    config = trust.without(config, untrusted)
    return CollectionSetup(folder, config, seeds_from(_seeds_of(config, folder)), is_new=False, untrusted=untrusted)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock the folder against other crawls. The lock is on the folder itself, and ends with the process."""
    from multiprocessing.process import current_process  # only what writes needs it

    if getattr(current_process(), "_inheriting", False):
        raise SystemExit(1)  # a worker that runs the script of its program for a function in it; the program reports it
    folder.mkdir(parents=True, exist_ok=True)
    check_contents(folder, except_for=(SOCKET,))  # also of the lock itself, which is written to
    try:
        lock = FolderLock(folder, _LOCK)
    except FolderLocked as error:
        raise CollectionInUse(
            str(error), hint=f"wait until it ends, or stop it; periplus info {folder} looks without disturbing it"
        ) from error
    try:
        yield
    finally:
        lock.close()


@contextmanager
def states(layout: Layout) -> Iterator[dict[int, DiskState]]:
    """Open what every shard has committed, without disturbing a running crawl."""
    opened: dict[int, DiskState] = {}
    try:
        for number in range(layout.shards):
            folder = layout.shard(number)
            layout.check_begun(number)
            if is_begun(folder):
                opened[number] = DiskState.read_only(folder, shard=number)
        yield opened
    finally:
        for state in opened.values():
            state.close()


class _Counted(Struct):
    """The statistics of a `ShardMeta`, read without its other types, which most of the crawl would be loaded for."""

    stats: CrawlStats = field(default_factory=CrawlStats)


def tally_of(layout: Layout) -> CrawlStats:
    """Return the statistics of all shards, as of the last commit."""
    total = CrawlStats()
    with states(layout) as opened:
        for state in opened.values():
            meta = state.meta(_Counted, "ShardMeta")
            total += CrawlStats() if meta is None else meta.stats
    return total


def _with_workers(config: Config, before: int, folder: Path) -> Config:
    """Keep the number of shards that the collection was begun with: sites stay in their shards."""
    asked = config.crawl.workers
    if before and asked not in (0, before):
        raise ConfigError(
            f"{folder} was begun with {before} workers and cannot be continued with {asked}",
            hint=f"use --workers {before}, or first periplus cluster resize {folder} {asked}",
        )
    return config.with_options({"crawl.workers": asked or before})


def _refuse_other_folders(folder: Path) -> None:
    """Raise an error if the folder holds something else than a collection."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", hint="give the folder of a collection: -o DIR")
    if not folder.is_dir():
        return
    if (folder / "state").is_dir():
        raise CollectionDamaged(f"{folder} has no periplus.toml any more", hint="put it back; it may be empty")
    names = (path.name for path in islice(folder.iterdir(), 1000))
    strangers = sorted(name for name in names if name not in _INNOCENT and not is_draft(name))
    if strangers:
        raise UsageError(
            f"{folder} is not a collection: it holds {strangers[0]} and no periplus.toml",
            hint="give a folder that is empty or not there yet: -o DIR",
        )


def _seeds_of(config: Config, folder: Path) -> list[str]:
    file = config.crawl.seed_file
    return [*config.crawl.seeds, *(read_seeds(folder / file) if file else ())]


def _seeds_asked(options: Mapping[str, object]) -> list[str]:
    """The seeds among the options of a person; a file is looked for in the current folder."""
    names = ("crawl.seeds", "crawl.seed_file")
    return _seeds_of(Config().with_options({name: options.get(name) for name in names}), Path())


def _seeds_in(lines: Iterable[str]) -> list[str]:
    """The seeds in a file, one a line; empty lines, and those that begin with #, are ignored."""
    texts = (line.strip() for line in lines)
    return [text for text in islice(texts, MAX_SEEDS) if text and not text.startswith("#")]
