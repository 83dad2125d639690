"""Faults in finding pages."""

from __future__ import annotations

import http.client
import re
from html import unescape
from urllib.parse import quote, unquote_plus, urljoin, urlsplit
from xml.etree import ElementTree

from lab.tests.conformance_faults.small_crawler import Response, SmallCrawler


class FindsNoLinks(SmallCrawler):
    """Fetches its seed and stops."""

    def links(self, response: Response) -> list[str]:
        """None."""
        return []


class ReadsAsWritten(SmallCrawler):
    """Takes what is between double quotes, as it is."""

    def links(self, response: Response) -> list[str]:
        """Without character references."""
        return re.findall(r'<a\s[^>]*href="([^"]+)"', response.body.decode("utf-8", "replace"))


class ReadsXml(SmallCrawler):
    """Reads pages with a parser of XML, which gives up at the first error."""

    def links(self, response: Response) -> list[str]:
        """Of well-formed pages alone."""
        text = response.body.replace(b"<!doctype html>", b"")
        try:
            return [element.get("href", "") for element in ElementTree.fromstring(text).iter("a")]
        except ElementTree.ParseError:
            return []


class ShowsLittle(SmallCrawler):
    """Removes what it does not know how to show."""

    def links(self, response: Response) -> list[str]:
        """Without those in noscript and SVG."""
        response.body = re.sub(rb"(?s)<(noscript|svg).*?</\1>", b"", response.body)
        return super().links(response)


class SplitsAtSpaces(SmallCrawler):
    """Takes a space for the end of a link."""

    def resolve(self, page: str, link: str) -> str:
        """The first word."""
        return urljoin(page, (link.split() or [""])[0])


class JoinsByHand(SmallCrawler):
    """Takes every link that is not absolute for a path."""

    def resolve(self, page: str, link: str) -> str:
        """The host and the link."""
        return link if link.startswith("http") else "/".join([*page.split("/")[:3], link.lstrip("/")])


class KeepsFragments(SmallCrawler):
    """Takes a fragment for a part of the path."""

    def take(self, url: str) -> None:
        """Queue it with its fragment."""
        super().take(url.replace("#", "%23"))

    def target(self, url: str) -> str:
        """With its fragment."""
        return super().target(url).replace("%23", "#")


class AllowsOnlyRfc3986(SmallCrawler):
    """Drops what is no URI."""

    def links(self, response: Response) -> list[str]:
        """Those that a strict grammar allows."""
        allowed = re.compile(r"(?:[!#$&-;=?-Z\[\]_a-z~]|%[0-9A-Fa-f]{2})+")
        return [link for link in super().links(response) if allowed.fullmatch(link)]


class LowersCase(SmallCrawler):
    """Takes paths for names of files on another system."""

    def resolve(self, page: str, link: str) -> str:
        """All in lower case."""
        return urljoin(page, link).lower()


class EscapesAgain(SmallCrawler):
    """Decodes URLs and encodes them."""

    def resolve(self, page: str, link: str) -> str:
        """As if it were a form's value."""
        return quote(unquote_plus(urljoin(page, link)), safe=":/?=&")


class DropsLongUrls(SmallCrawler):
    """Has a column of 1,000 characters."""

    def is_in_scope(self, url: str) -> bool:
        """Not if it does not fit."""
        return len(url) <= 1000 and super().is_in_scope(url)


class TakesNameBeforeAt(SmallCrawler):
    """Reads the host up to the first character it does not expect."""

    def resolve(self, page: str, link: str) -> str:
        """What comes before the `@` is the host."""
        return re.sub(r"^(http://[^/@]+)@[^/]+", r"\1", urljoin(page, link))


class GoesTenDeep(SmallCrawler):
    """Follows ten links in a row and no more."""

    depth = 0
    depths: dict[str, int]

    def visit(self, url: str) -> None:
        """Remember how deep it is."""
        self.depths = getattr(self, "depths", {})
        self.depth = self.depths.get(url, 0)
        super().visit(url)

    def take(self, url: str) -> None:
        """Queue it, unless it is too deep."""
        if self.depth < 10:
            self.depths.setdefault(url.partition("#")[0], self.depth + 1)
            super().take(url)


class TakesCodingsItCannotRead(SmallCrawler):
    """Asks for content codings that it does not decode."""

    def headers(self, url: str) -> dict[str, str]:
        """What a browser takes; not for the seed, or there would be nothing behind it."""
        codings = {"Accept-Encoding": "gzip, deflate, br, zstd"} if "/on/" in url else {}
        return {**super().headers(url), **codings}


class ReadsChunksAsText(SmallCrawler):
    """Takes the lengths of chunks for text."""

    def headers(self, url: str) -> dict[str, str]:
        """The server is to end the connection, or there would be no end."""
        return {**super().headers(url), "Connection": "close"}

    def read(self, response: http.client.HTTPResponse) -> bytes:
        """The bytes as they come."""
        return response.fp.read() if response.chunked else super().read(response)


class WantsTextHtml(SmallCrawler):
    """Reads pages of the type text/html, in UTF-8 without errors."""

    def links(self, response: Response) -> list[str]:
        """Of those alone."""
        if not response.fields.get("content-type", "").startswith("text/html") or b"\0" in response.body:
            return []
        try:
            response.body.decode("utf-8")
        except UnicodeDecodeError:
            return []
        return super().links(response)


class FollowsNoRedirects(SmallCrawler):
    """Takes a redirect for an error."""

    def fetch(self, url: str) -> Response:
        """Without its Location."""
        response = super().fetch(url)
        response.fields.pop("location", None)
        return response


class SubmitsForms(SmallCrawler):
    """Sends every form that it finds."""

    def links(self, response: Response) -> list[str]:
        """The links; the forms are sent at once."""
        for action in re.findall(r'<form action="([^"]+)" method="post"', response.body.decode("utf-8", "replace")):
            connection = http.client.HTTPConnection(urlsplit(self.seed).netloc)
            connection.request("POST", action, b"vessel=keel", self.headers(action))
            connection.getresponse().read()
            connection.close()
        return super().links(response)


class Decodes(SmallCrawler):
    """Decodes pages, and sends what is beyond ASCII in UTF-8."""

    def encoding_of(self, response: Response) -> str:
        """What the head of the answer says."""
        found = re.search(r"charset=([\w-]+)", response.fields.get("content-type", ""))
        return found[1] if found else "utf-8"

    def links(self, response: Response) -> list[str]:
        """In the encoding of the page."""
        response.body = response.body.decode(self.encoding_of(response), "replace").encode()
        return super().links(response)

    def resolve(self, page: str, link: str) -> str:
        """Percent-encoded."""
        return quote(urljoin(page, link), safe=":/?=&%")


class BelievesMeta(Decodes):
    """Believes a page more than the head of the answer."""

    def encoding_of(self, response: Response) -> str:
        """What the page says."""
        found = re.search(rb"charset=[\"']?([\w-]+)", response.body)
        return found[1].decode() if found else "utf-8"


class TrustsSitemaps(SmallCrawler):
    """Fetches all that a sitemap lists, wherever it is."""

    def crawl(self) -> None:
        """The sitemaps of the seed's robots.txt first."""
        base = "/".join(self.seed.split("/")[:3])
        robots = self.fetch(f"{base}/robots.txt").body.decode()
        for sitemap in re.findall(r"(?m)^Sitemap: (\S+)", robots):
            for url in re.findall(r"<loc>(.*?)</loc>", self.fetch(sitemap).body.decode("utf-8", "replace")):
                self.take(unescape(url))
        super().crawl()

    def is_in_scope(self, url: str) -> bool:
        """Everything."""
        return True


class TakesEveryElement(SmallCrawler):
    """A good reader of elements, for cases that are not for every crawler."""

    def links(self, response: Response) -> list[str]:
        """Those of pages that are objects, too."""
        text = response.body.decode("utf-8", "replace")
        return super().links(response) + re.findall(r'<(?:object data|embed src)="([^"]+)"', text)


FAULTS: dict[str, type[SmallCrawler]] = {
    "finds-no-links": FindsNoLinks,
    "reads-as-written": ReadsAsWritten,
    "reads-xml": ReadsXml,
    "shows-little": ShowsLittle,
    "splits-at-spaces": SplitsAtSpaces,
    "joins-by-hand": JoinsByHand,
    "keeps-fragments": KeepsFragments,
    "allows-only-rfc-3986": AllowsOnlyRfc3986,
    "lowers-case": LowersCase,
    "escapes-again": EscapesAgain,
    "drops-long-urls": DropsLongUrls,
    "takes-name-before-at": TakesNameBeforeAt,
    "goes-ten-deep": GoesTenDeep,
    "takes-codings-it-cannot-read": TakesCodingsItCannotRead,
    "reads-chunks-as-text": ReadsChunksAsText,
    "wants-text-html": WantsTextHtml,
    "follows-no-redirects": FollowsNoRedirects,
    "submits-forms": SubmitsForms,
    "believes-the-head": Decodes,
    "believes-meta": BelievesMeta,
    "trusts-sitemaps": TrustsSitemaps,
    "takes-every-element": TakesEveryElement,
}
_BY_FAULT = {
    "finds-no-links": "anchor",
    "reads-as-written": "ampersand character-references",
    "reads-xml": (
        "no-root-element unclosed-elements nested-anchors no-space-between-attributes missing-quote abrupt-comment"
        " comment-with-bang bogus-comment after-the-end misplaced-in-table deep-nesting bare-ampersand"
    ),
    "shows-little": "noscript svg-link",
    "splits-at-spaces": "line-end-in-url space-in-path",
    "joins-by-hand": (
        "relative-path parent-path above-the-root query-only scheme-relative dot-segments other-schemes"
        " relative-location links-after-redirect directory-listing"
    ),
    "keeps-fragments": "fragments location-with-fragment",
    "allows-only-rfc-3986": "pipe-and-caret stray-percent path-beyond-ascii backslashes",
    "lowers-case": "case-of-paths",
    "escapes-again": "escapes-are-kept plus-sign",
    "drops-long-urls": "long-url",
    "takes-name-before-at": "user-info",
    "goes-ten-deep": "pagination depth",
    "takes-codings-it-cannot-read": "gzip gzip-members deflate brotli zstd",
    "reads-chunks-as-text": "chunked",
    "wants-text-html": "xhtml no-content-type nul invalid-bytes",
    "follows-no-redirects": "redirect-301 redirect-302 redirect-303 redirect-307 redirect-308 redirect-chain",
    "submits-forms": "no-post",
    "believes-the-head": "query-charset meta-charset http-equiv-charset byte-order-mark utf-16",
    "believes-meta": "header-charset header-before-meta",
    "trusts-sitemaps": (
        "sitemap-for-another-host sitemap-index sitemap-gzip sitemap-text sitemap-rss sitemap-namespaces sitemap-large"
        " sitemap-cdata sitemap-line-anywhere"
    ),
    "-": (
        "area iframe object embed comment text-of-an-element data-attribute link-next link-alternate frame meta-refresh"
        " meta-refresh-in-quotes canonical single-quotes unquoted unquoted-slash upper-case space-around-equals"
        " greater-than first-attribute-counts space-around-url slash-for-space encoded-dots host-beyond-ascii"
        " case-of-hosts default-port base first-base relative-base plain-text late-link refresh-header link-header"
        " canonical-in-header rss atom rss-1.0 atom-base sitemap sitemap-byte-order-mark sitemap-escapes"
        " sitemap-elsewhere sitemap-default script-link script-later script-fetch script-file script-redirect"
    ),
}
FAILS = {case: fault for fault, cases in _BY_FAULT.items() for case in cases.split()}
"""The fault that fails each case; `-`: what a crawler does that looks for `<a href="...">` and nothing else."""
PASSES = {"object": "takes-every-element", "embed": "takes-every-element"}
"""Who passes a case that Periplus does not."""
