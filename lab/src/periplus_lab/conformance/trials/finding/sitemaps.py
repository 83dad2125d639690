"""Sitemaps: where they are found, how they are written, and whom they may speak for."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable
from gzip import compress
from html import escape

from ...cases import Case, Trial, trial
from ...sites import ALLOW_ALL, TrialSite, Web
from .link_kinds import FEW_PAGES, one_of

_PROTOCOL = "sitemaps.org, protocol:"
_XML = "application/xml"
_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_MOST = 50_000


def sitemap(urls: Iterable[str], dates: Iterable[str] = ()) -> str:
    """A sitemap of some URLs, with their dates if there are any."""
    urls = list(urls)
    lines = [f"<lastmod>{date}</lastmod>" for date in dates] or [""] * len(urls)
    entries = "".join(f"<url><loc>{escape(url)}</loc>{line}</url>\n" for url, line in zip(urls, lines, strict=True))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{_NAMESPACE}">\n{entries}</urlset>\n'


def _prefixed(site: TrialSite) -> str:
    return (
        f'<?xml version="1.0"?>\n<s:urlset xmlns:s="{_NAMESPACE}"'
        ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">\n'
        f"<s:url><image:image><image:loc>{site.url('/chart.png')}</image:loc></image:image>"
        f"<s:loc>\n  {site.url('/in-namespaces')}\n</s:loc></s:url></s:urlset>\n"
    )


def _rss(site: TrialSite) -> str:
    return (
        '<?xml version="1.0"?>\n<rss version="2.0"><channel><title>New</title><description>New</description>'
        f"<link>{site.url()}</link><item><title>A page</title><link>{site.url('/in-rss')}</link></item>"
        "</channel></rss>\n"
    )


@trial("finding")
def sitemaps(web: Web) -> Trial:
    """Sitemaps that robots.txt names, each with pages that nothing else leads to."""
    site = web.site()
    url = site.url
    index = (
        f'<?xml version="1.0"?>\n<sitemapindex xmlns="{_NAMESPACE}"><sitemap><loc>{url("/sitemaps/child.xml")}</loc>'
        "<lastmod>2025-01-06</lastmod></sitemap></sitemapindex>\n"
    )
    few = [url(f"/in-large/{number}") for number in range(5)]
    files: dict[str, tuple[str | bytes, str]] = {
        "/sitemaps/plain.xml": (sitemap([url("/in-sitemap")]), _XML),
        "/sitemaps/any-place.xml": (sitemap([url("/in-any-place")]), _XML),
        "/sitemaps/index.xml": (index, _XML),
        "/sitemaps/child.xml": (sitemap([url("/in-child")]), _XML),
        "/sitemaps/packed.xml.gz": (compress(sitemap([url("/in-gzip")]).encode(), mtime=0), "application/x-gzip"),
        "/sitemaps/list.txt": (f"{url('/in-text/1')}\n{url('/in-text/2')}\n", "text/plain; charset=utf-8"),
        "/sitemaps/rss.xml": (_rss(site), "application/rss+xml"),
        "/sitemaps/large.xml": (sitemap(few * (_MOST // 5 - 1) + [url("/in-large/last")]), _XML),
        "/sitemaps/names.xml": (_prefixed(site), _XML),
        "/sitemaps/marked.xml": (BOM_UTF8 + sitemap([url("/after-mark")]).encode(), _XML),
        "/sitemaps/escaped.xml": (sitemap([url("/escaped?a=1&b='2'")]), _XML),
        "/sitemaps/cdata.xml": (
            sitemap(["-"]).replace("-</loc>", f"<![CDATA[{url('/in-cdata?a=1&b=2')}]]></loc>"),
            _XML,
        ),
    }
    for target, (body, kind) in files.items():
        site.text(target, body, kind)
    named = [url(target) for target in files if target not in ("/sitemaps/child.xml", "/sitemaps/any-place.xml")]
    lines = "".join(f"Sitemap: {name}\n" for name in named)
    other = f"\nUser-agent: someone-else\nsitemap:{url('/sitemaps/any-place.xml')}\nDisallow: /\n"
    site.robots(f"{ALLOW_ALL}\n{lines}{other}")
    site.page("/", "/linked")
    site.pages(
        (
            "/linked", "/in-sitemap", "/in-any-place", "/in-child", "/in-gzip", "/in-text/1", "/in-text/2", "/in-rss",
            "/in-large/last", *(f"/in-large/{number}" for number in range(5)), "/in-namespaces", "/after-mark",
            "/escaped?a=1&b='2'", "/escaped?a=1&b=%272%27", "/in-cdata?a=1&b=2",
        )
    )  # fmt: skip
    return Trial(seed=url(), seconds=FEW_PAGES, cases=_written(site))


def _written(site: TrialSite) -> tuple[Case, ...]:
    return (
        Case(
            name="sitemap",
            says="robots.txt may name a sitemap, whose pages are to be crawled.",
            source=f"{_PROTOCOL} Specifying the Sitemap location in your robots.txt file; RFC 9309 section 2.2.4",
            wants=site.urls("/in-sitemap"),
        ),
        Case(
            name="sitemap-line-anywhere",
            says="A Sitemap line belongs to no group: it holds for everyone wherever it is, in any case.",
            source=f"{_PROTOCOL} Specifying the Sitemap location in your robots.txt file",
            wants=site.urls("/in-any-place"),
        ),
        Case(
            name="sitemap-index",
            says="A sitemap index lists sitemaps.",
            source=f"{_PROTOCOL} Using Sitemap index files",
            wants=site.urls("/in-child"),
        ),
        Case(
            name="sitemap-gzip",
            says="A sitemap may be compressed with gzip.",
            source=f"{_PROTOCOL} Using Sitemap index files",
            wants=site.urls("/in-gzip"),
        ),
        Case(
            name="sitemap-text",
            says="A sitemap may be a text file with a URL on each line.",
            source=f"{_PROTOCOL} Other Sitemap formats, text file",
            wants=site.urls("/in-text/1", "/in-text/2"),
        ),
        Case(
            name="sitemap-rss",
            says="A sitemap may be a feed.",
            source=f"{_PROTOCOL} Other Sitemap formats, syndication feed",
            wants=site.urls("/in-rss"),
        ),
        Case(
            name="sitemap-large",
            says="A sitemap may have 50,000 URLs: the last one counts as the first.",
            source=f"{_PROTOCOL} Using Sitemap index files",
            wants=site.urls("/in-large/last"),
        ),
        Case(
            name="sitemap-namespaces",
            says="A prefix may stand for the namespace, extensions may come before `loc`, and space around the URL.",
            source=f"{_PROTOCOL} Extending the Sitemaps protocol; Namespaces in XML section 3",
            wants=site.urls("/in-namespaces"),
        ),
        Case(
            name="sitemap-byte-order-mark",
            says="A sitemap in UTF-8 may begin with a byte order mark.",
            source="XML 1.0 appendix F.1",
            wants=site.urls("/after-mark"),
        ),
        Case(
            name="sitemap-escapes",
            says="URLs in a sitemap are entity-escaped.",
            source=f"{_PROTOCOL} Entity escaping",
            judge=one_of(*site.urls("/escaped?a=1&b='2'", "/escaped?a=1&b=%272%27")),
        ),
        Case(
            name="sitemap-cdata",
            says="Text of XML may be in a CDATA section.",
            source="XML 1.0 section 2.7",
            wants=site.urls("/in-cdata?a=1&b=2"),
        ),
    )


@trial("finding")
def sitemap_hosts(web: Web) -> Trial:
    """A sitemap at its usual place, which robots.txt does not name; sitemaps at and for another host."""
    site, maps, other = web.site(), web.site("maps"), web.site("other")
    site.robots(f"{ALLOW_ALL}Sitemap: {maps.url('/of-www.xml')}\nSitemap: {site.url('/for-other.xml')}\n")
    site.page("/", "/linked")
    site.pages(("/linked", "/listed-elsewhere", "/listed-here"))
    other.pages(("/", "/not-yours-to-list"))
    maps.text("/of-www.xml", sitemap([site.url("/listed-elsewhere")]), _XML)
    site.text("/for-other.xml", sitemap([site.url("/listed-here"), other.url("/not-yours-to-list")]), _XML)
    return Trial(
        seed=site.url(),
        seconds=FEW_PAGES,
        needs_names=True,
        cases=(
            Case(
                name="sitemap-elsewhere",
                says="A sitemap may be at another host, if the robots.txt of the host it is for names it.",
                source=f"{_PROTOCOL} Sitemaps and cross submits",
                wants=site.urls("/listed-elsewhere"),
            ),
            Case(
                name="sitemap-for-another-host",
                says="A sitemap does not speak for a host whose robots.txt does not name it.",
                source=f"{_PROTOCOL} Sitemap file location",
                wants=site.urls("/listed-here"),
                forbids=other.urls("/not-yours-to-list"),
            ),
        ),
    )


@trial("finding")
def sitemap_default(web: Web) -> Trial:
    """A sitemap at the place where most are."""
    site = web.site()
    site.page("/", "/linked")
    site.pages(("/linked", "/in-default"))
    site.text("/sitemap.xml", sitemap([site.url("/in-default")]), _XML)
    return Trial(
        seed=site.url(),
        seconds=FEW_PAGES,
        cases=(
            Case(
                name="sitemap-default",
                says="/sitemap.xml is tried where robots.txt names no sitemap.",
                source=f"{_PROTOCOL} Sitemap file location (strongly recommended: the root directory)",
                wants=site.urls("/in-default"),
            ),
        ),
    )
