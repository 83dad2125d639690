"""The tables of every crawl, each declared once: its columns in their order, their types, and what they mean.

The Arrow schemas (`schemas`), the functions that make rows (`single_rows`) and batches (`rows`, `links`), the tables in
SQL and docs/tables.md follow from here; `make tables` writes the last again. Tables of a part are declared in its
folder. A column that may be null has `| None`; all may be where a file was written before they were added.
"""

from __future__ import annotations

from typing import Final

from periplus.model import OutageSeen, SubjectJudged
from periplus.model.rows import (
    Bytes,
    Claim,
    Digest,
    Moment,
    Number,
    Real,
    Share,
    Size,
    TableRow,
    Text,
    Word,
    WordList,
    modules_of_parts,
    rows_in,
)


class DiscoveryRow(TableRow, frozen=True):
    """Every URL that was found, its source, and whether it was accepted."""

    table = "discoveries"
    key = ("url", "source", "refused")
    is_repeated = True
    """A source names a URL again if it turns out to have done so earlier: that depends on when sitemaps are read."""

    url: Text
    """canonical form"""
    site: Word
    """host, and port if not the default"""
    source: Word
    """`seed` `link` `sitemap` `feed` `ping` `archive` `form` `redirect`"""
    found_at: Moment
    """when"""
    depth: Number
    """links from a seed"""
    redirects: Number
    """redirects in a row before it"""
    referrer: Text | None
    """the page, sitemap or feed it was found in"""
    is_new: Claim | None
    """not known before; null if refused"""
    lastmod: Moment | None
    """date of change given by the source: the start of its period"""
    lastmod_granularity: Word | None
    """length of that period: `year` `month` `day` `minute` `second` `fraction`"""
    changefreq: Word | None
    """given by the source"""
    priority: Real | None
    """given by the source"""
    anchor: Text | None
    """text of the link"""
    title: Text | None
    """given by the source"""
    refused: Word | None
    """why a filter refused it; null: accepted"""
    rule: Word | None
    """the rule of that filter"""


class FetchRow(TableRow, frozen=True):
    """Every request that ended, successfully or not."""

    table = "fetches"
    key = ("url", "outcome", "warc_file", "warc_offset")

    url: Text
    """the URL requested"""
    site: Word
    """host and port"""
    domain: Word | None
    """registrable domain; null for addresses"""
    purpose: Word
    """`page` `robots` `sitemap` `feed` `archive` `form`; `probe`: for comparison only; `file`: a style sheet, script,
    image or other file that pages need, or of an imported archive"""
    lane: Word
    """the budget charged: `discovery` `sitemaps` `refresh`; `files` (sitemaps, feeds, archives, a robots.txt fetched
    alone); `probes` (comparisons); `embedded` (files that pages need)"""
    source: Word
    """where the URL was found"""
    outcome: Word
    """`fetched` (any status but redirects and 304) `not-modified` `redirected` `failed` `excluded`"""
    status: Number | None
    """HTTP status, if any"""
    reason: Word | None
    """why it failed or was excluded"""
    rule: Word | None
    """the rule that excluded it"""
    detail: Text | None
    """details of a failure"""
    started_at: Moment
    """start of the request, or time of exclusion"""
    ended_at: Moment
    """end of its handling"""
    duration: Real | None
    """seconds until the end of the answer"""
    bytes: Size | None
    """of the body as sent"""
    content_type: Word | None
    """as the server wrote it"""
    ip: Word | None
    """the address that answered"""
    target: Text | None
    """of a redirect"""
    depth: Number
    """links from a seed"""
    attempt: Number
    """1 for the first"""
    redirects: Number
    """redirects in a row before it"""
    is_truncated: Claim
    """body cut at a limit"""
    digest: Text | None
    """of the body in the WARC file"""
    warc_file: Word | None
    """file in `warc/`; null if nothing was stored"""
    warc_offset: Size | None
    """start of its record"""
    warc_length: Size | None
    """compressed length of its record"""
    is_revisit: Claim | None
    """its record refers to an earlier one with the same body"""
    width: Number | None
    """of a picture (PNG, JPEG, GIF, WebP, AVIF), in pixels"""
    height: Number | None
    """the same"""
    signed: Claim
    """the request had a signature ([identity.md](identity.md))"""
    signing_key: Word | None
    """of a signed request: the first 8 characters of the key's thumbprint"""
    price_scheme: Word | None
    """how a payment is asked for: `crawler-price` `x402` `payment-auth` `rsl` `unknown`; null: none is. Nothing is
    ever paid ([permissions.md](permissions.md#payment))"""
    price_amount: Text | None
    """the amount as written"""
    price_currency: Word | None
    """its currency; of x402 network and asset"""


class PageRow(TableRow, frozen=True):
    """Every body that was read as a page.

    `periplus export` has the texts.
    """

    table = "pages"
    key = ("url", "read_at")

    url: Text
    """its URL"""
    site: Word
    """host and port"""
    read_at: Moment
    """when"""
    canonical: Text | None
    """declared canonical URL"""
    title: Text | None
    """title"""
    description: Text | None
    """meta description"""
    language: Word | None
    """declared language"""
    charset: Word | None
    """encoding it was decoded with"""
    mime: Word | None
    """detected type"""
    text_length: Number
    """characters of visible text"""
    main_length: Number
    """characters of main text"""
    links: Number
    """number of rows in `links`"""
    resources: Number
    """images, videos, sounds"""
    forms: Number
    """forms"""
    alternates: Number
    """versions in other languages or formats"""
    feeds: Number
    """feeds it links to"""
    noindex: Claim
    """`noindex`, or read after `unavailable_after`"""
    nofollow: Claim
    """`nofollow` for the whole page"""
    noarchive: Claim
    """`noarchive`"""
    refresh: Text | None
    """target of a meta refresh"""
    script_redirect: Text | None
    """target of a script's immediate redirect"""
    raw_digest: Digest
    """of the bytes"""
    text_digest: Digest
    """of the visible text"""
    main_digest: Digest
    """of the main text, clocks and counters masked"""
    links_digest: Digest
    """of the linked URLs"""
    sketch: Bytes | None
    """128 MinHash values of 32 bits, little-endian; the common share of two pages is their resemblance"""
    problems: WordList
    """reasons from [problems.md](problems.md)"""
    words: Number | None
    """words of visible text; beyond 4 KiB estimated"""
    title_words: Number | None
    """words of the title"""
    anchor_words: Number | None
    """words of link texts"""
    visible_share: Share | None
    """visible text as a share of the HTML"""
    title_repeats: Number | None
    """words of the title that it repeats, or that are in its URL"""
    word_length: Share | None
    """mean bytes of a word in the first KiB of main text; null below 20 words"""
    distinct_share: Share | None
    """share of distinct words, of these"""
    top_word_share: Share | None
    """share of the commonest word"""
    compression: Share | None
    """bytes of text per deflated byte (first 16 KiB); of home pages and one page in 16"""
    hidden_share: Share | None
    """share of text hidden by inline styles; of the same pages"""
    common_share: Share | None
    """share of its first words that are the commonest of its language; null for languages without a list"""
    search: Word | None
    """may it be in search results: `allow`, `disallow` or null ([preferences.md](preferences.md))"""
    ai_input: Word | None
    """the same for input of a model"""
    train: Word | None
    """the same for training"""
    use: Word | None
    """the most that is allowed: `immediate`, `reference`, `full`"""
    tdm: Word | None
    """text and data mining: `disallow` if rights are reserved"""
    said_by: WordList
    """the statements, each with its place"""
    relevance: Share | None
    """to the topic of a [focused crawl](focused.md), 0 to 1; null without a topic"""
    unavailable_after: Moment | None
    """from when on it is not to be in search results"""


class LinkRow(TableRow, frozen=True):
    """Every link of every page that was read.

    They are in the order of the page, without links within the page.
    """

    table = "links"
    key = ("page", "read_at", "target")
    has_nulls = False

    page: Word
    """its URL"""
    site: Word
    """its site"""
    read_at: Moment
    """when the page was read"""
    target: Word
    """of the link, in canonical form"""
    target_site: Word
    """site of the target"""
    anchor: Text
    """text of the link"""
    rel: Word
    """in lower case"""
    kind: Word
    """element: `a` `area` `iframe` `frame`"""
    is_internal: Claim
    """both on one site"""


class SitemapRow(TableRow, frozen=True):
    """Every visit to a sitemap, feed or archive, with its state after it.

    The last row of a file is its state; the view `sitemap_files` has these rows.
    """

    table = "sitemaps"
    key = ("url", "visits", "outcome")

    url: Text
    """the file"""
    site: Word
    """its site"""
    tree: Word
    """first file of its tree; itself if no index names it"""
    parent: Word | None
    """index that names it"""
    origin: Word
    """how the tree was found: `robots` `well-known` `submitted` `ping` `index` (another worker's) `page`"""
    depth: Number
    """indexes above it"""
    kind: Word | None
    """`urlset` `index` `text` `rss` `atom` `archive` `archive-list` `html` `unknown`; null until it was read"""
    visited_at: Moment
    """when"""
    outcome: Word | None
    """why the visit failed; null: it did not"""
    status: Number | None
    """of the last answer, or of the failure"""
    entries: Size
    """pages listed at the last reading"""
    children: Size
    """sitemaps listed at the last reading"""
    bytes: Size
    """as sent"""
    problems: WordList
    """reasons from [problems.md](problems.md), each once"""
    problem_count: Size
    """number of problems"""
    lastmod: Moment | None
    """given by its index"""
    first_seen_at: Moment
    """first found"""
    read_at: Moment | None
    """last read to its end"""
    due_at: Moment | None
    """next visit; null: never, or already queued"""
    visits: Number
    """answered visits"""
    changes: Number
    """visits that found a change"""
    failures: Number
    """failed visits since the last success"""
    retired: Word | None
    """why it is no longer visited: `gone` `unreachable` `not-a-sitemap` `empty` `useless` `unchanged` `unlisted`
    `moved` `bad-name`"""


class SitemapEntryRow(TableRow, frozen=True):
    """The entries of sitemaps, reading by reading.

    All rows of a reading have the same `read_at`. A `summary` row ends it; a reading without one was interrupted.
    """

    table = "sitemap_entries"
    key = ("sitemap", "read_at", "url", "kind")

    url: Text
    """location as written, absolute; in a `summary` the sitemap"""
    kind: Word
    """`page`, `sitemap` (an index names it) or `summary`"""
    sitemap: Word
    """the sitemap"""
    site: Word
    """its site"""
    read_at: Moment
    """start of the reading"""
    lastmod: Moment | None
    """date of change in the entry: the start of its period"""
    lastmod_granularity: Word | None
    """length of that period: `year` `month` `day` `minute` `second` `fraction`"""
    changefreq: Word | None
    """`always` `hourly` `daily` `weekly` `monthly` `yearly` `never`"""
    priority: Real | None
    """in the entry"""
    title: Text | None
    """in the entry"""
    entries: Size | None
    """in a `summary`: pages listed"""
    children: Size | None
    """in a `summary`: sitemaps listed"""
    problems: WordList
    """in a `summary`: reasons from [problems.md](problems.md)"""
    size: Size | None
    """bytes, in a metadata archive"""


class ChangeRow(TableRow, frozen=True):
    """Every comparison of two visits to a URL."""

    table = "changes"
    key = ("url", "seen_at")

    url: Text
    """the page"""
    site: Word
    """its site"""
    seen_at: Moment
    """the later visit"""
    level: Word
    """`same` `raw-only` (only bytes, or parts that differ at every visit) `template` (as other pages of the site)
    `elsewhere` (outside of the main text) `minor` `major`; see [changes.md](changes.md)"""
    is_change: Claim
    """counts towards its change rate: `major`"""


class ImportedFileRow(TableRow, frozen=True):
    """Every file that was imported, with who wrote it: a row for each `warcinfo` record in it.

    A file without one has a row, too, as have the records before the first. They are copied into `warc/`.
    """

    table = "imported_files"
    key = ("file", "warcinfo_id")

    file: Text
    """its path, or that of a package and its member"""
    records: Size
    """records in it that can be read, from the `warcinfo` record on"""
    captures: Size
    """`response`, `revisit` and `resource` records among them"""
    warcinfo_id: Text | None
    """identifier of the `warcinfo` record, which others name in `WARC-Warcinfo-ID`; null: there is none"""
    written_at: Moment | None
    """its date"""
    software: Word | None
    """the program that wrote the file"""
    operator: Word | None
    """who ran it"""
    part_of: Text | None
    """`isPartOf`: the crawl or collection"""
    warcinfo: Text | None
    """what it says, as written, up to 8 KiB"""
    imported_at: Moment
    """when it was imported"""


_OF_EVERY_CRAWL: Final[tuple[type[TableRow], ...]] = (
    DiscoveryRow,
    FetchRow,
    PageRow,
    LinkRow,
    SitemapRow,
    SitemapEntryRow,
    ChangeRow,
    SubjectJudged,
    OutageSeen,
    ImportedFileRow,
)
_OF_PARTS: Final = [row for module in modules_of_parts() for row in rows_in(module)]

ROWS: Final[dict[str, type[TableRow]]] = {row.table: row for row in (*_OF_EVERY_CRAWL, *_OF_PARTS)}
"""All tables by name: first those of every crawl, then those of its parts."""
