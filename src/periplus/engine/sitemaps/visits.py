"""Decides which pages a sitemap file may list, and what follows from a visit: the new node, the next visit, retirement.

Reasons for which a file retires, stable words that tables count:

* `gone`: not found or forbidden, several times over days (at once, if its URL was only guessed)
* `unreachable`: no answer for many visits in a row
* `not-a-sitemap`: another kind of document is served in its place, again and again
* `empty`: no entries, reading after reading; `useless`: no wanted entries
* `unchanged`: an index dates it, and neither the date nor the file has changed for long
* `unlisted`: the index that named it does so no more
* `bad-name`: an archive of metadata whose name does not say which time it covers; it is never read

When a robots.txt, a user, a ping or an index names a retired file again, it may be woken (`woken`): by an index once it
gives a later date than at the last visit, or a week after it retired (`is_back`).
"""

from __future__ import annotations

import math
from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import replace

from periplus.formats.sitemap import in_scope
from periplus.model import ConfigError, Lastmod, Site, Url, Validators
from periplus.urls import domain_of, site_of

from .revisit import DAY, IndexTrust, RevisitSettings, interval
from .trees import Origin, SitemapNode

FOREIGN = "sitemap-foreign-host"
_SITES = 4096
"""Answers remembered of one file: one that lists a page of each of a million hosts must not fill memory."""
_WAYS = ("robots", "domain", "any")


class AuthoritySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose pages a sitemap may list."""

    cross_host: str = "robots"
    """Allow pages of another host if "robots": its robots.txt names the file; "domain": also if both are of one
    domain; "any": always."""
    keeps_folder: bool = False
    """Restrict a file that no robots.txt names to URLs of its folder and scheme, as the protocol requires."""

    def __post_init__(self) -> None:
        """Refuse a way that is not there."""
        if self.cross_host not in _WAYS:
            raise ConfigError(
                f"unknown value of cross_host: {self.cross_host[:100]!r}",
                hint=f"There are {', '.join(_WAYS)}",
            )


class SitemapAuthority:
    """The pages that one file may list. `vouching` are the hosts whose robots.txt names it, or an index above it.

    A file may list pages of its own host. Pages of another host need that host's robots.txt to name the file, or an
    index above it (https://www.sitemaps.org/protocol.html#sitemaps_cross_submits): otherwise any site could make us
    fetch from any other. By the protocol a file may only list URLs of its folder (`formats.sitemap.in_scope`); that is
    an option, because few files and readers obey it, and a host that lists its own pages misleads no other.

    Reasons: `sitemap-foreign-host`: the robots.txt of the other host, as far as it was read, does not name the file;
    `sitemap-other-folder`: the location rule.
    """

    def __init__(self, url: Url, vouching: Collection[Site], settings: AuthoritySettings | None = None) -> None:
        self._url = url
        self._site = site_of(url)
        self.vouching = vouching
        self._settings = settings or AuthoritySettings()
        self._answers: dict[Site, str] = {}
        self._is_bound = self._settings.keeps_folder and self._site not in vouching
        self._home = (f"http://{self._site}/", f"https://{self._site}/")

    def refusal(self, page: Url) -> str:
        """Why it may not list this page; empty if it may."""
        if page.startswith(self._home):  # nearly all are, and need not be cut apart
            return "sitemap-other-folder" if self._is_bound and not in_scope(self._url, page) else ""
        site = site_of(page)
        if site == self._site:  # with a user name
            return "sitemap-other-folder" if self._is_bound else ""
        answer = self._answers.get(site)
        if answer is None:
            if len(self._answers) >= _SITES:
                self._answers.clear()
            answer = self._answers[site] = self._of(site)
        return answer

    def own_site(self, pages: Collection[Url]) -> Site | None:
        """Its own site, if all of these lie there and it may list them; else each is to be asked for.

        What lies, in the order of strings, between two that begin alike begins so, too.
        """
        if self._is_bound or not pages:
            return None
        first, last = min(pages), max(pages)
        is_own = any(first.startswith(home) and last.startswith(home) for home in self._home)
        return self._site if is_own else None

    def _of(self, site: Site) -> str:
        way = self._settings.cross_host
        if way == "any" or (way == "domain" and _are_kin(site, self._site)):
            return ""
        return "" if site in self.vouching else FOREIGN


def _are_kin(one: Site, other: Site) -> bool:
    domain = domain_of(one)
    return domain is not None and domain == domain_of(other)


NO_SITEMAP = ("html", "unknown", "")
REST = 7 * DAY
"""Seconds after which a file that was given up is fetched again, if robots.txt or its index still names it."""
_RESTING = ("gone", "unreachable", "not-a-sitemap", "empty", "useless")
"""Why a file was given up that may be of use again, though no date says so."""
_GONE = (401, 403, 404, 410, 451)
MOST_VOUCHING = 1000
"""Hosts that are remembered to name one file."""


class RetirementSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When sitemap files are given up."""

    gone_visits: int = 3
    """Visits in a row that did not find the file, a day or more apart."""
    failed_visits: int = 10
    """Visits in a row without a usable answer."""
    fruitless_visits: int = 5
    """Visits in a row without a wanted entry, whether the file changed or not."""
    unchanged_for: float = 30 * DAY
    """Seconds without a change of a file that its index dates, such as that of a past day."""


class FileReading(Struct, frozen=True):
    """The result of reading a file. `wanted` counts entries that were accepted or known, and children followed."""

    kind: str
    entries: int = 0
    children: int = 0
    wanted: int = 0
    size: int = 0
    status: int | None = None
    problems: tuple[tuple[str, int], ...] = ()
    digest: int = 0
    validators: Validators | None = None
    is_changed: bool = True
    is_appended: bool = False


def after_reading(
    node: SitemapNode,
    reading: FileReading,
    now: float,
    revisit: RevisitSettings,
    retirement: RetirementSettings,
    trust: IndexTrust | None = None,
) -> SitemapNode:
    """A file was read to its end, or as far as it can be."""
    fruitless = 0 if reading.wanted else node.fruitless + 1
    is_again = node.read_at is not None
    read = replace(
        node,
        kind=reading.kind,
        status=reading.status,
        entries=reading.entries,
        children=reading.children,
        size=reading.size,
        problems=reading.problems,
        digest=reading.digest,
        validators=reading.validators,
        read_at=now,
        fruitless=fruitless,
        trust=node.trust.read_again(reading.is_changed and is_again, reading.is_appended),
        retired=_fruitless_reason(reading) if fruitless >= retirement.fruitless_visits else "",
    )
    return _visited(read, node, reading.is_changed, now, revisit, trust)


def after_same(
    node: SitemapNode,
    now: float,
    revisit: RevisitSettings,
    retirement: RetirementSettings,
    trust: IndexTrust | None = None,
) -> SitemapNode:
    """The file is unchanged, by the server's answer or by its bytes: nothing was parsed."""
    fruitless = node.fruitless + (node.fruitless > 0)
    retired = node.retired  # its index may have dropped it meanwhile
    if fruitless >= retirement.fruitless_visits:
        retired = _fruitless_reason(node)
    elif is_dated(node) and node.read_at is not None and now - node.read_at >= retirement.unchanged_for:
        retired = "unchanged"
    return _visited(replace(node, fruitless=fruitless, retired=retired), node, False, now, revisit, trust)


def is_dated(node: SitemapNode) -> bool:
    """Whether an index names a file with a date, which has not moved since the last visit."""
    return node.parent is not None and node.lastmod is not None and not node.is_hinted and not node.children


def after_failure(
    node: SitemapNode,
    reason: str,
    now: float,
    revisit: RevisitSettings,
    retirement: RetirementSettings,
    status: int | None = None,
) -> SitemapNode:
    """The node after a failed visit. Failures are not evidence about changes."""
    failures = node.failures + 1
    is_gone = status in _GONE
    wait = DAY if is_gone else revisit.shortest * 2.0 ** min(failures - 1, 30)
    retired = ""
    if is_gone and (failures >= retirement.gone_visits or (node.origin is Origin.WELL_KNOWN and node.read_at is None)):
        retired = "gone"
    elif failures >= retirement.failed_visits:
        retired = "unreachable"
    return replace(
        node,
        outcome=reason,
        status=status,
        failures=failures,
        due_at=now + min(max(wait, revisit.shortest), revisit.longest),
        retired=retired,
    )


def dated(
    node: SitemapNode, lastmod: Lastmod | None, now: float, revisit: RevisitSettings, trust: IndexTrust
) -> SitemapNode:
    """Its index was read again, and says this of it. It may be wanted sooner, and never later than it was."""
    node = replace(node, lastmod=lastmod)
    return sooner(node, now, revisit, trust) if node.is_hinted else node


def sooner(
    node: SitemapNode, now: float, revisit: RevisitSettings, trust: IndexTrust | None, least: float = 0.0
) -> SitemapNode:
    """A file that was read, due as these settings say if that is sooner, at least `least` seconds after its visit."""
    if node.visited_at is None or node.failures:
        return node
    wait = max(interval(node.rate, revisit, trust, is_hinted=node.is_hinted), least)
    return replace(node, due_at=min(node.due_at, max(node.visited_at + wait, now)))


def is_back(node: SitemapNode, lastmod: Lastmod | None, now: float) -> bool:
    """Whether a retired file that its index names is worth another visit: it is listed again, or dated, or has rested.

    What was given up because it was not there, or of no use, may be there by now.
    """
    if node.retired == "unlisted" or replace(node, lastmod=lastmod).is_hinted:
        return bool(node.retired)
    return node.retired in _RESTING and now > node.due_at + REST


def unlisted(node: SitemapNode) -> SitemapNode:
    """The index that named it was read whole, and does so no more."""
    return replace(node, retired="unlisted")


def woken(node: SitemapNode, now: float) -> SitemapNode:
    """The node after it was named again or reported as changed: due now, unless it waits to be fetched already."""
    if not node.retired:
        return replace(node, due_at=_sooner(node.due_at, now))
    return replace(node, retired="", failures=0, fruitless=0, due_at=now)


def vouched_for(node: SitemapNode, site: Site) -> SitemapNode:
    """A host's robots.txt names it; of very many hosts the first are enough."""
    if site in node.vouching or len(node.vouching) >= MOST_VOUCHING:
        return node
    return replace(node, vouching=(*node.vouching, site))


def is_dead(node: SitemapNode) -> bool:
    """Whether it was never read, and the last attempt failed: then its twin may be where it is."""
    return node.read_at is None and bool(node.failures or node.retired)


def is_doubted(node: SitemapNode) -> bool:
    """Whether it lists pages of hosts that had not authorised it when it was last read."""
    return not node.retired and any(reason == FOREIGN for reason, _ in node.problems)


def unread(node: SitemapNode, now: float) -> SitemapNode:
    """The node made due now and read even if unchanged: its entries were judged by facts that have changed since."""
    if node.read_at is None:
        return node
    return replace(node, digest=0, validators=None, due_at=_sooner(node.due_at, now))


def _sooner(due_at: float, now: float) -> float:
    return due_at if math.isinf(due_at) else min(due_at, now)


def trust_after(index: SitemapNode, node: SitemapNode, is_changed: bool, now: float) -> SitemapNode:
    """What a visit to one of its files teaches of an index; `node` is the file as it was before.

    The first visit teaches nothing.
    """
    if node.visited_at is None or node.lastmod is None:
        return index
    return replace(index, trust=index.trust.learnt(node.is_hinted, is_changed, now - node.visited_at))


def _visited(
    node: SitemapNode,
    before: SitemapNode,
    is_changed: bool,
    now: float,
    revisit: RevisitSettings,
    trust: IndexTrust | None,
) -> SitemapNode:
    rate, is_again = before.rate, before.visited_at is not None
    if before.visited_at is not None:
        rate = rate.observed(is_changed, now - before.visited_at, revisit.memory)
    return replace(
        node,
        outcome="",
        failures=0,
        visits=before.visits + 1,
        changes=before.changes + (is_changed and is_again),
        visited_at=now,
        read_lastmod=before.lastmod,
        rate=rate,
        due_at=now + interval(rate, revisit, trust if before.lastmod is not None else None),
    )


def _fruitless_reason(reading: FileReading | SitemapNode) -> str:
    if reading.kind in NO_SITEMAP:
        return "not-a-sitemap"
    return "useless" if reading.entries or reading.children else "empty"
