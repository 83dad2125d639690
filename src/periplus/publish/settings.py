"""The settings of a published site, one struct a table of `publish.toml`."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

PAGE_TYPES = ("text/html", "application/xhtml+xml", "application/pdf")


class SourceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where resources are found.

    `folder`: files below this folder. `rows`: a CSV or JSONL file of rows, `-` for standard input. `dates`: where the
    date of a file comes from, `files` (modification times) or `git` (the last commit that touched it). `clean_urls`:
    `.html` is left out of addresses. `include`, `exclude`: patterns of paths; all are included if none is given.
    """

    folder: str = ""
    rows: str = ""
    dates: Literal["files", "git"] = "files"
    clean_urls: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ("_drafts/*", "drafts/*", "*.draft.*")


class SitemapSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How sitemaps are laid out.

    `layout`: `single` (one file, rewritten), `log` (sealed files and one a day for what changed), or `auto`: `log` from
    `log_from` addresses on. `urls_per_file`: addresses in a file of a log. `compact_days`: days after which a log is
    written as new base files. `types`: media types that are listed. `images`: whether the images of pages are, too.
    """

    layout: Literal["auto", "single", "log"] = "auto"
    log_from: int = 20_000
    urls_per_file: int = 10_000
    compact_days: int = 30
    types: tuple[str, ...] = PAGE_TYPES
    images: bool = False


class NewsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A news sitemap of the articles of the last two days, if `name`, the publication, is given.

    `language`: that of the publication. `prefix`: articles are below this path.
    """

    name: str = ""
    language: str = "en"
    prefix: str = "/"


class ArchiveSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Metadata archives by date and type. `enabled`: whether they are written, below `folder`."""

    enabled: bool = True
    folder: str = "metadata"


class RobotsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Our lines in robots.txt. `manage`: whether they are written. `usage`: lines about use, as they stand."""

    manage: bool = False
    usage: tuple[str, ...] = ()


class FeedSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The Atom feed of what changed. `enabled`: whether it is written. `title`: its title. `hub`: a WebSub hub."""

    enabled: bool = True
    title: str = ""
    hub: str = ""


class PushSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Whom to tell of changes: IndexNow endpoints, and receivers of sitemap pings.

    `debounce`: seconds for which changes are gathered. `repeat`: seconds in which an address is not sent twice.
    """

    indexnow: tuple[str, ...] = ()
    ping: tuple[str, ...] = ()
    debounce: float = 60.0
    repeat: float = 600.0


class PublishSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a published site. `base_url` is the address of its root."""

    base_url: str = ""
    source: SourceSettings = field(default_factory=SourceSettings)
    sitemap: SitemapSettings = field(default_factory=SitemapSettings)
    news: NewsSettings = field(default_factory=NewsSettings)
    archives: ArchiveSettings = field(default_factory=ArchiveSettings)
    robots: RobotsSettings = field(default_factory=RobotsSettings)
    feed: FeedSettings = field(default_factory=FeedSettings)
    push: PushSettings = field(default_factory=PushSettings)
    resync: bool = False
