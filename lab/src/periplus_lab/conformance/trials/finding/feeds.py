"""Feeds: pages that no page links."""

from __future__ import annotations

from ...cases import Trial, trial
from ...sites import Web
from .link_kinds import FEW_PAGES, WrittenLink, case_of

_DATE = "Mon, 06 Jan 2025 09:00:00 GMT"
_RSS = """<?xml version="1.0"?>
<rss version="2.0"><channel><title>Tides</title><link>{base}/</link><description>All tides</description>
<item><title>Ebb</title><link>{base}/in-rss?a=1&amp;b=2</link><pubDate>{date}</pubDate></item></channel></rss>
"""
_ATOM = """<?xml version="1.0"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>Tides</title><id>urn:tides</id><updated>2025-01-06T09:00:00Z</updated>
<entry><title>Flood</title><id>urn:flood</id><updated>2025-01-06T09:00:00Z</updated>
<link rel="alternate" href="{base}/in-atom"/></entry></feed>
"""
_RDF = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="{base}/"><title>Tides</title><link>{base}/</link><description>All</description></channel>
<item rdf:about="{base}/in-rdf"><title>Slack</title><link>{base}/in-rdf</link></item></rdf:RDF>
"""
_BASED = """<?xml version="1.0"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:base="{base}/based/"><title>Based</title><id>urn:based</id>
<updated>2025-01-06T09:00:00Z</updated><entry><title>Neap</title><id>urn:neap</id>
<updated>2025-01-06T09:00:00Z</updated><link href="in-atom"/></entry></feed>
"""
_FEEDS = {
    "/feed.rss": (_RSS, "application/rss+xml"),
    "/feed.atom": (_ATOM, "application/atom+xml"),
    "/feed.rdf": (_RDF, "application/rdf+xml"),
    "/based.atom": (_BASED, "application/atom+xml"),
}


def _kind(name: str, says: str, source: str, *leads_to: str) -> WrittenLink:
    return WrittenLink(name=name, says=says, source=source, markup="", leads_to=leads_to)


_KINDS = (
    _kind("rss", "The link of an item of RSS 2.0 is a page.", "RSS 2.0, elements of item", "/in-rss?a=1&b=2"),
    _kind("atom", "The alternate link of an entry of Atom is a page.", "RFC 4287 section 4.2.7", "/in-atom"),
    _kind("rss-1.0", "The link of an item of RSS 1.0 is a page.", "RSS 1.0 section 5.5.2", "/in-rdf"),
    _kind("atom-base", "References in Atom are resolved by xml:base.", "RFC 4287 section 2", "/based/in-atom"),
)


@trial("finding")
def feeds(web: Web) -> Trial:
    """Feeds that the seed names in `link` elements, and links, too."""
    site = web.site()
    head = "".join(f'<link rel="alternate" type="{kind}" href="{target}">' for target, (_, kind) in _FEEDS.items())
    site.page("/", *_FEEDS, head=head)
    for target, (text, kind) in _FEEDS.items():
        site.text(target, text.format(base=site.base, date=_DATE), kind)
    return Trial(seed=site.url(), seconds=FEW_PAGES, cases=tuple(case_of(site, kind) for kind in _KINDS))
