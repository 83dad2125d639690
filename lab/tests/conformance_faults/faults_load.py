"""Faults that are felt by sites. The small crawler makes no pauses, and knows nothing of Retry-After."""

from __future__ import annotations

import http.client
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urljoin, urlsplit

from lab.tests.conformance_faults.small_crawler import AGENT, Response, SmallCrawler


class Parallel(SmallCrawler):
    """Fetches all that it knows at once."""

    def crawl(self) -> None:
        """In rounds."""
        with ThreadPoolExecutor(16) as pool:
            while self.queue and self.fetched < self.limit:
                urls = [url for url in self.queue if self.is_allowed(url)][: self.limit - self.fetched]
                self.queue = []
                self.fetched += len(urls)
                list(pool.map(self.visit, urls))


class ParallelEverywhere(Parallel):
    """And on all hosts."""

    def is_in_scope(self, url: str) -> bool:
        """Any host."""
        return urlsplit(url).scheme == "http"


class ForgetsRobots(SmallCrawler):
    """Asks for robots.txt with every page."""

    def is_allowed(self, url: str) -> bool:
        """Ask again."""
        self.rules.clear()
        return super().is_allowed(url)


class AsksForHeadsFirst(SmallCrawler):
    """Sends HEAD before GET."""

    def fetch(self, url: str) -> Response:
        """Both."""
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=5)
        connection.request("HEAD", parts.path, headers=self.headers(url))
        connection.getresponse().read()
        connection.close()
        return super().fetch(url)


class Nameless(SmallCrawler):
    """Does not say who it is."""

    def headers(self, url: str) -> dict[str, str]:
        """No name."""
        return {"User-Agent": ""}


class Reachable(SmallCrawler):
    """Says whom to write to; no fault."""

    def headers(self, url: str) -> dict[str, str]:
        """As robots should."""
        return {"User-Agent": AGENT, "From": "owner@lab.test"}


class HasTwoNames(SmallCrawler):
    """Asks for robots.txt by one name, and for pages by another."""

    def headers(self, url: str) -> dict[str, str]:
        """By URL."""
        return {"User-Agent": AGENT if url.endswith("/robots.txt") else "Another/1.0"}


class Disguised(SmallCrawler):
    """Passes for a browser."""

    def headers(self, url: str) -> dict[str, str]:
        """As a browser has it."""
        return {
            "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)"
            " Chrome/120.0.0.0 Safari/537.36"
        }


class Unlimited(SmallCrawler):
    """Does not count."""

    def crawl(self) -> None:
        """All there is."""
        self.limit = 1_000
        super().crawl()


class StopsEarly(SmallCrawler):
    """Fetches half of what it is asked for."""

    def crawl(self) -> None:
        """Half."""
        self.limit //= 2
        super().crawl()


class ForgetsPages(SmallCrawler):
    """Does not know what it has fetched."""

    def take(self, url: str) -> None:
        """Queue anything."""
        if self.is_in_scope(url):
            self.queue.append(url.partition("#")[0])


class KeepsFragments(SmallCrawler):
    """Takes fragments for pages."""

    def take(self, url: str) -> None:
        """With its fragment."""
        if url not in self.seen and self.is_in_scope(url):
            self.seen.add(url)
            self.queue.append(url)


class ReadsSecondsAlone(SmallCrawler):
    """Expects a number of seconds in Retry-After."""

    def fetch(self, url: str) -> Response:
        """Wait, or fail."""
        response = super().fetch(url)
        if "retry-after" in response.fields:
            time.sleep(int(response.fields["retry-after"]))
        return response


class Insists(SmallCrawler):
    """Asks again at once, and again, for whatever is not there."""

    def visit(self, url: str) -> None:
        """Ten times."""
        for _ in range(10):
            response = self.fetch(url)
            if response.status == 200:
                for link in self.links(response):
                    self.take(urljoin(url, link))
                break


class ReadsAll(SmallCrawler):
    """Reads every answer to its end."""

    def read(self, response: http.client.HTTPResponse) -> bytes:
        """All of it."""
        kept = b""
        while piece := response.read(1_000_000):
            kept = kept or piece
        return kept


class CannotBeStopped(SmallCrawler):
    """Does not hear SIGINT."""

    def crawl(self) -> None:
        """Go on for a while."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.limit = 30
        super().crawl()


FAULTS = {
    "parallel": Parallel,
    "parallel-everywhere": ParallelEverywhere,
    "forgets-robots": ForgetsRobots,
    "asks-for-heads-first": AsksForHeadsFirst,
    "nameless": Nameless,
    "reachable": Reachable,
    "has-two-names": HasTwoNames,
    "disguised": Disguised,
    "unlimited": Unlimited,
    "stops-early": StopsEarly,
    "forgets-pages": ForgetsPages,
    "keeps-fragments": KeepsFragments,
    "reads-seconds-alone": ReadsSecondsAlone,
    "insists": Insists,
    "reads-all": ReadsAll,
    "cannot-be-stopped": CannotBeStopped,
}
FAILS = {
    "slow-site": "parallel",
    "names-of-one-address-at-once": "parallel-everywhere",
    "names-of-one-address-pause": "parallel-everywhere",
    "at-once": "parallel",
    "pause": "-",
    "robots-kept": "forgets-robots",
    "no-head-before-get": "asks-for-heads-first",
    "connections-are-reused": "-",
    "compression": "-",
    "user-agent": "nameless",
    "same-user-agent": "has-two-names",
    "no-disguise": "disguised",
    "contact": "-",
    "limit-is-kept": "unlimited",
    "limit-is-reached": "stops-early",
    "no-page-twice": "forgets-pages",
    "fragments": "keeps-fragments",
    "retry-after-seconds": "-",
    "comes-back-after-503": "-",
    "retry-after-date": "-",
    "comes-back-after-429": "-",
    "retry-after-a-year": "-",
    "retry-after-for-robots": "-",
    "retry-after-in-the-past": "reads-seconds-alone",
    "retry-after-in-the-past-is-no-leave": "insists",
    "404-once": "insists",
    "403-and-410-once": "insists",
    "500-a-few-times": "insists",
    "500-not-at-once": "insists",
    "reset-a-few-times": "insists",
    "overload": "-",
    "503-not-at-once": "insists",
    "503-not-endlessly": "insists",
    "big-file": "reads-all",
    "interrupted": "cannot-be-stopped",
}
"""The fault that fails each case."""
PASSES = {"contact": "reachable"}
"""The small crawler that passes a case."""
