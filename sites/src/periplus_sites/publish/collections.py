"""Assembles the publisher of a site from `publish.toml`: its settings, and the sources to scan.

Sources are a folder of files, a collection, or rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Final

from periplus.collection.config.toml_files import dump, load, with_options
from periplus.insight.views import Views
from periplus.model import ConfigError, PeriplusError, UsageError
from periplus.store.layout import Layout

from . import FolderInventory, Inventory, Published, Publisher, PublishSettings, RowInventory, git_dates, read_rows
from .files import write_file
from .publisher import LEDGER
from .watching import folder_changes

SETTINGS: Final = "publish.toml"
_INDEXED: Final = """
with changed as (select url, max(seen_at) as at from changes where is_change group by url),
texts as (
    select pages.url, arg_min(main_digest, read_at) as digest, arg_max(title, read_at) as title,
        arg_max(mime, read_at) as mime
    from pages left join changed using (url) where changed.at is null or read_at >= changed.at - interval 1 second
    group by pages.url)
select indexed.url, epoch(changed.at) as updated_at, texts.digest::varchar as digest, texts.mime, texts.title,
    indexed.bytes as size
from indexed join texts using (url) left join changed using (url)
where starts_with(indexed.url, $base) and list_contains($types, coalesce(texts.mime, 'text/html')) order by indexed.url
"""
HEADER: Final = """\
# How this site is published. A line that begins with "#" shows a default.
"""


def settings_path(out: Path, ledger: Path | None = None) -> Path:
    """Where the settings of a published site are."""
    return (ledger or out / LEDGER) / SETTINGS


def load_settings(
    out: Path, ledger: Path | None = None, options: Mapping[str, object] | None = None
) -> PublishSettings:
    """The settings of a published site, with those given on the command line over them."""
    path = settings_path(out, ledger)
    try:
        settings = load(PublishSettings, path) if path.exists() else PublishSettings()
    except ConfigError as error:
        if str(error) != f"{path}: [robots] has no setting 'usage'":
            raise
        raise ConfigError(
            f"{path}: robots.usage was replaced by the table [usage]",
            hint='remove the line, and write [usage] with train, search and ai_input = "allow" or "disallow"',
        ) from error
    return with_options(settings, options or {}, "options")


def save_settings(settings: PublishSettings, out: Path, ledger: Path | None = None) -> Path:
    """Write the settings beside the ledger, so that the next scan needs no options."""
    path = settings_path(out, ledger)
    write_file(path, dump(settings, HEADER, has_defaults=True).encode())
    return path


def scans_of_changes(
    publisher: Publisher, settings: PublishSettings, *, say: Callable[[str], None], stop: Event | None = None
) -> Iterator[Published]:
    """Scan the folder of a site each time that its files have changed. `say` is called with why a scan was not made."""
    if not settings.source.folder or is_collection(Path(settings.source.folder)):
        raise UsageError("only a folder of files can be watched", hint="give the folder: periplus publish scan FOLDER")
    root = Path(settings.source.folder)
    for _ in folder_changes(root, skip=publisher.is_own, stop=stop):
        try:
            with inventories(publisher, settings) as sources:
                yield publisher.scan(sources)
        except PeriplusError as error:  # a half-written folder, another scan: the next change starts another one
            say(f"not scanned: {error}")


def is_collection(folder: Path) -> bool:
    """Whether a folder is a collection that Periplus crawled, and not a folder of files to publish."""
    return (folder / "periplus.toml").is_file() and (folder / "tables").is_dir()


def collection_rows(folder: Path, base_url: str, types: Sequence[str]) -> Iterator[dict[str, object]]:
    """Every page of a collection that may be indexed, one of each cluster of near-duplicates, as rows to publish.

    Only pages of these media types: a crawl also reads plain text.

    A page whose change a crawl has seen has the time at which it was first seen so. Of others no date is known: when
    a page was crawled first says nothing of when it was written. The digest is that of the text since the last change
    that counts, so that small edits move no date.
    """
    found = 0
    with Views(folder, spooled=Layout(folder).spooled) as views:
        for batch in views.ask(_INDEXED, {"base": base_url, "types": list(types)}):
            found += batch.num_rows
            yield from batch.to_pylist()
    if not found:
        raise UsageError(
            f"{folder} has no page below {base_url} that may be indexed",
            hint="is --base-url the site that was crawled?",
        )


@contextmanager
def inventories(publisher: Publisher, settings: PublishSettings) -> Iterator[list[Inventory]]:
    """The sources that the settings name."""
    source = settings.source
    if source.folder:
        root = Path(source.folder)
        if is_collection(root):
            rows = collection_rows(root, publisher.base_url, settings.sitemap.types)
            yield [RowInventory(rows, publisher.base_url)]
            return
        yield [
            FolderInventory(
                root,
                publisher.base_url,
                clean_urls=source.clean_urls,
                include=source.include,
                exclude=source.exclude,
                dates=git_dates(root) if source.dates == "git" else None,
                skip=publisher.is_own,
            )
        ]
    elif source.rows == "-":
        yield [RowInventory(read_rows(sys.stdin), publisher.base_url)]
    elif source.rows:
        path = Path(source.rows)
        if not path.is_file():
            raise UsageError(f"{path} is not a file", hint="give a CSV or JSONL file, or - for standard input")
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            yield [RowInventory(read_rows(file), publisher.base_url)]
    else:
        raise UsageError(
            "no source to scan was given", hint="give a folder: periplus publish scan FOLDER --base-url URL -o OUT"
        )
