"""A web of one site that is down for a while, in one of `KINDS` ways, and three small sites that are not.

Pages change, each at its own interval, whether their site is up or not. The web keeps every request for a page and the
digest of every page that it returned (`genuine`), so that a collection can be compared with what its sites published.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from random import Random
from string import ascii_lowercase
from typing import Final

from msgspec import Struct
from tests.faults.web import Key, TrueTime, key_of
from tests.properties.replayed_world import START, hash_of

from periplus.engine.revisit.evidence import DAY
from periplus.model import (
    Failed,
    Fetched,
    FetchOutcome,
    FetchTask,
    Located,
    NotModified,
    Purpose,
    Redirected,
    Site,
    Url,
)
from periplus.store.warc.records import sha1_base32
from periplus.urls import site_of

STATUSES: Final = {
    "404-but-home": 404, "404": 404, "410": 410, "500": 500, "502": 502, "503-retry-after": 503, "503": 503,
    "429": 429, "challenge-403": 403, "maintenance": 200, "empty": 200, "challenge-200": 200, "login": 200,
}  # fmt: skip
FAILURES: Final = {
    "closed": ("closed-early", "reset"), "refused": ("connect-refused",), "timeout": ("timeout",),
    "dns-not-found": ("dns-not-found",), "dns-unavailable": ("dns-unavailable",),
}  # fmt: skip
KINDS: Final = (*STATUSES, *FAILURES, "robots-disallow", "robots-503", "redirect-home", "redirect-login")
NO_OUTAGE: Final = "none"
"""Everything is as usual, for comparison."""
WHOLE: Final = frozenset({"503", "refused", "timeout", "dns-not-found", "dns-unavailable"})
"""Kinds in which robots.txt and the sitemap fail as well; elsewhere they stay as they were."""
WITH_HOME: Final = frozenset({"404-but-home", "redirect-home"})
"""Kinds in which the home page stays as it was."""
RETRY_AFTER: Final = 600
ADDRESS_LIFETIME: Final = 600.0
"""Seconds for which the address of the failing site may be used: within them it is reached without its name."""
TIMEOUT: Final = 30.0
PERIODS: Final = (DAY, 3 * DAY, 1e9)
"""Seconds between two changes of a page."""
PAGES, FEW_PAGES, HEALTHY = 31, 10, 3
"""Pages of the site that fails, of each of the others, and how many others there are."""
_WORDS: Final = 40
_TOOK: Final = 0.05


class Outage(Struct, frozen=True):
    """How a site is down, and when."""

    kind: str = ""
    since: float = 0.0
    until: float = 0.0

    @property
    def days(self) -> float:
        """How long it lasts."""
        return (self.until - self.since) / DAY


class PageRequest(Struct, frozen=True):
    """A request for a page. `is_vain`: the outage answered it."""

    at: float
    url: Url
    is_vain: bool


class FailingWeb:
    """The web. `is_dated`: the sitemap of the failing site has dates."""

    def __init__(self, true: TrueTime, *, is_dated: bool) -> None:
        self.true, self._is_dated = true, is_dated
        self.failing = Site("fails.test")
        self.sites = [self.failing, *(Site(f"healthy{number}.test") for number in range(HEALTHY))]
        sizes = {site: PAGES if site == self.failing else FEW_PAGES for site in self.sites}
        self.pages = {site: [_url(site, f"/p/{n}" if n else "/") for n in range(sizes[site])] for site in self.sites}
        self.urls = [pages[0] for pages in self.pages.values()]
        self.kinds: dict[Url, str] = {}
        self.robots = dict.fromkeys(self.sites, "open")
        self.outage = Outage()
        self.gone: set[Url] = set()
        self.unlisted: set[Url] = set()
        self.unlinked: set[Url] = set()
        self.served: dict[Key, str] = {}
        self.genuine: dict[Url, set[str]] = {}
        self.visited_at: dict[Url, float] = {}
        self.page_requests: list[PageRequest] = []
        self.requests_while_down = 0

    @property
    def is_down(self) -> bool:
        """Whether the outage lasts."""
        return self.outage.since <= self.true.at < self.outage.until

    def answer(self, task: FetchTask, now: float) -> FetchOutcome:
        """What a request comes to."""
        site = site_of(task.url)
        is_failing = site == self.failing and self.is_down
        self.requests_while_down += is_failing
        outage = self._outage(task, now) if is_failing else None
        outcome = self._healthy(task, site, now) if outage is None else outage
        if task.purpose is Purpose.PAGE and task.ip is not None:
            self.page_requests.append(PageRequest(self.true.at, task.url, outage is not None))
            self._keep(outcome, is_genuine=outage is None)
        return outcome

    def _keep(self, outcome: FetchOutcome, *, is_genuine: bool) -> None:
        digest = f"sha1:{sha1_base32(outcome.body)}" if isinstance(outcome, Fetched) else ""
        if (key := key_of(outcome)) is not None:
            self.served[key] = digest
        if is_genuine and isinstance(outcome, Fetched | NotModified):
            url = outcome.task.url
            self.visited_at[url] = self.true.at
            if isinstance(outcome, Fetched) and outcome.status == 200:
                self.genuine.setdefault(url, set()).add(digest)

    # a site that is up

    def _healthy(self, task: FetchTask, site: Site, now: float) -> FetchOutcome:
        if task.ip is None:
            expires_at = now + (ADDRESS_LIFETIME if site == self.failing else DAY)
            return Located(task, f"192.0.2.{self.sites.index(site)}", expires_at)
        if task.url == _url(site, "/robots.txt"):
            return _fetched(task, now, 200, f"User-agent: *\nAllow: /\nSitemap: {_url(site, '/sitemap.xml')}\n")
        if task.url == _url(site, "/sitemap.xml") and site != self.sites[-1]:
            return _fetched(task, now, 200, self._sitemap(site))
        if task.url not in self.pages[site] or task.url in self.gone:
            return _fetched(task, now, 404, "<title>Not found</title>There is no such page.")
        body = self._html(task.url, site)
        etag = f'"{hash_of(body.encode())}"'
        if task.validators is not None and task.validators.etag == etag:
            return NotModified(task, (("ETag", etag),), now, _TOOK, task.ip)
        return _fetched(task, now, 200, body, ("ETag", etag))

    def _sitemap(self, site: Site) -> str:
        has_dates = self._is_dated if site == self.failing else site == self.sites[1]
        dates = {url: f"<lastmod>{self._changed_at(url)}</lastmod>" if has_dates else "" for url in self.pages[site]}
        entries = (f"<url><loc>{url}</loc>{date}</url>" for url, date in dates.items() if url not in self.unlisted)
        return f"<urlset>{''.join(entries)}</urlset>"

    def _versions(self, url: Url) -> tuple[int, float]:
        """The number of a page's version, and when it was published."""
        chance = Random(f"changes of {url}")
        period, phase = chance.choice(PERIODS), chance.random()
        number = int((self.true.at - START) / period + phase)
        return number, START + (number - phase) * period

    def _changed_at(self, url: Url) -> str:
        return f"{datetime.fromtimestamp(self._versions(url)[1], UTC):%Y-%m-%dT%H:%M:%SZ}"

    def _html(self, url: Url, site: Site) -> str:
        version, _ = self._versions(url)
        pages = [page for page in self.pages[site] if page not in self.unlinked]
        links = pages if url == pages[0] else [pages[0], *Random(f"links of {url}").sample(pages[1:], 3)]
        texts = "".join(f"<p>{_words(seed)}.</p>" for seed in (url, f"{url} {version}"))
        linked = "".join(f'<a href="{link}">{_words(f"{link} is called", 2)}</a> ' for link in links)
        return f"<html><head><title>{_words(f'{url} is called', 2)}</title></head><body>{texts}{linked}</body></html>"

    # a site that is down

    def _outage(self, task: FetchTask, now: float) -> FetchOutcome | None:
        """What the outage answers; `None` where everything is as usual."""
        kind = self.outage.kind
        if task.ip is None:
            return Failed(task, kind, now, 0.1) if kind.startswith("dns-") else None
        if task.url == _url(self.failing, "/robots.txt") and kind.startswith("robots-"):
            status, rules = (503, "") if kind == "robots-503" else (200, "User-agent: *\nDisallow: /\n")
            return _fetched(task, now, status, rules)
        is_home = task.url == self.pages[self.failing][0]
        is_as_usual = kind == NO_OUTAGE or (task.purpose is not Purpose.PAGE and kind not in WHOLE)
        if is_as_usual or kind.startswith(("robots-", "dns-")) or (is_home and kind in WITH_HOME):
            return None
        if kind in FAILURES:
            reason = FAILURES[kind][len(self.page_requests) % len(FAILURES[kind])]
            return Failed(task, reason, now, TIMEOUT if reason == "timeout" else _TOOK, ip=task.ip)
        if kind in STATUSES:
            headers = {
                "503-retry-after": [("Retry-After", str(RETRY_AFTER))],
                "challenge-403": [("cf-mitigated", "challenge")],
                "challenge-200": [("cf-mitigated", "challenge")],
            }
            return _fetched(task, now, STATUSES[kind], self._notice(task.url), *headers.get(kind, ()))
        return self._redirect(task, now)

    def _redirect(self, task: FetchTask, now: float) -> FetchOutcome:
        path = task.url.removeprefix(_url(self.failing, ""))
        if self.outage.kind == "redirect-login" and path.startswith("/login"):
            return _fetched(task, now, 200, _login(path))
        target = "/" if self.outage.kind == "redirect-home" else f"/login?next={path.replace('/', '%2F')}"
        return Redirected(task, 302, _url(self.failing, target), (), now, _TOOK, task.ip)

    def _notice(self, url: Url) -> str:
        """What is shown instead of a page: other bytes for each path and at each time."""
        path, time = url.removeprefix(_url(self.failing, "")), datetime.fromtimestamp(self.true.at, UTC)
        match self.outage.kind:
            case "empty":
                return ""
            case "login":
                return _login(path)
            case "maintenance":
                return (
                    "<html><head><title>Maintenance</title></head><body><h1>We will be back soon</h1><p>Our site is "
                    "being maintained, and none of its pages can be shown. Thank you for your patience.</p>"
                    f"<p>It is {time:%H:%M:%S}. You asked for {path}.</p></body></html>"
                )
            case "challenge-403" | "challenge-200":
                return (
                    "<html><head><title>Just a moment...</title></head><body><h1>Checking your browser</h1><p>Enable "
                    "JavaScript and cookies to continue. This takes a few seconds.</p>"
                    f"<p>Request {hash_of(f'{url} {time}'.encode())}</p></body></html>"
                )
            case _:
                return f"<html><head><title>Error</title></head><body>{path} cannot be shown.</body></html>"


def _login(path: str) -> str:
    return (
        "<html><head><title>Log in</title></head><body><h1>Log in to go on</h1><form method=post action=/session>"
        f'<input type=hidden name=next value="{path}"><input name=user><input name=password type=password>'
        "<button>Log in</button></form><p>You have to log in to see this page.</p></body></html>"
    )


def _url(site: Site, path: str) -> Url:
    return Url(f"https://{site}{path}")


@cache
def _words(seed: str, count: int = _WORDS) -> str:
    chance = Random(seed)
    return " ".join("".join(chance.choices(ascii_lowercase, k=6)) for _ in range(count))


def _fetched(task: FetchTask, now: float, status: int, body: str, *headers: tuple[str, str]) -> Fetched:
    kind = {Purpose.PAGE: "text/html", Purpose.SITEMAP: "application/xml"}.get(task.purpose, "text/plain")
    return Fetched(task, status, (("Content-Type", kind), *headers), body.encode(), now, _TOOK, task.ip)
