"""A small crawler that can be as bad as a case needs: each case is shown to fail with one of its faults.

Started by the judge as `python -m lab.tests.conformance_faults.small_crawler GROUP FAULT SEED FOLDER LIMIT`. Without
its fault (`-`) it follows the links of HTML on the seed's host, one request at a time, and obeys robots.txt as Python's
library reads it. A fault is a subclass with one method that is wrong, in `faults_GROUP`.
"""

from __future__ import annotations

import http.client
import re
import sys
import time
from html import unescape
from importlib import import_module
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

AGENT = "SmallCrawler/1.0"
TIMEOUT = 10


class Response:
    """What came back. `status` is 0 if nothing did."""

    def __init__(self, url: str, status: int = 0, fields: dict[str, str] | None = None, body: bytes = b"") -> None:
        self.url, self.status, self.fields, self.body = url, status, fields or {}, body


class SmallCrawler:
    """Breadth first, on one host."""

    delay = 0.0

    def __init__(self, seed: str, folder: Path, limit: int) -> None:
        self.seed, self.folder, self.limit = seed, folder, limit
        self.queue = [seed]
        self.seen = {seed}
        self.fetched = 0
        self.rules: dict[str, RobotFileParser] = {}

    def crawl(self) -> None:
        """Until there is nothing left, or the limit is reached."""
        while self.queue and self.fetched < self.limit:
            url = self.queue.pop(0)
            if self.is_allowed(url):
                self.fetched += 1
                self.visit(url)
                time.sleep(self.delay)

    def visit(self, url: str) -> None:
        """Fetch a page and take its links."""
        response = self.fetch(url)
        if 300 <= response.status < 400 and "location" in response.fields:
            self.take(self.resolve(url, response.fields["location"]))
        elif response.status == 200:
            for link in self.links(response):
                self.take(self.resolve(url, link))

    def resolve(self, page: str, link: str) -> str:
        """The URL of a link of a page."""
        return urljoin(page, link)

    def take(self, url: str) -> None:
        """Queue a URL that is new and in scope."""
        url = url.partition("#")[0]
        if url not in self.seen and self.is_in_scope(url):
            self.seen.add(url)
            self.queue.append(url)

    def is_in_scope(self, url: str) -> bool:
        """Whether a URL is on the seed's host."""
        return urlsplit(url)[:2] == urlsplit(self.seed)[:2]

    def links(self, response: Response) -> list[str]:
        """The links of a page."""
        return [
            unescape(link) for link in re.findall(r'<a\s[^>]*href="([^"]+)"', response.body.decode("utf-8", "replace"))
        ]

    def is_allowed(self, url: str) -> bool:
        """Whether robots.txt allows a URL."""
        return self.rules_of(url).can_fetch(AGENT, url)

    def rules_of(self, url: str) -> RobotFileParser:
        """The robots.txt of a URL's host; fetched once."""
        base = "/".join(url.split("/")[:3])
        if base not in self.rules:
            parser = self.rules[base] = RobotFileParser()
            parser.parse(self.robots_lines(self.fetch(f"{base}/robots.txt")))
        return self.rules[base]

    def robots_lines(self, response: Response) -> list[str]:
        """The lines of a robots.txt, or those that stand for its absence."""
        if response.status == 200:
            return response.body.decode("utf-8", "replace").splitlines()
        return ["User-agent: *", "Disallow: /"] if response.status >= 500 else []

    def headers(self, url: str) -> dict[str, str]:
        """The fields of a request."""
        del url
        return {"User-Agent": AGENT}

    def fetch(self, url: str) -> Response:
        """One request; nothing is followed."""
        parts = urlsplit(url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.netloc, timeout=TIMEOUT)
        try:
            connection.request("GET", self.target(url), headers=self.headers(url))
            response = connection.getresponse()
            return Response(url, response.status, {k.lower(): v for k, v in response.getheaders()}, self.read(response))
        except (OSError, http.client.HTTPException, UnicodeError):
            return Response(url)
        finally:
            connection.close()

    def target(self, url: str) -> str:
        """What is requested of the host."""
        parts = urlsplit(url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def read(self, response: http.client.HTTPResponse) -> bytes:
        """The body."""
        return response.read(1_000_000)


def main() -> None:
    """Crawl as the arguments say."""
    group, fault, seed, folder, limit = sys.argv[1:]
    kind = SmallCrawler if fault == "-" else import_module(f"lab.tests.conformance_faults.faults_{group}").FAULTS[fault]
    kind(seed, Path(folder), int(limit)).crawl()


if __name__ == "__main__":
    main()
