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
    """The URL of the site's root."""


class SourceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where resources are found."""

    folder: str = ""
    """Files below this folder."""
    rows: str = ""
    """A CSV or JSONL file of rows; `-`: standard input."""
    dates: str = "files"
    """Dates of files: `files` (modification times) or `git` (the last commit that touched each)."""
    clean_urls: bool = False
    """Leave `.html` out of URLs."""
    include: tuple[str, ...] = ()
    """Patterns of paths to publish; empty: all."""
    exclude: tuple[str, ...] = ("_drafts/*", "drafts/*", "*.draft.*", "_sources/*", "*/_sources/*")
    """Patterns of paths not to publish. Sphinx keeps the sources of its pages in `_sources`."""

    def __post_init__(self) -> None:
        """Refuse what is not a source of dates."""
        _check("dates", self.dates, ("files", "git"))


class SitemapSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How sitemaps are laid out."""

    layout: str = "auto"
    """`single` (one file, rewritten), `log` (sealed files, and one a day for what changed), or `auto`."""
    log_from: int = 20_000
    """With `auto`, the number of URLs from which a log is written."""
    urls_per_file: int = 10_000
    """URLs in a file of a log."""
    compact_days: int = 30
    """Days after which a log is rewritten as base files."""
    types: tuple[str, ...] = PAGE_TYPES
    """Media types that are listed."""
    images: bool = False
    """List the images of pages."""

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
    """Write metadata archives, below `folder`."""
    folder: str = "metadata"
    """Their folder, below that of the published files."""


class RobotsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Our lines in robots.txt."""

    manage: bool = False
    """Write our lines into `robots.txt`."""


USES = ("search", "train", "ai_input")
FORMS = ("content-usage", "content-signal", "tdmrep", "rsl")
_ANSWERS = ("", "allow", "disallow")


def path_uses(written: str) -> tuple[str, dict[str, str]]:
    """A path and its uses: `/open/ train=allow search=allow`."""
    path, *pairs = written.split()
    uses = {name: value for name, _, value in (pair.partition("=") for pair in pairs)}
    if not path.startswith("/") or not uses or any(use not in USES or not uses[use] for use in uses):
        raise ConfigError(f"usage.paths: {written!r} is not a path with uses", hint='write "/open/ train=allow"')
    for value in uses.values():
        _check("usage.paths", value, _ANSWERS[1:])
    return path, uses


class UsageSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What may be done with the pages of the site, stated in every form that crawlers read."""

    search: str = ""
    """Search results: `allow` or `disallow`; empty: nothing is stated."""
    train: str = ""
    """The training of models: the same."""
    ai_input: str = ""
    """Texts that are given to a model with a question: the same."""
    paths: tuple[str, ...] = ()
    """Paths with other uses, such as `"/open/ train=allow"`; the longest that matches counts."""
    forms: tuple[str, ...] = FORMS
    """How it is stated: `content-usage` and `content-signal` in robots.txt and headers, `tdmrep` and `rsl` in files."""

    def __post_init__(self) -> None:
        """Refuse what is not an answer, a form, or a path with uses."""
        for use in USES:
            _check(f"usage.{use}", getattr(self, use), _ANSWERS)
        for form in self.forms:
            _check("usage.forms", form, FORMS)
        for written in self.paths:
            if not written.split():
                raise ConfigError("usage.paths: a path is empty", hint='write "/open/ train=allow"')
            path_uses(written)


class FeedSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The Atom feed of what changed."""

    enabled: bool = True
    """Write the Atom feed of changes."""
    title: str = ""
    """The title of the feed."""
    hub: str = ""
    """A WebSub hub."""


class ResyncSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """ResourceSync documents, for harvesters of repositories."""

    enabled: bool = False
    """Write ResourceSync documents: `/.well-known/resourcesync` and its lists."""


class LlmsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The guide for language models, llms.txt."""

    enabled: bool = False
    """Write `llms.txt`."""
    title: str = ""
    """The name of the site; empty: the title of the home page."""
    description: str = ""
    """What the site is; empty: the description of the home page."""
    sections: int = 10
    """Maximum sections, one for each of the largest folders."""
    links_per_section: int = 20
    """Links in a section."""
    optional_links: int = 200
    """Links in the last section, for pages that fit in no other."""


class HookSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where programs report what they changed, over HTTP."""

    token: str = ""
    """The secret of those who may report; empty: no reports are accepted."""
    path: str = "/.periplus/changes"
    """The path of reports in the middleware."""

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
    """IndexNow endpoints, such as `https://api.indexnow.org/indexnow`, which forwards messages to several engines."""
    ping: tuple[str, ...] = ()
    """Receivers of `?sitemap=URL`."""
    debounce: float = 60.0
    """Seconds for which changes are collected."""
    repeat: float = 600.0
    """Seconds in which a URL is not sent twice."""


class ServingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What the middleware does with the requests of a web application."""

    trust_for: float = 0.0
    """Seconds after a scan or a hook in which the middleware answers 304 without asking the application; 0: never."""
    public: bool = False
    """Pages are the same for visitors with cookies and credentials."""
    observe: float = 0.1
    """Share of passing pages that are compared with the ledger."""
    discover: bool = False
    """Add passing pages without a query to the ledger."""
    count_visits: bool = True
    """Count visits of crawlers, by minute."""
    dictionaries: bool = False
    """Keep the last two versions of pages, and send readers that have one of them only what is different (RFC 9842)."""


class SignatureSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the middleware verifies the signatures of crawlers."""

    verify: bool = False
    """Verify signed requests, with the keys that their agents publish: they are fetched beside the requests."""
    max_lifetime: int = 86_400
    """Seconds for which a signature may hold; others are not accepted."""
    once: bool = False
    """Accept a signature once only."""


class PublishSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a published site."""

    site: SiteSettings = field(default_factory=SiteSettings)
    source: SourceSettings = field(default_factory=SourceSettings)
    sitemap: SitemapSettings = field(default_factory=SitemapSettings)
    news: NewsSettings = field(default_factory=NewsSettings)
    archives: ArchiveSettings = field(default_factory=ArchiveSettings)
    robots: RobotsSettings = field(default_factory=RobotsSettings)
    usage: UsageSettings = field(default_factory=UsageSettings)
    feed: FeedSettings = field(default_factory=FeedSettings)
    resync: ResyncSettings = field(default_factory=ResyncSettings)
    llms: LlmsSettings = field(default_factory=LlmsSettings)
    hooks: HookSettings = field(default_factory=HookSettings)
    push: PushSettings = field(default_factory=PushSettings)
    serving: ServingSettings = field(default_factory=ServingSettings)
    signatures: SignatureSettings = field(default_factory=SignatureSettings)


def settings_for(base_url: str) -> PublishSettings:
    """The default settings of a site."""
    return PublishSettings(SiteSettings(base_url))
