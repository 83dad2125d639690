"""A map: a crawl that fetches no pages, but robots.txt, sitemaps and feeds. Its folder and its settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from periplus.config import Config
from periplus.model import UsageError

from .layout import Layout
from .options import crawl_settings


def map_settings(
    folder: Path,
    *,
    sitemap: str | Sequence[str] | None = None,
    scope: str | None = None,
    include: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    media: str | Sequence[str] | None = None,
) -> dict[str, object]:
    """The settings of a crawl that fetches no pages: what a site publishes about itself, in one shard if it is new."""
    workers = None if Layout(folder).shards else 1
    chosen = crawl_settings(
        sitemap=sitemap, scope=scope, include=include, exclude=exclude, media=media, workers=workers
    )
    return {**chosen, "sitemaps.only": True, "sitemaps.follow": True}


@contextmanager
def map_folder(out: Path | None) -> Iterator[Path]:
    """The folder of a map: the one that was named, or one that is removed afterwards."""
    if out is None:
        with TemporaryDirectory(prefix="periplus-map-") as folder:
            yield Path(folder)
        return
    path = Layout(out).settings
    if path.is_file() and not Config.load(path).sitemaps.only:
        raise UsageError(f"{out} is a crawl of pages, not a map", hint="name another folder, or none")
    yield out
