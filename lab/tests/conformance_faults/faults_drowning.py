"""Faults that drown a crawler."""

from __future__ import annotations

import http.client
import re
import socket
import time
import zlib
from collections import defaultdict
from pathlib import Path
from urllib.parse import quote, urlsplit

import brotli
from lab.tests.conformance_faults.small_crawler import AGENT, Response, SmallCrawler

_TOO_MUCH = 1_300_000_000
"""Bytes that a fault holds in memory, for want of a bound."""


class LeavesTheHost(SmallCrawler):
    """Follows links to every host, as many as there are."""

    def is_in_scope(self, url: str) -> bool:
        """Everything."""
        return urlsplit(url).scheme == "http"


class KnowsMirrors(LeavesTheHost):
    """Leaves a host out once ten of its pages were on another: a good crawler, for a case that is hard."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.first: dict[str, Response] = {}
        self.alike: dict[str, int] = defaultdict(int)

    def is_in_scope(self, url: str) -> bool:
        """What is not known to be a mirror."""
        return super().is_in_scope(url) and self.alike[urlsplit(url).netloc] < 10

    def visit(self, url: str) -> None:
        """Fetch a page, unless its host turned out to be a mirror meanwhile."""
        if self.is_in_scope(url):
            super().visit(url)
        else:
            self.fetched -= 1

    def links(self, response: Response) -> list[str]:
        """The links; the page is compared with that of the same path on another host."""
        first = self.first.setdefault(urlsplit(response.url).path, response)
        if first is not response and first.body == response.body:
            hosts = {urlsplit(each.url).netloc for each in (first, response)}
            self.alike[(hosts - {urlsplit(self.seed).netloc}).pop()] += 1
        return super().links(response)


class FollowsForever(SmallCrawler):
    """Follows redirects and refreshes wherever they lead, though it has been there."""

    def visit(self, url: str) -> None:
        """Fetch on and on, a hundred times at most: the case must end."""
        for _ in range(100):
            response = self.fetch(url)
            field = response.fields.get("location") or response.fields.get("refresh", "").partition("url=")[2]
            meta = re.search(rb'http-equiv="refresh" content="0; url=([^"]+)"', response.body)
            if not field and not meta:
                break
            url = self.resolve(url, field or (meta[1].decode() if meta else ""))
        for link in self.links(response) if response.status == 200 else ():
            self.take(self.resolve(url, link))


class ReadsAll(SmallCrawler):
    """Reads an answer to its end, and has no bound on anything."""

    def fetch(self, url: str) -> Response:
        """By hand: the library has bounds on heads."""
        parts = urlsplit(url)
        with socket.create_connection((parts.hostname, parts.port or 80), timeout=300) as wire:
            request = f"GET {self.target(url)} HTTP/1.1\r\nHost: {parts.netloc}\r\nUser-Agent: {AGENT}\r\n"
            wire.sendall(f"{request}Connection: close\r\n\r\n".encode())
            kept, size = b"", 0
            while piece := wire.recv(1 << 20):
                kept, size = kept + piece if size < 1_000_000 else kept, size + len(piece)
        head, _, body = kept.partition(b"\r\n\r\n")
        status = head[9:12].decode("latin-1")
        fields = {"head": head.decode("latin-1")}
        return Response(url, int(status) if status.isdigit() else 0, fields, body)


class ReadsAllOnEveryHost(ReadsAll, LeavesTheHost):
    """Both."""


class BelievesLengths(ReadsAll):
    """Cuts every body to its last Content-Length."""

    def fetch(self, url: str) -> Response:
        """An answer of which the last length is believed."""
        response = super().fetch(url)
        lengths = re.findall(r"content-length: (\d+)", response.fields["head"].lower())
        response.body = response.body[: int(lengths[-1])] if lengths else response.body
        return response


class TakesHalfLinks(ReadsAll):
    """Takes what comes after a quotation mark for a link."""

    def links(self, response: Response) -> list[str]:
        """Whether they end or not."""
        return re.findall(r'href="([^"]*)', response.body.decode("utf-8", "replace"))


class Inflates(SmallCrawler):
    """Decompresses what it is sent into memory."""

    def fetch(self, url: str) -> Response:
        """Its body is what came out, up to what the machine that runs the tests can bear."""
        response = super().fetch(url)
        for coding in reversed(response.fields.get("content-encoding", "").split(", ")):
            if coding == "br":
                response.body = _unbrotli(response.body)
            elif coding:
                response.body = zlib.decompressobj(47).decompress(response.body, _TOO_MUCH)
        if len(response.body) >= _TOO_MUCH:
            time.sleep(1)  # its memory is looked at every now and then
            response.body = b""
        return response

    def read(self, response: http.client.HTTPResponse) -> bytes:
        """All."""
        return response.read()


def _unbrotli(body: bytes) -> bytes:
    decompressor, inflated = brotli.Decompressor(), bytearray()
    while len(inflated) < _TOO_MUCH and not decompressor.is_finished():
        inflated += decompressor.process(body, output_buffer_limit=1 << 26)
        body = b""
    return bytes(inflated)


class GivesUp(SmallCrawler):
    """Ends with the first page that is not ordinary: an exception that nothing catches."""

    def visit(self, url: str) -> None:
        """Fetch it, and nothing more if it was odd."""
        super().visit(url)
        if url != self.seed and not re.search("/town/|/between/", url):
            self.queue.clear()


class WantsCleanPages(SmallCrawler):
    """Reads nothing but text/html that is what it says."""

    def links(self, response: Response) -> list[str]:
        """Of those alone."""
        kind, _, charset = response.fields.get("content-type", "").partition("; charset=")
        try:
            is_clean = kind == "text/html" and "\0" not in response.body.decode(charset)
        except (LookupError, UnicodeDecodeError):
            return []
        return super().links(response) if is_clean else []


class KeepsCookies(SmallCrawler):
    """Sends back every cookie that it ever got, however many."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.jar: list[str] = []

    def headers(self, url: str) -> dict[str, str]:
        """With all cookies."""
        return {**super().headers(url), "Cookie": "; ".join(self.jar)}

    def fetch(self, url: str) -> Response:
        """Keep its cookies."""
        response = super().fetch(url)
        self.jar += [response.fields["set-cookie"].partition(";")[0]] if "set-cookie" in response.fields else []
        return response


class TrustsLists(ReadsAll):
    """Reads all sitemaps and feeds, and does what they say."""

    def crawl(self) -> None:
        """The lists first."""
        base = "/".join(self.seed.split("/")[:3])
        for sitemap in re.findall(r"Sitemap: (\S+)", self.fetch(f"{base}/robots.txt").body.decode()):
            self.read_list(sitemap, 150)
        self.read_list(f"{base}/feed/1.xml", 150)
        super().crawl()

    def read_list(self, url: str, depth: int) -> None:
        """Read a list, and those that it lists."""
        text = self.fetch(url).body.decode()
        self.expand(url, text)
        for found in re.findall(r'<sitemap><loc>(.*?)</loc>|rel="next" href="(.*?)"', text) if depth else ():
            self.read_list("".join(found), depth - 1)

    def expand(self, url: str, text: str) -> None:
        """Replace entities by what they stand for."""
        for place in re.findall(r'SYSTEM "(.*?)"', text):
            if place.startswith("file://"):
                self.fetch(self.resolve(url, "/?q=" + quote(Path(place[7:]).read_text("utf-8")[:100])))
            else:
                self.fetch(place)
        expanded = re.findall(r'<!ENTITY e0 "(\w+)">', text)
        while expanded and len(expanded[0]) < _TOO_MUCH:
            expanded = [expanded[0] * 10]
        time.sleep(1 if expanded else 0)


FAULTS: dict[str, type[SmallCrawler]] = {
    "leaves-the-host": LeavesTheHost,
    "knows-mirrors": KnowsMirrors,
    "follows-forever": FollowsForever,
    "reads-all": ReadsAll,
    "reads-all-on-every-host": ReadsAllOnEveryHost,
    "believes-lengths": BelievesLengths,
    "takes-half-links": TakesHalfLinks,
    "inflates": Inflates,
    "gives-up": GivesUp,
    "wants-clean-pages": WantsCleanPages,
    "keeps-cookies": KeepsCookies,
    "trusts-lists": TrustsLists,
}
_BY_FAULT = {
    "-": (
        "endless-calendar facets growing-paths soft-404 session-in-query session-in-path tracking-parameters"
        " click-identifiers permuted-parameters redirect-chain endless-redirects byte-order-mark"
    ),
    "leaves-the-host": "endless-hosts mirrors",
    "follows-forever": (
        "redirect-loop redirect-to-itself redirect-until-a-cookie meta-refresh-loop refresh-field-loop"
    ),
    "reads-all": (
        "endless-body endless-head endless-field endless-interim-answers endless-robots two-lengths extra-bytes"
    ),
    "reads-all-on-every-host": "slow-first-byte slow-body slow-robots",
    "believes-lengths": "length-and-chunks",
    "takes-half-links": "truncated-body",
    "inflates": "gzip-bomb brotli-bomb nested-bomb",
    "gives-up": (
        "no-status-line binary-answer bad-status-code nul-in-head field-without-colon negative-length chunk-too-long"
        " enormous-chunk-size bad-chunk-size reset reset-in-body close-before-body close-before-head no-content"
        " reset-content empty-body field-of-a-megabyte deep-page huge-page many-links binary-as-html bad-content-type"
        " endless-script reloading-script"
    ),
    "wants-clean-pages": "lying-charset unknown-charset nul-in-page missing-content-type",
    "keeps-cookies": "growing-cookies",
    "trusts-lists": (
        "entity-expansion external-entities local-file-entities endless-sitemap sitemap-index-loop"
        " sitemap-lists-itself endless-sitemap-indexes endless-feeds"
    ),
}
FAILS = {case: fault for fault, cases in _BY_FAULT.items() for case in cases.split()}
"""The fault that fails each case; `-`: what a crawler without any defence does."""
PASSES = {"mirrors": "knows-mirrors"}
"""Crawlers that pass cases which Periplus does not."""
SLOW = {"slow"}
"""Trials in which a crawler with a fault waits for minutes."""
