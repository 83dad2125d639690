"""Every finding that there is: its area, how much it matters, what it is in a sentence, why that matters, what to do.

Names are stable: `--fail-on` and programs go by them. A sentence is filled in with `{count}`, `{of}` and `{share}`.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from .values import Area, Severity

E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTICE


class Kind(Struct, frozen=True):
    """One kind of finding."""

    name: str
    area: Area
    severity: Severity
    says: str
    why: str
    advice: str


_KINDS: Final = (
    # complete
    Kind(
        "no-sitemap", Area.COMPLETE, W, "There is no sitemap",
        "Crawlers find pages by links alone: new pages late, pages that nothing links to never.",
        "Publish /sitemap.xml with every page that should be found, and name it in robots.txt: Sitemap: URL.",
    ),
    Kind(
        "pages-unlisted", Area.COMPLETE, W, "Not in the sitemap: {count} of {of} pages that may be indexed",
        "What a sitemap leaves out is found later, or not at all, and seems to matter less.",
        "Make the sitemap from the same database that the pages come from; leave out only what should not be indexed.",
    ),
    Kind(
        "sitemap-stale", Area.COMPLETE, W,
        "The sitemap is forgotten: its newest lastmod is {days} days old, and it no longer fits the site",
        "Crawlers stop asking for a sitemap that was written once and forgotten.",
        "Write the sitemap anew whenever pages come, change or go; a nightly job will do.",
    ),
    # clean
    Kind(
        "listed-errors", Area.CLEAN, E, "Listed, but an error: {count} of {of} pages",
        "Each of them costs crawlers a visit for nothing, and the whole sitemap is trusted less.",
        "Take pages out of the sitemap when they are deleted; let a page that is gone answer 410 or 404, never 200.",
    ),
    Kind(
        "listed-redirects", Area.CLEAN, W, "Listed, but redirected: {count} of {of} URLs",
        "A sitemap is to name the pages themselves: each redirect costs a second visit.",
        "List the URL that the redirect ends at.",
    ),
    Kind(
        "listed-noindex", Area.CLEAN, W, "Listed, but not to be indexed (noindex): {count} of {of} pages",
        "The sitemap asks for what the page forbids; crawlers visit it in vain.",
        "Either take the page out of the sitemap, or take noindex out of the page.",
    ),
    Kind(
        "listed-canonical", Area.CLEAN, W,
        "Listed, but by another name than their canonical URL: {count} of {of} pages",
        "The sitemap and the page disagree on what the page is called.",
        "List the canonical URL alone.",
    ),
    Kind(
        "listed-duplicates", Area.CLEAN, W,
        "Listed, but the same as another listed page: {count} of {of} pages",
        "One of each group will be indexed; visits to the others are lost.",
        "List one URL of each page, and let the others name it: <link rel=canonical>.",
    ),
    Kind(
        "listed-forbidden", Area.CLEAN, E, "Listed, but forbidden by robots.txt: {count} of {of} URLs",
        "The sitemap asks for what robots.txt forbids: these pages are not read at all.",
        "Decide which of the two is meant, and change the other.",
    ),
    Kind(
        "sitemap-errors", Area.CLEAN, E, "Sitemap files that cannot be read: {count} of {of}",
        "What is listed in them alone is not found.",
        "Take dead files out of the index and out of robots.txt, or put them back; see that they are XML, not pages.",
    ),
    Kind(
        "sitemap-format", Area.CLEAN, W, "Sitemap files that are not as the protocol has it: {count} of {of}",
        "Readers repair what they can, each in its own way, and drop the rest.",
        "Let a library write the XML; split files at 50,000 URLs or 50 MB; list pages of this host alone.",
    ),
    # lastmod
    Kind(
        "lastmod-always-now", Area.LASTMOD, W,
        "lastmod is the moment of the request: on {count} of {of} pages that have one",
        "A date that is always now says nothing; crawlers learn to ignore it, also where a page did change.",
        "Write the time of the last change of the page's own content, as your database knows it.",
    ),
    Kind(
        "lastmod-build-time", Area.LASTMOD, W,
        "lastmod is one and the same, that of a build, it seems: on {count} of {of} pages that have one",
        "All pages seem to change at once, so that crawlers fetch everything again or nothing.",
        "Take lastmod from the history of each source file, not from the time of the build.",
    ),
    Kind(
        "lastmod-future", Area.LASTMOD, W, "lastmod lies in the future: on {count} of {of} pages",
        "A change that has not happened yet cannot be believed.",
        "Write times with their zone, and of the past.",
    ),
    Kind(
        "lastmod-missing", Area.LASTMOD, N, "lastmod is missing: on {count} of {of} listed pages",
        "Without it crawlers come back by guess: too often for most pages, too seldom for some.",
        "Write lastmod for every page, if you know it; a wrong one is worse than none.",
    ),
    Kind(
        "lastmod-wrong", Area.LASTMOD, W, "lastmod moved, and nothing had changed: {count} of {of} times",
        "Each time a crawler came for nothing; it will not believe the next one.",
        "Let lastmod move only when the main content changes, not with templates, prices of others, or comments.",
    ),
    Kind(
        "lastmod-misses", Area.LASTMOD, N, "Changes that lastmod did not tell: {count} of {of}",
        "What is not told is found by chance, and late.",
        "Let whatever changes a page's content move its lastmod, too.",
    ),
    # hints
    Kind(
        "priority-constant", Area.HINTS, N, "priority is the same on all pages that have one: {count}",
        "A number that is the same everywhere tells no page from another.",
        "Leave it out, or give the pages that matter most more than the others.",
    ),
    Kind(
        "changefreq-constant", Area.HINTS, N, "changefreq is the same on all pages that have one: {count}",
        "Pages of one site do not all change equally often; crawlers ignore it.",
        "Leave it out; an honest lastmod says more.",
    ),
    # links
    Kind(
        "orphans", Area.LINKS, W, "Orphans, listed and linked from nowhere: {count} of {of} pages",
        "Visitors cannot find them, and a page that its own site does not link to counts little.",
        "Link them from a section, an archive or related pages; or take them out if they are not meant to be found.",
    ),
    Kind(
        "broken-links", Area.LINKS, W, "Linked pages that answer with an error: {count} of {of} visited",
        "Visitors and crawlers end nowhere.",
        "Mend or remove the links; redirect what has moved.",
    ),
    Kind(
        "soft-errors", Area.LINKS, W, "Pages that are not there, but answer 200: {count}",
        "Crawlers keep apologies as pages, come back to them, and take them for duplicates of each other.",
        "Answer 404 or 410 where a page is not there.",
    ),
    Kind(
        "redirected-links", Area.LINKS, N, "Linked URLs that are redirected: {count} of {of} visited",
        "Each costs visitors and crawlers a request more.",
        "Link to where the redirect ends.",
    ),
    Kind(
        "duplicate-pages", Area.LINKS, W, "The same as another page, and not saying so: {count} of {of} pages",
        "The same page under several URLs is fetched several times, and its links are counted apart.",
        "Link to one URL; let the others name it: <link rel=canonical>; drop parameters that change nothing.",
    ),
    Kind(
        "slow-pages", Area.LINKS, W, "Slower than {limit} s: {count} of {of} pages",
        "Visitors leave, and polite crawlers slow down with the server.",
        "Cache what is asked for often; look at what these pages have in common.",
    ),
    # robots
    Kind(
        "robots-unreachable", Area.ROBOTS, E, "robots.txt cannot be had: {detail}",
        "While a server fails here, crawlers must take all of the site for forbidden (RFC 9309).",
        "Answer 200 with the rules, or 404 if there are none; never 5xx, never a time-out.",
    ),
    Kind(
        "robots-closed", Area.ROBOTS, E, "robots.txt forbids the whole site to all crawlers",
        "Nothing of it will be found.",
        "If that is not meant, a test server's robots.txt came along: remove Disallow: /.",
    ),
    Kind(
        "robots-format", Area.ROBOTS, W, "Lines of robots.txt that cannot be read as they are meant: {count}",
        "What one crawler repairs another ignores: pages are open or closed by chance.",
        "Mend the lines below; each is a name, a colon and a value, below a User-agent.",
    ),
    Kind(
        "robots-silent", Area.ROBOTS, N, "robots.txt does not name the sitemap",
        "Only crawlers that guess its place will find it.",
        "Add a line to robots.txt: Sitemap: URL.",
    ),
    Kind(
        "robots-slow", Area.ROBOTS, N, "robots.txt asks crawlers to wait {delay:g} s between requests",
        "In a day no more than {limit} pages can be fetched.",
        "Ask for less, or let the server say when it is busy: 429 with Retry-After.",
    ),
    # cost
    Kind(
        "needless-requests", Area.COST, N, "Requests for pages that brought nothing new: {count} of {of}",
        "Crawlers give a site so many visits; what is spent on errors, redirects and duplicates is lost for pages.",
        "Mend the findings above, the most frequent first.",
    ),
    Kind(
        "no-validators", Area.COST, N, "Unchanged, but sent again in full: {count} of {of} times",
        "With ETag or Last-Modified they would have cost a few bytes (304).",
        "Send ETag or Last-Modified, and answer conditional requests.",
    ),
)  # fmt: skip

KINDS: Final = {kind.name: kind for kind in _KINDS}
"""By name, in the order of the areas."""
