"""The values that pass between rooms: URLs, discoveries, records, tasks, outcomes and verdicts.

Page contents are in `model.page`, events in `model.events`. A value here is frozen, small and cheap to build
(`msgspec.Struct`), knows no room, and has no `meta` dict: a new fact gets a field.

Times are POSIX seconds as `float` and end in `_at`; durations are seconds as `float` and are named after what they
measure.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import NewType

from msgspec import Struct

Url = NewType("Url", str)
"""A URL in our canonical form. Only `urls.canonical` and its batch form make one."""

Site = NewType("Site", str)
"""Host and, where it is not the default of the scheme, port: the unit of politeness and of distribution."""

Domain = NewType("Domain", str)
"""A registrable domain: one label below a public suffix."""

Fingerprint = NewType("Fingerprint", int)
"""The 64-bit hash of a canonical URL, for seen tests and keys."""


class Source(Enum):
    """The source of a URL: the two sides of Schonfeld & Shivakumar 2009 and related ones."""

    __hash__ = object.__hash__  # each is one object; Enum would hash its name, in Python

    SEED = "seed"
    LINK = "link"
    SITEMAP = "sitemap"
    FEED = "feed"
    PING = "ping"
    ARCHIVE = "archive"
    FORM = "form"
    REDIRECT = "redirect"


class Lane(Enum):
    """Which budget a fetch is paid from.

    `FILES` are what sites publish about themselves, `PROBES` are comparisons, `EMBEDDED` are files that pages need.
    """

    __hash__ = object.__hash__  # each is one object; Enum would hash its name, in Python

    DISCOVERY = "discovery"
    SITEMAPS = "sitemaps"
    REFRESH = "refresh"
    FILES = "files"
    PROBES = "probes"
    EMBEDDED = "embedded"


class Purpose(Enum):
    """The purpose of a fetch, which decides what reads the body."""

    __hash__ = object.__hash__  # each is one object; Enum would hash its name, in Python

    PAGE = "page"
    ROBOTS = "robots"
    SITEMAP = "sitemap"
    FEED = "feed"
    ARCHIVE = "archive"
    FORM = "form"
    PROBE = "probe"
    FILE = "file"
    """A file that pages need, or of an imported archive, that is not a page: a style sheet, a script, an image."""


class Granularity(IntEnum):
    """The precision of a date: a date-only `lastmod` has no hour.

    Ordered from coarse to fine; `seconds` is the length of the period that the date names.
    """

    YEAR = 0
    MONTH = 1
    DAY = 2
    MINUTE = 3
    SECOND = 4
    FRACTION = 5

    @property
    def seconds(self) -> float:
        """The length of the named period; months and years in their longest form."""
        return _PERIODS[self]


_PERIODS = (366 * 86400.0, 31 * 86400.0, 86400.0, 60.0, 1.0, 0.0)


class ChangeFreq(Enum):
    """The `changefreq` values of the Sitemaps protocol."""

    ALWAYS = "always"
    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    YEARLY = "yearly"
    NEVER = "never"


class Lastmod(Struct, frozen=True, gc=False):
    """The time of a change: the start of the period it names, and how long that period is."""

    at: float
    granularity: Granularity


class Problem(Struct, frozen=True):
    """A fault in something a site published: a reason to count, and details for display.

    `reason` is one of a small documented set per reader (kebab-case, stable: it is a column of a table); `detail` is
    free text, bounded in length; `at` is the byte offset in the decoded stream, if known.
    """

    reason: str
    detail: str = ""
    at: int | None = None


class Validators(Struct, frozen=True, gc=False):
    """The validators that a conditional request sends back to a server (RFC 9110 section 13)."""

    etag: str | None = None
    last_modified: str | None = None


class Digests(Struct, frozen=True, gc=False):
    """Digests of one page at several depths, so that "changed" has degrees.

    `raw` is of the bytes as decoded from the wire; `text` of all visible text; `main` of the main text with volatile
    tokens masked; `links` of the sorted out-links. 64 bits each: they are compared with one other value, not searched.
    """

    raw: int
    text: int
    main: int
    links: int


class Hints(Struct, frozen=True, gc=False):
    """The metadata that the source of a URL gives."""

    lastmod: Lastmod | None = None
    changefreq: ChangeFreq | None = None
    priority: float | None = None
    anchor: str | None = None
    title: str | None = None


NO_HINTS = Hints()


class Discovery(Struct, frozen=True, gc=False):
    """A URL that was discovered. Everything that enters the frontier arrives as one of these.

    `depth` is the number of links from a seed; `redirects` the number of redirects that led here in a row. `gain` is
    what its referrer passes on to it, where the ordering learns from links; several referrers may be added up.
    `purpose` is what it is to be fetched for: a page, or a file that lists pages. `score` is the priority given by the
    source, if any: 1 is the mean.
    """

    url: Url
    source: Source
    found_at: float
    depth: int = 0
    referrer: Url | None = None
    hints: Hints = NO_HINTS
    redirects: int = 0
    gain: float = 0.0
    purpose: Purpose = Purpose.PAGE
    score: float = 1.0

    @property
    def is_more(self) -> bool:
        """Whether this only adds gains: repeated links, whose gains were added up."""
        return self.referrer is None and self.gain > 0.0 and self.source is Source.LINK


class FirstSeen(Struct, frozen=True, gc=False):
    """When a source first named a URL: `SeenDelta` is the difference of two of these."""

    source: Source
    at: float


class ChangeLevel(IntEnum):
    """How much of a page differs between two visits.

    ELSEWHERE: text outside of the main text. From MINOR on it counts as changed, from MAJOR on towards its change rate.
    """

    SAME = 0
    RAW_ONLY = 1
    TEMPLATE = 2
    ELSEWHERE = 3
    MINOR = 4
    MAJOR = 5

    @property
    def word(self) -> str:
        """The level as tables and programs have it."""
        return _LEVEL_WORDS[self]


_LEVEL_WORDS = {level: level.name.lower().replace("_", "-") for level in ChangeLevel}


class UrlRecord(Struct, frozen=True, gc=False):
    """The record of a URL between visits.

    `failures` counts the attempts that failed since the last that did not; `status` and `reason` are those of the last
    attempt (`reason` is empty if it succeeded). `fetched_at` is the last visit, `kept_at` the one that returned the
    version which `validators` describe: an answer of 304 is a visit that returns none. `version` is what the next
    version is compared with, besides `digests`; `evidence` is the evidence of its visits and signals about its change
    rate; `blocks` are digests of the parts of the version (512 bytes at most), where parts will be compared.
    `gains` are other results of its visits: new URLs that it linked to, and how much of it changes replace.
    `dictionary` is a stored version that may be offered to the server as a compression dictionary.

    `version`, `evidence`, `blocks`, `gains` and `dictionary` are packed bytes, each written and read by its policy: a
    record is decoded for every link to a known page, which needs none of them, and estimation reads `evidence` of many
    pages as numpy columns.
    """

    url: Url
    first_seen: tuple[FirstSeen, ...]
    depth: int = 0
    lastmod: Lastmod | None = None
    validators: Validators | None = None
    digests: Digests | None = None
    visits: int = 0
    changes: int = 0
    fetched_at: float | None = None
    due_at: float | None = None
    redirects: int = 0
    failures: int = 0
    status: int | None = None
    reason: str = ""
    kept_at: float | None = None
    version: bytes = b""
    evidence: bytes = b""
    blocks: bytes = b""
    gains: bytes = b""
    dictionary: bytes = b""


class Render(Enum):
    """Whether the page of a fetch is opened in a browser, so that its scripts run.

    `TEST`: if it seems to need its scripts; `NEEDED`: unless it can be read without them, because other pages of its
    template needed them; `ALWAYS`: in any case.
    """

    __hash__ = object.__hash__  # each is one object; Enum would hash its name, in Python

    NEVER = "never"
    TEST = "test"
    NEEDED = "needed"
    ALWAYS = "always"


class OfferedDictionary(Struct, frozen=True, gc=False):
    """A stored answer that is offered to its server as a compression dictionary (RFC 9842): where its record begins.

    `sha256` is of its body without content codings, and `id` what the server called it.
    """

    file: str
    offset: int
    sha256: bytes
    id: str = ""


class FetchTask(Struct, frozen=True):
    """One permission to fetch one URL, lent until the lease ends.

    `ip` is the address that politeness was computed for, and the only one to connect to. Where it is not known yet, the
    task is only to find it out: its outcome is `Located`, and no server was asked. `redirects` is how many redirects in
    a row led to this URL; `visited_at` when the version that `validators` describe was fetched. `probe` is the kind of
    a fetch that is made for comparison. `dictionary` is what the answer may be coded with.
    """

    url: Url
    site: Site
    purpose: Purpose
    lane: Lane
    lease_ends_at: float
    validators: Validators | None = None
    attempt: int = 1
    ip: str | None = None
    source: Source = Source.LINK
    depth: int = 0
    redirects: int = 0
    visited_at: float | None = None
    probe: str = ""
    render: Render = Render.NEVER
    dictionary: OfferedDictionary | None = None


class SubResponse(Struct, frozen=True):
    """An answer that a browser got while it showed a page: a script, a style sheet, data; and its `request`."""

    url: Url
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    started_at: float
    request: bytes = b""


class Rendering(Struct, frozen=True):
    """The result of opening a page in a browser.

    `reason` is why it was given up (the body is then the plain one), or why it was stopped early; empty if all went
    well. `document` is the body that the server sent; `responses` is what else is to be archived. Both are only on the
    way to the archive. `same_site` are requests to the site of the page; `target` is where its scripts wanted to go.
    """

    is_rendered: bool
    reason: str = ""
    requests: int = 0
    same_site: int = 0
    received: int = 0
    seconds: float = 0.0
    plain_characters: int = 0
    plain_links: int = 0
    target: Url | None = None
    document: bytes = b""
    responses: tuple[SubResponse, ...] = ()


class Located(Struct, frozen=True, tag=True):
    """The site has an address. Nothing was asked of it yet; the address holds until it expires.

    The task was a lookup, or a request to another address to which no connection could be made.
    """

    task: FetchTask
    ip: str
    expires_at: float


class Fetched(Struct, frozen=True, tag=True):
    """The server answered, with whatever status that is neither a redirect nor 304.

    `body` is as it came over the wire, but for chunks; `headers` in order, names as sent. Of a page that was rendered,
    the body is its document after its scripts ran, in UTF-8; the headers are still those that the server sent.
    `unread` counts the bytes behind `body` that are archived but were not read: those of a very large imported record;
    `saved` those of `body` that were not sent, because they were in a dictionary. `protocols` are the words of WARC for
    what the answer came over, `h2 tls/1.3 TLS_AES_128_GCM_SHA256`; empty if that is not known. `signing_key` is the
    beginning of the name of the key that the request was signed with, empty if it was not signed, as in every outcome.
    """

    task: FetchTask
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    started_at: float
    duration: float
    ip: str | None = None
    is_truncated: bool = False
    rendering: Rendering | None = None
    unread: int = 0
    saved: int = 0
    protocols: str = ""
    signing_key: str = ""

    @property
    def size(self) -> int:
        """Bytes of the body as it was sent, with those that were not read."""
        return len(self.body) + self.unread - self.saved

    @property
    def is_rendered(self) -> bool:
        """Whether the body is the document after its scripts ran."""
        return self.rendering is not None and self.rendering.is_rendered


class NotModified(Struct, frozen=True, tag=True):
    """The server answered 304: our copy is current."""

    task: FetchTask
    headers: tuple[tuple[str, str], ...]
    started_at: float
    duration: float
    ip: str | None = None
    protocols: str = ""
    signing_key: str = ""


class Redirected(Struct, frozen=True, tag=True):
    """The server named another place. `target` is canonical; following it is a new discovery."""

    task: FetchTask
    status: int
    target: Url
    headers: tuple[tuple[str, str], ...]
    started_at: float
    duration: float
    ip: str | None = None
    body: bytes = b""
    protocols: str = ""
    signing_key: str = ""


class Failed(Struct, frozen=True, tag=True):
    """No whole answer came. `reason` is a row of the retry table; a status only where one had arrived by then."""

    task: FetchTask
    reason: str
    started_at: float
    duration: float
    status: int | None = None
    detail: str = ""
    ip: str | None = None
    signing_key: str = ""


class Excluded(Struct, frozen=True, tag=True):
    """A URL that must not be fetched: robots rules forbid it, or its address is private."""

    task: FetchTask
    reason: str
    rule: str = ""


FetchOutcome = Located | Fetched | NotModified | Redirected | Failed | Excluded


class Accept(Struct, frozen=True, tag=True):
    """A filter has nothing against this URL."""


class Reject(Struct, frozen=True, tag=True):
    """A filter refuses this URL, with its rule: it becomes a row in a table."""

    reason: str
    rule: str = ""


class Rewrite(Struct, frozen=True, tag=True):
    """A filter knows the same page by another URL.

    `learnt_from`: the URL that a learnt rule renamed. Such a rule may be withdrawn, and the URL wanted then.
    """

    url: Url
    rule: str = ""
    learnt_from: Url | None = None


Verdict = Accept | Reject | Rewrite
