"""The settings of a published site, one struct a table of `publish.toml`."""

from __future__ import annotations

from msgspec import Struct, field

from periplus.model import ConfigError

PAGE_TYPES = ("text/html", "application/xhtml+xml", "application/pdf")
SHORTEST_TOKEN = 16
"""Letters of a token: with fewer it could be tried out."""


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f"{name}: there is no {value!r}", hint=f"use {', '.join(known[:-1])} or {known[-1]}")


class SiteSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The site."""

    base_url: str = ""
    """The address of its root."""


class SourceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where resources are found."""

    folder: str = ""
    """Files below this folder."""
    rows: str = ""
    """A CSV or JSONL file of rows, `-` for standard input."""
    dates: str = "files"
    """Where the date of a file comes from, `files` (modification times) or `git` (the last commit that touched it)."""
    clean_urls: bool = False
    """Whether `.html` is left out of addresses."""
    include: tuple[str, ...] = ()
    """Patterns of paths; all are included if none is given."""
    exclude: tuple[str, ...] = ("_drafts/*", "drafts/*", "*.draft.*")
    """Patterns of paths that are not published."""

    def __post_init__(self) -> None:
        """Refuse what is not a source of dates."""
        _check("dates", self.dates, ("files", "git"))


class SitemapSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How sitemaps are laid out."""

    layout: str = "auto"
    """`single` (one file, rewritten), `log` (sealed files, and one a day for what changed), or `auto`."""
    log_from: int = 20_000
    """With `auto`, the number of addresses from which on a log is written."""
    urls_per_file: int = 10_000
    """Addresses in a file of a log."""
    compact_days: int = 30
    """Days after which a log is written as new base files."""
    types: tuple[str, ...] = PAGE_TYPES
    """Media types that are listed."""
    images: bool = False
    """Whether the images of pages are listed with them."""

    def __post_init__(self) -> None:
        """Refuse what is not a layout."""
        _check("layout", self.layout, ("auto", "single", "log"))


class NewsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A news sitemap of the articles of the last two days, if `name`, the publication, is given."""

    name: str = ""
    """The name of the publication."""
    language: str = "en"
    """The language of the publication."""
    prefix: str = "/"
    """Articles are below this path."""


class ArchiveSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Metadata archives by date and type."""

    enabled: bool = True
    """Whether they are written, below `folder`."""
    folder: str = "metadata"
    """Where they are written, below the folder of the published files."""


class RobotsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Our lines in robots.txt."""

    manage: bool = False
    """Whether they are written."""
    usage: tuple[str, ...] = ()
    """Lines about use, as they stand."""


class FeedSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The Atom feed of what changed."""

    enabled: bool = True
    """Whether it is written."""
    title: str = ""
    """Its title."""
    hub: str = ""
    """A WebSub hub."""


class ResyncSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """ResourceSync documents, for harvesters of repositories."""

    enabled: bool = False
    """Whether they are written: `/.well-known/resourcesync` and the lists that it leads to."""


class LlmsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The guide for language models, llms.txt."""

    enabled: bool = False
    """Whether it is written."""
    title: str = ""
    """The name of the site; by default the title of the home page."""
    description: str = ""
    """What the site is; by default the description of the home page."""
    sections: int = 10
    """Sections: the largest folders."""
    links_per_section: int = 20
    """Links in a section."""
    optional_links: int = 200
    """Links in the last section, of what has no room in the others."""


class HookSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where programs report what they changed, over HTTP."""

    token: str = ""
    """The secret of those who may report; without one nothing is received."""
    path: str = "/.periplus/changes"
    """Where the middleware takes reports."""

    def __post_init__(self) -> None:
        """Refuse a token that can be guessed."""
        if self.token and len(self.token) < SHORTEST_TOKEN:
            raise ConfigError(
                f"hooks.token has {len(self.token)} letters; {SHORTEST_TOKEN} are the least",
                hint="make one: python -c 'import secrets; print(secrets.token_urlsafe(24))'",
            )


class PushSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Whom to tell of changes: IndexNow endpoints, and receivers of sitemap pings."""

    indexnow: tuple[str, ...] = ()
    """IndexNow endpoints, such as `https://api.indexnow.org/indexnow`, which passes messages on to several engines."""
    ping: tuple[str, ...] = ()
    """Receivers of `?sitemap=URL`. The public ones of Google and Bing are closed."""
    debounce: float = 60.0
    """Seconds for which changes are gathered."""
    repeat: float = 600.0
    """Seconds in which an address is not sent twice."""


class ServingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What the middleware does with the requests of a web application."""

    trust_for: float = 0.0
    """Seconds after a scan or a hook for which a 304 is answered without asking the application; 0: never."""
    public: bool = False
    """Whether pages are the same for visitors with cookies and credentials."""
    observe: float = 0.1
    """Share of the pages passing by whose content is compared with the ledger."""
    discover: bool = False
    """Whether pages passing by that the ledger does not know are added to it, if their address has no query."""
    count_visits: bool = True
    """Whether visits of crawlers are counted, by minute."""


class PublishSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a published site."""

    site: SiteSettings = field(default_factory=SiteSettings)
    source: SourceSettings = field(default_factory=SourceSettings)
    sitemap: SitemapSettings = field(default_factory=SitemapSettings)
    news: NewsSettings = field(default_factory=NewsSettings)
    archives: ArchiveSettings = field(default_factory=ArchiveSettings)
    robots: RobotsSettings = field(default_factory=RobotsSettings)
    feed: FeedSettings = field(default_factory=FeedSettings)
    resync: ResyncSettings = field(default_factory=ResyncSettings)
    llms: LlmsSettings = field(default_factory=LlmsSettings)
    hooks: HookSettings = field(default_factory=HookSettings)
    push: PushSettings = field(default_factory=PushSettings)
    serving: ServingSettings = field(default_factory=ServingSettings)


def settings_for(base_url: str) -> PublishSettings:
    """The default settings of a site."""
    return PublishSettings(SiteSettings(base_url))
