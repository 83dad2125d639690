"""Faults of safety."""

from __future__ import annotations

import http.client
import re
import socket
import ssl
from base64 import b64encode
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from lab.tests.conformance_faults.small_crawler import AGENT, Response, SmallCrawler


class GoesAnywhere(SmallCrawler):
    """Follows every link, wherever it leads."""

    def is_in_scope(self, url: str) -> bool:
        """Every URL of HTTP."""
        return url.startswith("http")

    def fetch(self, url: str) -> Response:
        """A host that cannot be read is nothing."""
        try:
            return super().fetch(url)
        except ValueError:
            return Response(url)


class ReadsEverything(GoesAnywhere):
    """Follows all that looks like a URL in a page, a feed or a sitemap, and the Sitemap lines of robots.txt."""

    def links(self, response: Response) -> list[str]:
        """All URLs."""
        text = response.body.decode("utf-8", "replace")
        return re.findall(r"(?:href=\"|src=\"|url=|<loc>|<link>)([^\"<>]+)", text)

    def crawl(self) -> None:
        """The sitemaps first."""
        for line in self.rules_of(self.seed).site_maps() or ():
            self.take(line)
        super().crawl()


class FollowsForRobots(SmallCrawler):
    """Follows redirects of robots.txt."""

    def fetch(self, url: str) -> Response:
        """One request, and the next."""
        found = super().fetch(url)
        location = found.fields.get("location")
        return self.fetch(location) if location and url.endswith("/robots.txt") else found


class ChecksAddresses(SmallCrawler):
    """Looks a name up to see whether it is private, and leaves it to the connection to look it up again."""

    def fetch(self, url: str) -> Response:
        """Only from public addresses, it believes."""
        try:
            address = socket.gethostbyname(urlsplit(url).hostname or "")
        except OSError:
            return Response(url)
        return Response(url) if address.startswith("10.") else super().fetch(url)


class OpensAnything(SmallCrawler):
    """Opens a URL of any scheme, at any port."""

    def is_in_scope(self, url: str) -> bool:
        """Anything."""
        return True

    def fetch(self, url: str) -> Response:
        """Whatever it is."""
        if url.startswith("http"):
            return super().fetch(url)
        parts = urlsplit(url)
        if parts.scheme in ("gopher", "ftp"):
            socket.create_connection((parts.hostname, parts.port or {"ftp": 21}.get(parts.scheme, 70)), 5).close()
            return Response(url)
        return Response(url, 200, {}, Path(parts.path).read_bytes()) if parts.scheme == "file" else Response(url)

    def is_allowed(self, url: str) -> bool:
        """Without robots.txt."""
        return True


class OpensOnlyHttp(SmallCrawler):
    """Gives up at a URL that is not of HTTP."""

    def is_in_scope(self, url: str) -> bool:
        """An error for what it does not know."""
        return (
            urlsplit(url).netloc == urlsplit(self.seed).netloc or {"http": False, "https": False}[urlsplit(url).scheme]
        )


class WritesFiles(SmallCrawler):
    """Writes each page to a file that is named like its decoded path."""

    def visit(self, url: str) -> None:
        """Write it, then take its links."""
        response = self.fetch(url)
        parts = urlsplit(url)
        path = self.folder / parts.netloc / unquote(parts.path)[1:].replace("\\", "/")
        if path.name == "" or path == self.folder / parts.netloc:
            path /= "index.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(response.body)
        for link in self.links(response):
            self.take(urljoin(url, link))


class DecodesPaths(SmallCrawler):
    """Sends the decoded path."""

    def fetch(self, url: str) -> Response:
        """As it stands there."""
        parts = urlsplit(url)
        with socket.create_connection((parts.hostname, parts.port or 80), 10) as connection:
            path = unquote(url.split(parts.netloc, 1)[1])
            head = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUser-Agent: {AGENT}\r\nConnection: close\r\n\r\n"
            connection.sendall(head.encode())
            response = http.client.HTTPResponse(connection)
            response.begin()
            return Response(url, response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())


class TellsAll(GoesAnywhere):
    """Sends credentials, cookies and the whole URL of the last page to everyone."""

    def __init__(self, seed: str, folder: Path, limit: int) -> None:
        super().__init__(seed, folder, limit)
        self.cookie = self.secret = self.last = ""
        self.verified = ssl.create_default_context()

    def take(self, url: str) -> None:
        """Credentials are remembered; fragments are kept."""
        if "@" in url:
            self.secret, self.last = url, url
        super().take(url)

    def headers(self, url: str) -> dict[str, str]:
        """All that is known."""
        known = {"Referer": self.last or "http://www.lab.test/a#fragment", "Cookie": self.cookie}
        if self.secret:
            known["Authorization"] = f"Basic {b64encode(b'user:secret').decode()}"
        return super().headers(url) | {name: value for name, value in known.items() if value}

    def fetch(self, url: str) -> Response:
        """One request, with TLS where it is wanted."""
        parts = urlsplit(url)
        kind = http.client.HTTPConnection
        connection = (
            http.client.HTTPSConnection(parts.hostname or "", timeout=10, context=self.verified)
            if parts.scheme == "https"
            else kind(parts.hostname or "", parts.port, timeout=10)
        )
        try:
            connection.request("GET", parts.path or "/", headers=self.headers(url))
            response = connection.getresponse()
            cookies = [value.partition(";")[0] for name, value in response.getheaders() if name == "Set-Cookie"]
            self.cookie = "; ".join(cookies) or self.cookie
            fields = {name.lower(): value for name, value in response.getheaders()}
            self.last = self.last or (url if parts.scheme == "https" else "")
            return Response(url, response.status, fields, response.read())
        except (OSError, http.client.HTTPException):
            return Response(url)
        finally:
            connection.close()


class TrustsAnyone(TellsAll):
    """Does not look at certificates."""

    def __init__(self, seed: str, folder: Path, limit: int) -> None:
        super().__init__(seed, folder, limit)
        self.verified.check_hostname = False
        self.verified.verify_mode = ssl.CERT_NONE


class TrustsNobody(TellsAll):
    """Gets no further than the home page of a site with TLS."""

    def is_in_scope(self, url: str) -> bool:
        """Without TLS."""
        return url.startswith("http:")


FAULTS = {
    "goes-anywhere": GoesAnywhere,
    "reads-everything": ReadsEverything,
    "follows-for-robots": FollowsForRobots,
    "checks-addresses": ChecksAddresses,
    "opens-anything": OpensAnything,
    "opens-only-http": OpensOnlyHttp,
    "writes-files": WritesFiles,
    "decodes-paths": DecodesPaths,
    "tells-all": TellsAll,
    "trusts-anyone": TrustsAnyone,
    "trusts-nobody": TrustsNobody,
}
_BY_FAULT = {
    "goes-anywhere": (
        "loopback", "private-ranges", "link-local", "unspecified", "other-spellings", "mapped-addresses",
        "private-name", "private-alias", "private-among-others", "private-ipv6-name",
    ),
    "reads-everything": (
        "private-sitemap", "private-sitemap-entry", "private-embedded", "private-refresh", "private-canonical",
        "private-feed-entry",
    ),
    "follows-for-robots": ("private-robots",),
    "-": ("rebinding",),
    "checks-addresses": ("check-and-use",),
    "opens-anything": (
        "file-link", "file-redirect", "other-protocols", "ports-of-other-services",
    ),
    "opens-only-http": ("goes-on-after-other-schemes",),
    "writes-files": ("names-that-no-file-can-have", "file-and-folder", "paths-that-climb"),
    "decodes-paths": ("line-breaks-in-urls",),
    "tells-all": (
        "credentials-stay", "referer-without-secrets", "cookies-stay", "cookies-of-others", "referer-without-tls",
        "secure-cookies",
    ),
    "trusts-anyone": ("expired-certificate", "wrong-name", "self-signed"),
    "trusts-nobody": ("good-certificate",),
}  # fmt: skip
FAILS = {case: fault for fault, cases in _BY_FAULT.items() for case in cases}
