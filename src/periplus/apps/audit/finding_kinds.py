"""Every kind of finding: its area, its severity, its title, why it matters and what to do.

Names are stable, because `--fail-on` and programs use them. Titles are filled in with `{count}` and `{of}`.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from .results import Area, Severity

E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTICE


class FindingKind(Struct, frozen=True):
    """One kind of finding."""

    name: str
    area: Area
    severity: Severity
    title: str
    why: str
    advice: str


_KINDS: Final = (
    # complete
    FindingKind(
        "no-sitemap", Area.COMPLETE, W, "There is no sitemap",
        "Crawlers find pages by links only: new pages late, and pages without links never.",
        "Publish /sitemap.xml with every page that should be found, and add Sitemap: URL to robots.txt.",
    ),
    FindingKind(
        "pages-unlisted", Area.COMPLETE, W, "Missing in the sitemap: {count} of {of} indexable pages",
        "Crawlers find unlisted pages later, or not at all.",
        "Generate the sitemap from the database of the pages; leave out only what should not be indexed.",
    ),
    FindingKind(
        "sitemap-stale", Area.COMPLETE, W,
        "The sitemap is outdated: its newest lastmod is {days} days old, and it no longer matches the site",
        "Crawlers stop fetching a sitemap that never changes.",
        "Generate the sitemap whenever pages are added, changed or removed; a nightly job is enough.",
    ),
    # clean
    FindingKind(
        "listed-errors", Area.CLEAN, E, "Listed in the sitemap, but an error: {count} of {of} pages",
        "Each one wastes a visit, and crawlers trust the whole sitemap less.",
        "Remove deleted pages from the sitemap; answer 410 or 404 for them, never 200.",
    ),
    FindingKind(
        "listed-redirects", Area.CLEAN, W, "Listed in the sitemap, but redirected: {count} of {of} URLs",
        "Each redirect costs a second visit.",
        "List the URL that the redirect ends at.",
    ),
    FindingKind(
        "listed-noindex", Area.CLEAN, W, "Listed in the sitemap, but marked noindex: {count} of {of} pages",
        "The sitemap asks crawlers to index a page that forbids it, and the visit is wasted.",
        "Remove the page from the sitemap, or noindex from the page.",
    ),
    FindingKind(
        "listed-canonical", Area.CLEAN, W,
        "Listed in the sitemap, but with another canonical URL: {count} of {of} pages",
        "The sitemap and the page disagree about the URL of the page.",
        "List only the canonical URL.",
    ),
    FindingKind(
        "listed-duplicates", Area.CLEAN, W,
        "Listed in the sitemap, but a copy of another listed page: {count} of {of} pages",
        "One page of each group is indexed; visits to the others are wasted.",
        "List one URL for each page, and add <link rel=canonical> to the others.",
    ),
    FindingKind(
        "listed-forbidden", Area.CLEAN, E, "Listed in the sitemap, but forbidden by robots.txt: {count} of {of} URLs",
        "Crawlers do not read these pages at all.",
        "Remove the rule from robots.txt, or the URLs from the sitemap.",
    ),
    FindingKind(
        "sitemap-errors", Area.CLEAN, E, "Sitemap files that cannot be read: {count} of {of}",
        "Pages that only these files list are not found.",
        "Remove dead files from the sitemap index and from robots.txt, or restore them; check that they are XML.",
    ),
    FindingKind(
        "sitemap-format", Area.CLEAN, W, "Sitemap files that violate the protocol: {count} of {of}",
        "Every reader repairs errors in its own way, and drops the rest.",
        "Write the XML with a library; split files at 50,000 URLs or 50 MB; list only pages of this host.",
    ),
    # lastmod
    FindingKind(
        "lastmod-always-now", Area.LASTMOD, W,
        "lastmod is the time of the request: on {count} of {of} pages that have one",
        "A date that is always the current time carries no information, and crawlers learn to ignore it.",
        "Write the time of the last change of the page's own content.",
    ),
    FindingKind(
        "lastmod-build-time", Area.LASTMOD, W,
        "lastmod is the same everywhere, probably the time of a build: on {count} of {of} pages that have one",
        "All pages seem to change at once, so crawlers fetch everything again or nothing.",
        "Take lastmod from the history of each source file, not from the time of the build.",
    ),
    FindingKind(
        "lastmod-future", Area.LASTMOD, W, "lastmod is in the future: on {count} of {of} pages",
        "Crawlers ignore a change that has not happened yet.",
        "Write past times, with their time zone.",
    ),
    FindingKind(
        "lastmod-missing", Area.LASTMOD, N, "lastmod is missing: on {count} of {of} listed pages",
        "Without it crawlers guess when to come back: too often for most pages, too rarely for some.",
        "Write lastmod for every page where you know it; a wrong date is worse than none.",
    ),
    FindingKind(
        "lastmod-wrong", Area.LASTMOD, W, "lastmod was updated, but the page had not changed: {count} of {of} times",
        "Each time a crawler came for nothing; it will not believe the next date.",
        "Update lastmod only when the main content changes, not with templates or comments.",
    ),
    FindingKind(
        "lastmod-misses", Area.LASTMOD, N, "Pages that changed without an update of lastmod: {count} of {of} changes",
        "Crawlers find these changes late.",
        "Update lastmod with every change of a page's content.",
    ),
    # hints
    FindingKind(
        "priority-constant", Area.HINTS, N, "priority is the same on all pages that have one: {count}",
        "A constant does not distinguish pages.",
        "Remove it, or give the most important pages a higher value.",
    ),
    FindingKind(
        "changefreq-constant", Area.HINTS, N, "changefreq is the same on all pages that have one: {count}",
        "Pages of one site do not all change equally often; crawlers ignore it.",
        "Remove it; an honest lastmod is more useful.",
    ),
    # links
    FindingKind(
        "orphans", Area.LINKS, W, "Orphans, in the sitemap but without a link: {count} of {of} pages",
        "Visitors cannot find them, and search engines rank pages without links low.",
        "Link to them from a section, an archive or related pages, or remove them from the sitemap.",
    ),
    FindingKind(
        "broken-links", Area.LINKS, W, "Broken links, targets that return an error: {count} of {of} fetched",
        "Visitors and crawlers get an error.",
        "Fix or remove the links; redirect pages that have moved.",
    ),
    FindingKind(
        "dead-external-links", Area.LINKS, W, "Dead links to other sites: {count} of {of} checked",
        "Visitors get an error.",
        "Update or remove the links.",
    ),
    FindingKind(
        "dead-documents", Area.LINKS, W, "Dead links to documents and downloads: {count} of {of} checked",
        "Visitors get an error.",
        "Restore the files, or remove the links.",
    ),
    FindingKind(
        "dead-images", Area.LINKS, W, "Dead images, videos and sounds: {count} of {of} checked",
        "Visitors see a gap.",
        "Restore the files, or remove the elements that embed them.",
    ),
    FindingKind(
        "dead-styles", Area.LINKS, E, "Dead style sheets: {count} of {of} checked",
        "Pages are shown without their layout, and search engines see them like that.",
        "Restore the files, or fix the <link rel=stylesheet> elements.",
    ),
    FindingKind(
        "dead-scripts", Area.LINKS, E, "Dead scripts: {count} of {of} checked",
        "Functions of the pages fail, for search engines as well.",
        "Restore the files, or fix the <script> elements.",
    ),
    FindingKind(
        "soft-errors", Area.LINKS, W, "Missing pages that answer 200: {count}",
        "Crawlers keep the error message as a page, and come back for it.",
        "Answer 404 or 410 for a missing page.",
    ),
    FindingKind(
        "redirected-links", Area.LINKS, N, "Links to redirects: {count} of {of} fetched targets",
        "Each one costs visitors and crawlers an extra request.",
        "Link to the URL that the redirect ends at.",
    ),
    FindingKind(
        "redirect-chains", Area.LINKS, W, "Redirects that lead to further redirects: {count} of {of} redirects",
        "Every hop costs a request; crawlers give up after a few, and in a loop always.",
        "Redirect to the final URL in one hop.",
    ),
    FindingKind(
        "duplicate-pages", Area.LINKS, W, "Copies of other pages without a canonical URL: {count} of {of} pages",
        "The same page is fetched several times, and its links are counted separately.",
        "Link to one URL; add <link rel=canonical> to the others; drop parameters that change nothing.",
    ),
    FindingKind(
        "deep-pages", Area.LINKS, N, "Pages more than {limit} clicks from the home page: {count} of {of} pages",
        "Visitors rarely get there, and crawlers come late.",
        "Link to them from a page closer to the home page.",
    ),
    FindingKind(
        "slow-pages", Area.LINKS, W, "Pages slower than {limit} s: {count} of {of} pages",
        "Visitors leave, and polite crawlers slow down with the server.",
        "Cache what is requested often; look at what these pages have in common.",
    ),
    # pages
    FindingKind(
        "title-missing", Area.PAGES, W, "Pages without a title: {count} of {of} indexable pages",
        "Search results show a title that the search engine made up.",
        "Give every page a <title>.",
    ),
    FindingKind(
        "title-duplicate", Area.PAGES, W, "Pages with the title of another page: {count} of {of} indexable pages",
        "Search results look the same.",
        "Give every page its own title.",
    ),
    FindingKind(
        "title-long", Area.PAGES, N, "Titles longer than {limit} characters: {count} of {of} indexable pages",
        "Search results cut them off.",
        "Put the important words first, and shorten the rest.",
    ),
    FindingKind(
        "description-missing", Area.PAGES, N, "Pages without a description: {count} of {of} indexable pages",
        "Search results show a part of the text that the search engine picked.",
        "Add <meta name=description> with a sentence about the page.",
    ),
    FindingKind(
        "description-duplicate", Area.PAGES, N,
        "Pages with the description of another page: {count} of {of} indexable pages",
        "A description that fits every page describes none.",
        "Write a description for each page, or remove it.",
    ),
    FindingKind(
        "description-long", Area.PAGES, N,
        "Descriptions longer than {limit} characters: {count} of {of} indexable pages",
        "Search results cut them off.",
        "Put the important words first, and shorten the rest.",
    ),
    FindingKind(
        "thin-pages", Area.PAGES, N, "Pages with less than {limit} characters of main text: {count} of {of} pages",
        "Search engines rank pages without content low.",
        "Add content, merge them with other pages, or mark them noindex.",
    ),
    FindingKind(
        "canonical-chains", Area.PAGES, W,
        "Canonical URLs that are not final: {count} of {of} pages with another canonical URL",
        "Search engines ignore a canonical URL that redirects, or that names yet another one.",
        "Name the final URL as canonical.",
    ),
    FindingKind(
        "canonical-errors", Area.PAGES, E,
        "Canonical URLs that return an error: {count} of {of} pages with another canonical URL",
        "The page asks to be replaced by one that does not exist.",
        "Name a URL that answers 200, or remove the element.",
    ),
    FindingKind(
        "hreflang-no-return", Area.PAGES, W,
        "hreflang links without a return link: {count} of {of} checked",
        "Search engines ignore hreflang unless both pages name each other.",
        "Let every language version name all others and itself.",
    ),
    # robots
    FindingKind(
        "robots-unreachable", Area.ROBOTS, E, "robots.txt cannot be fetched: {detail}",
        "While the server fails here, crawlers must treat the whole site as forbidden (RFC 9309).",
        "Answer 200 with the rules, or 404 if there are none; never 5xx, never a timeout.",
    ),
    FindingKind(
        "robots-closed", Area.ROBOTS, E, "robots.txt forbids the whole site to all crawlers",
        "No page is found.",
        "If this is a test server's robots.txt by mistake, remove Disallow: /.",
    ),
    FindingKind(
        "robots-format", Area.ROBOTS, W, "Invalid lines in robots.txt: {count}",
        "Crawlers handle invalid lines differently, so it is not certain which pages are open.",
        "Fix the lines below; each is a name, a colon and a value, below a User-agent.",
    ),
    FindingKind(
        "robots-silent", Area.ROBOTS, N, "robots.txt does not name the sitemap",
        "Only crawlers that guess its URL find it.",
        "Add a line to robots.txt: Sitemap: URL.",
    ),
    FindingKind(
        "robots-slow", Area.ROBOTS, N, "robots.txt asks crawlers to wait {delay:g} s between requests",
        "At most {limit} pages a day can be fetched.",
        "Lower the delay, or answer 429 with Retry-After when the server is busy.",
    ),
    # cost
    FindingKind(
        "needless-requests", Area.COST, N, "Requests for pages that returned nothing new: {count} of {of}",
        "Crawlers have a budget for each site; errors, redirects and duplicates use it up.",
        "Fix the findings above, the most frequent first.",
    ),
    FindingKind(
        "no-validators", Area.COST, N, "Unchanged pages that were sent again in full: {count} of {of} times",
        "With ETag or Last-Modified each would have cost a few bytes (304).",
        "Send ETag or Last-Modified, and answer conditional requests.",
    ),
)  # fmt: skip

KINDS: Final = {kind.name: kind for kind in _KINDS}
"""All kinds by name, in the order of the areas."""
