"""A published site from its settings: `publish.toml`, the sources it names, and the publisher."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from periplus.config.reading import load, with_options
from periplus.config.writing import dump
from periplus.model import UsageError
from periplus.publish import (
    FolderInventory,
    Inventory,
    Publisher,
    PublishSettings,
    RowInventory,
    git_dates,
    read_rows,
)
from periplus.publish.files import write_file
from periplus.publish.publisher import LEDGER

SETTINGS: Final = "publish.toml"
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
    settings = load(PublishSettings, path) if path.exists() else PublishSettings()
    return with_options(settings, options or {}, "options")


def save_settings(settings: PublishSettings, out: Path, ledger: Path | None = None) -> Path:
    """Write the settings beside the ledger, so that the next scan needs no options."""
    path = settings_path(out, ledger)
    write_file(path, dump(settings, HEADER).encode())
    return path


@contextmanager
def inventories(publisher: Publisher, settings: PublishSettings) -> Iterator[list[Inventory]]:
    """The sources that the settings name."""
    source = settings.source
    if source.folder:
        root = Path(source.folder)
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
