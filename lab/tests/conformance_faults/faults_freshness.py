"""Faults of the second visit. The small crawler itself begins anew each time, and remembers nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.robotparser import RobotFileParser

from lab.tests.conformance_faults.small_crawler import Response, SmallCrawler


class Conditional(SmallCrawler):
    """Sends a condition always."""

    def headers(self, url: str) -> dict[str, str]:
        """As if it had every page."""
        return {**super().headers(url), "If-Modified-Since": "Wed, 01 Jan 2020 00:00:00 GMT"}


class Remembers(SmallCrawler):
    """Keeps pages and their validators in its folder."""

    def __init__(self, seed: str, folder: Path, limit: int) -> None:
        super().__init__(seed, folder, limit)
        self.file = folder / "memory.json"
        self.memory: dict[str, dict[str, str]] = json.loads(self.file.read_text()) if self.file.exists() else {}

    def crawl(self) -> None:
        """Remember it all at the end."""
        super().crawl()
        self.file.write_text(json.dumps(self.memory))

    def headers(self, url: str) -> dict[str, str]:
        """With the validators of the page."""
        known = self.memory.get(url, {})
        names = {"If-None-Match": "etag", "If-Modified-Since": "last-modified"}
        conditions = {name: known[field] for name, field in names.items() if field in known}
        return {**super().headers(url), **conditions}

    def fetch(self, url: str) -> Response:
        """The page as it was, if it has not been modified."""
        response = super().fetch(url)
        if response.status == 304:
            return Response(url, 200, {}, self.memory[url]["body"].encode())
        if response.status == 200:
            self.remember(url, response)
        return response

    def remember(self, url: str, response: Response) -> None:
        """Keep a page."""
        fields = {name: value for name, value in response.fields.items() if name in ("etag", "last-modified")}
        self.memory[url] = {"body": response.body.decode("utf-8", "replace"), **fields}


class ForgetsLinks(Remembers):
    """Takes a page that was not modified for one that is done with."""

    def fetch(self, url: str) -> Response:
        """Without the page."""
        response = super().fetch(url)
        return Response(url, 304) if not response.fields else response


class KeepsFirstValidators(Remembers):
    """Never replaces the validators of a page."""

    def remember(self, url: str, response: Response) -> None:
        """Unless it is the first version."""
        if url not in self.memory:
            super().remember(url, response)


class VisitsOnce(Remembers):
    """Visits no page again but its seed."""

    def visit(self, url: str) -> None:
        """If it was not visited."""
        if url == self.seed or url not in self.memory:
            super().visit(url)

    def headers(self, url: str) -> dict[str, str]:
        """Without validators."""
        return SmallCrawler.headers(self, url)


class KeepsRules(SmallCrawler):
    """Fetches robots.txt once in its life."""

    def rules_of(self, url: str) -> RobotFileParser:
        """Those of the first crawl."""
        file = self.folder / "robots.txt"
        if not file.exists():
            file.write_bytes(self.fetch("/".join([*url.split("/")[:3], "robots.txt"])).body)
        parser = RobotFileParser()
        parser.parse(file.read_text().splitlines())
        return parser


class TriesAgainAndAgain(SmallCrawler):
    """Takes every error for one that passes."""

    def fetch(self, url: str) -> Response:
        """Up to ten times."""
        response = super().fetch(url)
        for _ in range(9):
            if response.status >= 400 and "robots" not in url:
                response = super().fetch(url)
        return response


class ReadsDates(Remembers):
    """A good crawler, for the case that is not for every crawler: asks the sitemap first what has changed."""

    def crawl(self) -> None:
        """Pages with a new date first."""
        listed = self.fetch(f"{self.seed}sitemap.xml").body.decode()
        before = self.memory.pop("dates", {})
        dates: dict[str, str] = dict(re.findall(r"<loc>(.*?)</loc><lastmod>(.*?)</lastmod>", listed))
        for url in [each for each in dates if before and before.get(each) != dates[each]]:
            self.take(url)
        self.memory["dates"] = dates
        self.queue.sort(key=lambda url: url == self.seed)
        super().crawl()


FAULTS: dict[str, type[SmallCrawler]] = {
    "always-conditional": Conditional,
    "forgets-links": ForgetsLinks,
    "keeps-first-validators": KeepsFirstValidators,
    "visits-once": VisitsOnce,
    "keeps-rules": KeepsRules,
    "tries-again-and-again": TriesAgainAndAgain,
    "remembers": Remembers,
    "reads-dates": ReadsDates,
}
_BY_FAULT = {
    "always-conditional": "first-visit",
    "forgets-links": "unchanged-keeps-links",
    "keeps-first-validators": "new-validators dropped-validators",
    "visits-once": "changed-page new-page moved failed-once",
    "keeps-rules": "newly-disallowed",
    "tries-again-and-again": "gone",
    "-": (
        "etag weak-etag opaque-etag etag-of-coding last-modified date-as-received both-validators fresh"
        " unchanged-not-sent-again not-modified-keeps-validators sitemap-dates sitemap-new-page"
    ),
}
FAILS = {case: fault for fault, cases in _BY_FAULT.items() for case in cases.split()}
"""The fault that fails each case; `-`: what a crawler does that remembers nothing."""
PASSES = {"sitemap-dates": "reads-dates"}
"""Who passes a case that Periplus does not."""
