"""What a site allows: its robots.txt, fetched before anything else and kept for a day (RFC 9309).

The rules of section 2.3.1: a file is obeyed; where there is none (any 4xx but 429) everything is allowed; where the
site cannot be asked (5xx, 429, no answer) nothing is, unless an older answer is still good. Redirects are followed,
five of them, also to other hosts. A web page in place of the file has no rules; sites that answer so at their bare name
often have the real one under `www.` (the Berkeley report of web site metadata), which is then asked, once.

A challenge of a bot wall or a login wall counts as no answer. Rules that were known hold for `STALE`, too, when a page,
nothing, 401, 403 or redirects without an end come in their place.

Reasons with which a URL is refused: `robots`, by the rule that is named; `robots-unreachable`, the rule being why the
site could not be asked (a reason of the wire, `http-503`, `private-address`). Reasons of a `RobotsFile`: those, and
`challenge`, `http-404` and its kin, `too-many-redirects`, `html-instead`, `empty`.

Reading the lines is the business of `formats.robots`. Fetching is the wire's; when, the scheduler's.
"""

from __future__ import annotations

from collections import OrderedDict

from msgspec import Struct
from msgspec.structs import replace

from periplus.content import decode_body
from periplus.formats.challenges import challenge_in
from periplus.formats.headers import Headers, fresh_for
from periplus.formats.preferences import of_robots
from periplus.formats.robots import MAX_BYTES, Access, looks_like_html, parse
from periplus.model import (
    NO_PREFERENCES,
    Excluded,
    Failed,
    Fetched,
    FetchOutcome,
    Preferences,
    Redirected,
    RobotsFile,
    RobotsFiles,
    Site,
    Url,
)
from periplus.urls import canonical, host_of

MAX_ROBOTS_REDIRECTS = 5
FRESH = 86_400.0
"""Seconds for which a file is used, at most (RFC 9309 section 2.4: no longer than 24 hours)."""
LEAST_FRESH = 600.0
"""Minimum seconds for which a file is used, whatever its cache headers say."""
STALE = 7 * 86_400.0
"""Seconds for which an earlier answer counts while a site cannot be reached, or something hides its file."""
_FALLBACK = MAX_ROBOTS_REDIRECTS + 1
"""Marks a request under `www.`, from which no redirect is followed."""

_DOUBTFUL = frozenset({"http-401", "http-403", "html-instead", "too-many-redirects"})
"""Reasons without rules that do not end those of a file that was known; `http-404` and its kin do."""

_MAX_REMEMBERED_BYTES = 32 * 2**20
_LEAST_WEIGHT = 500
"""Minimum bytes counted for the rules of a site, however short its file is."""
_EVERYTHING = parse(b"").access("*")
"""The rules of all sites without rules."""


def robots_url(url: Url) -> Url:
    """The URL of the robots.txt for a URL."""
    found = canonical("/robots.txt", url)
    if found is None:  # pragma: no cover - every canonical URL has a root
        raise AssertionError(url)
    return found


def www_sibling(url: Url) -> Url | None:
    """The file under `www.`, where a page came in its place; `None` if that was asked, or the host is an address.

    Often the page is that of `www.` itself, to which everything at the bare name leads (the Berkeley report's case).
    """
    host = host_of(url)
    if host.startswith("[") or host.rpartition(".")[2].isdigit() or "." not in host:
        return None
    sibling = canonical(
        "/robots.txt", url if host.startswith("www.") else url.replace(f"://{host}", f"://www.{host}", 1)
    )
    return sibling if sibling != url else None


class Ask(Struct, frozen=True):
    """The file may be at another place: request it there. `redirects` counts the redirects so far."""

    url: Url
    redirects: int


def next_step(site: Site, outcome: FetchOutcome, before: RobotsFile | None, now: float) -> Ask | RobotsFile:
    """The next step after an answer: request another URL, or accept it."""
    task = outcome.task
    if _is_challenge(outcome):
        return read_robots(site, outcome, before, now)
    if isinstance(outcome, Redirected) and task.redirects < MAX_ROBOTS_REDIRECTS:
        return Ask(outcome.target, task.redirects + 1)
    is_fallback = task.redirects >= _FALLBACK
    is_page = _is_page(outcome)
    if is_page and not is_fallback and (sibling := www_sibling(task.url)) is not None:
        return Ask(sibling, _FALLBACK)
    is_file = isinstance(outcome, Fetched) and 200 <= outcome.status < 300 and not is_page
    if is_fallback and not is_file:
        return _or_known(RobotsFile(site, "all", b"", now, now + FRESH, None, "html-instead"), before, now)
    return read_robots(site, outcome, before, now)


def _is_page(outcome: FetchOutcome) -> bool:
    """Whether a web page came in place of the file."""
    return isinstance(outcome, Fetched) and 200 <= outcome.status < 300 and looks_like_html(_body(outcome))


def _is_challenge(outcome: FetchOutcome) -> bool:
    """Whether a bot wall or a login wall answered in place of the site."""
    if not isinstance(outcome, Fetched | Redirected):
        return False
    body = _body(outcome) if isinstance(outcome, Fetched) else b""
    return challenge_in(outcome.status, Headers(outcome.headers), body) != ""


def read_robots(site: Site, outcome: FetchOutcome, before: RobotsFile | None, now: float) -> RobotsFile:
    """The rules that follow from the answer to a request for robots.txt, and from the file that was known before."""
    return _or_known(_read_answer(site, outcome, now), before, now)


def _read_answer(site: Site, outcome: FetchOutcome, now: float) -> RobotsFile:
    match outcome:
        case Fetched(status=status) | Redirected(status=status) if _is_challenge(outcome):
            reason = "challenge"
        case Fetched(status=status) if 200 <= status < 300:
            return RobotsFile(site, "rules", _body(outcome), now, now + _kept(outcome, now), status)
        case Fetched(status=status) if 400 <= status < 500 and status != 429:
            return RobotsFile(site, "all", b"", now, now + _kept(outcome, now), status, f"http-{status}")
        case Fetched(status=status):
            reason = f"http-{status}"
        case Redirected():
            return RobotsFile(site, "all", b"", now, now + FRESH, None, "too-many-redirects")
        case Failed(reason=reason, status=status):
            pass
        case Excluded(reason=reason):
            status = None
        case _:
            reason, status = "bad-response", None
    return RobotsFile(site, "none", b"", now, now + LEAST_FRESH, status, reason)


def _or_known(file: RobotsFile, before: RobotsFile | None, now: float) -> RobotsFile:
    """The file; or the one known before, if it still counts and this one does not say that the rules have changed."""
    if before is None or before.access == "none" or now - before.fetched_at >= STALE:
        return file
    if file.access != "none" and not (_has_rules(before) and _is_doubtful(file)):
        return file
    reason = file.reason or ("html-instead" if file.body.strip() else "empty")
    return RobotsFile(file.site, before.access, before.body, before.fetched_at, now + LEAST_FRESH, file.status, reason)


def _has_rules(file: RobotsFile) -> bool:
    return file.access == "rules" and file.body.strip() != b"" and not looks_like_html(file.body)


def _is_doubtful(file: RobotsFile) -> bool:
    """Whether an answer without rules may be that of a wall, a login or an outage."""
    return file.reason in _DOUBTFUL or (file.access == "rules" and not _has_rules(file))


def to_be_sent(outcome: FetchOutcome) -> FetchOutcome:
    """An answer as it is sent to another shard: decoded, and no longer than is read of it."""
    if isinstance(outcome, Redirected):
        return replace(outcome, body=b"")
    if not isinstance(outcome, Fetched):
        return outcome
    headers = tuple(each for each in outcome.headers if each[0].lower() != "content-encoding")
    return replace(outcome, body=_body(outcome), headers=headers, rendering=None)


def _body(outcome: Fetched) -> bytes:
    codings = Headers(outcome.headers).get("content-encoding") or ""
    return decode_body(outcome.body, codings, max_size=MAX_BYTES)[0]


def _kept(outcome: Fetched, now: float) -> float:
    """How long a file is kept: as its cache headers say, within bounds; a day without them."""
    lifetime = fresh_for(Headers(outcome.headers), now)
    return FRESH if lifetime is None else min(max(lifetime, LEAST_FRESH), FRESH)


class RobotsGate:
    """The parsed rules of recently used sites, bounded by bytes: about 60,000 small files."""

    def __init__(self, files: RobotsFiles, agent: str) -> None:
        self._files = files
        self._agent = agent
        self._ready: OrderedDict[Site, tuple[Access | str, int]] = OrderedDict()
        self._weight = 0

    def refusal(self, site: Site, url: Url) -> tuple[str, str] | None:
        """Why a URL of a site may not be fetched: the reason and the rule; `None` if it may."""
        access = self.access(site)
        if access is _EVERYTHING:
            return None
        if isinstance(access, str):
            return "robots-unreachable", access
        if access.allows(url):
            return None
        rule = access.verdict(url).rule
        return "robots", rule.pattern if rule is not None else ""

    def delay(self, site: Site) -> float | None:
        """The delay that the site asks for between two requests."""
        access = self.access(site)
        if isinstance(access, str):
            return None
        rate = access.request_rate
        asked = rate.seconds / rate.requests if rate is not None and rate.requests > 0 else None
        return max(filter(None, (asked, access.crawl_delay)), default=None)

    def preferences(self, site: Site, url: Url) -> Preferences:
        """The preferences for the use of a page in the robots.txt of its site."""
        access = self.access(site)
        return NO_PREFERENCES if isinstance(access, str) or not access.usage else of_robots(access, url)

    def learn(self, file: RobotsFile) -> None:
        """Keep a new answer."""
        self._forget(file.site)
        self._files.put(file)

    def is_known(self, site: Site) -> bool:
        """Whether the rules of a site are known, or that there are none."""
        file = self._files.get(site)
        return file is not None and file.access != "none"

    def file(self, site: Site) -> RobotsFile | None:
        """The stored robots.txt of a site."""
        return self._files.get(site)

    def access(self, site: Site) -> Access | str:
        """The rules of a site; or why they are not known."""
        found = self._ready.get(site)
        if found is None:
            found = self._ready[site] = self._read(site)
            self._weight += found[1]
            while self._weight > _MAX_REMEMBERED_BYTES and len(self._ready) > 1:
                self._forget(next(iter(self._ready)))
        else:
            self._ready.move_to_end(site)
        return found[0]

    def _read(self, site: Site) -> tuple[Access | str, int]:
        file = self._files.get(site)
        if file is None or file.access == "none":
            return "" if file is None else file.reason, _LEAST_WEIGHT
        if file.access == "all":
            return _EVERYTHING, _LEAST_WEIGHT
        return parse(file.body).access(self._agent), len(file.body) + _LEAST_WEIGHT

    def _forget(self, site: Site) -> None:
        found = self._ready.pop(site, None)
        if found is not None:
            self._weight -= found[1]
