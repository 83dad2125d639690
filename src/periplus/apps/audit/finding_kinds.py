"""Every kind of finding: its area, its severity, its title, why it matters and what to do.

Those of `page_checks` and `site_checks` are declared there, each with its check.

Names are stable, because `--fail-on` and programs use them. Titles are filled in with `{count}` and `{of}`.
"""

from __future__ import annotations

from typing import Final

from periplus.view.findings import Severity

from .page_checks import PAGE_CHECKS
from .results import Area, SiteFindingKind
from .site_checks import SITE_CHECKS

E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTICE


def _kind(area: Area, name: str, severity: Severity, title: str, why: str, advice: str) -> SiteFindingKind:
    return SiteFindingKind(name, severity, title, why, advice, area)


_KINDS: Final = (
    # complete
    _kind(
        Area.COMPLETE, "no-sitemap", W, "There is no sitemap",
        "Crawlers depend on links: they find new pages late, and unlinked pages never.",
        "Publish /sitemap.xml with every page that should be found, and add Sitemap: URL to robots.txt.",
    ),
    _kind(
        Area.COMPLETE, "pages-unlisted", W, "Missing from the sitemap: {count} of {of} indexable pages",
        "Crawlers find unlisted pages later, or not at all.",
        "Generate the sitemap from your list of pages; leave out only what should not be indexed.",
    ),
    _kind(
        Area.COMPLETE, "sitemap-stale", W,
        "The sitemap is outdated: its newest lastmod is {days} days old, and it no longer matches the site",
        "Crawlers stop fetching a sitemap that never changes.",
        "Generate the sitemap whenever pages are added, changed or removed; a nightly job is enough.",
    ),
    # clean
    _kind(
        Area.CLEAN, "listed-errors", E, "Listed in the sitemap, but an error: {count} of {of} pages",
        "Each one wastes a visit, and crawlers trust the whole sitemap less.",
        "Remove deleted pages from the sitemap; answer 410 or 404 for them, never 200.",
    ),
    _kind(
        Area.CLEAN, "listed-redirects", W, "Listed in the sitemap, but redirected: {count} of {of} URLs",
        "Each redirect costs a second visit.",
        "List the final URL.",
    ),
    _kind(
        Area.CLEAN, "listed-noindex", W, "Listed in the sitemap, but marked noindex: {count} of {of} pages",
        "The sitemap asks crawlers to index a page that forbids it, and the visit is wasted.",
        "Remove the page from the sitemap, or the noindex from the page.",
    ),
    _kind(
        Area.CLEAN, "listed-canonical", W,
        "Listed in the sitemap, but with another canonical URL: {count} of {of} pages",
        "The sitemap and the page disagree about the URL of the page.",
        "List only the canonical URL.",
    ),
    _kind(
        Area.CLEAN, "listed-duplicates", W,
        "Listed in the sitemap, but a copy of another listed page: {count} of {of} pages",
        "One page of each group is indexed; visits to the others are wasted.",
        "List one URL for each page, and add <link rel=canonical> to the others.",
    ),
    _kind(
        Area.CLEAN, "listed-twice", N, "Listed several times in one file of the sitemap: {count} of {of} URLs",
        "The entries may contradict each other, and the file is longer than it has to be.",
        "Write one entry for each URL.",
    ),
    _kind(
        Area.CLEAN, "listed-forbidden", E, "Listed in the sitemap, but forbidden by robots.txt: {count} of {of} URLs",
        "Crawlers do not read these pages at all.",
        "Remove the rule from robots.txt, or the URLs from the sitemap.",
    ),
    _kind(
        Area.CLEAN, "sitemap-errors", E, "Sitemap files that cannot be read: {count} of {of}",
        "Pages that only these files list are not found.",
        "Remove dead files from the sitemap index and from robots.txt, or restore them; check that they are XML.",
    ),
    _kind(
        Area.CLEAN, "sitemap-format", W, "Sitemap files that violate the protocol: {count} of {of}",
        "Every reader repairs errors in its own way, and drops the rest.",
        "Write the XML with a library; split files at 50,000 URLs or 50 MB; list only pages of this host.",
    ),
    # lastmod
    _kind(
        Area.LASTMOD, "lastmod-always-now", W,
        "lastmod is the time of the request: on {count} of {of} pages that have one",
        "A date that is always the current time carries no information, and crawlers learn to ignore it.",
        "Use the time when the page's own content last changed.",
    ),
    _kind(
        Area.LASTMOD, "lastmod-build-time", W,
        "lastmod is the same everywhere, probably the time of a build: on {count} of {of} pages that have one",
        "All pages seem to change at once, so crawlers fetch everything again or nothing.",
        "Take lastmod from the history of each source file, not from the time of the build.",
    ),
    _kind(
        Area.LASTMOD, "lastmod-future", W, "lastmod is in the future: on {count} of {of} pages",
        "Crawlers ignore a change that has not happened yet.",
        "Use times in the past, with their time zone.",
    ),
    _kind(
        Area.LASTMOD, "lastmod-missing", N, "lastmod is missing: on {count} of {of} listed pages",
        "Without it crawlers guess when to come back: too often for most pages, too rarely for some.",
        "Add lastmod wherever you know it; a wrong date is worse than none.",
    ),
    _kind(
        Area.LASTMOD, "lastmod-wrong", W, "lastmod was updated, but the page had not changed: {count} of {of} times",
        "Each time a crawler came for nothing; it will trust the next date less.",
        "Update lastmod only when the main content changes, not with templates or comments.",
    ),
    _kind(
        Area.LASTMOD, "lastmod-misses", N, "Pages that changed without an update of lastmod: {count} of {of} changes",
        "Crawlers find these changes late.",
        "Update lastmod with every change of a page's content.",
    ),
    # hints
    _kind(
        Area.HINTS, "priority-constant", N, "priority is the same on all pages that have one: {count}",
        "A constant does not distinguish pages.",
        "Remove it, or give the most important pages a higher value.",
    ),
    _kind(
        Area.HINTS, "changefreq-constant", N, "changefreq is the same on all pages that have one: {count}",
        "Pages of one site do not all change equally often; crawlers ignore it.",
        "Remove it; an honest lastmod is more useful.",
    ),
    # links
    _kind(
        Area.LINKS, "orphans", W, "Orphans, in the sitemap but without a link: {count} of {of} pages",
        "Visitors cannot find them, and search engines rank pages without links low.",
        "Link to them from a section, an archive or related pages, or remove them from the sitemap.",
    ),
    _kind(
        Area.LINKS, "broken-links", W,
        "Broken links, to an error or a redirect that ends in one: {count} of {of} fetched",
        "Visitors and crawlers get an error.",
        "Fix or remove the links; redirect pages that have moved.",
    ),
    _kind(
        Area.LINKS, "dead-external-links", W, "Dead links to other sites: {count} of {of} checked",
        "Visitors get an error.",
        "Update or remove the links.",
    ),
    _kind(
        Area.LINKS, "dead-documents", W, "Dead links to documents and downloads: {count} of {of} checked",
        "Visitors get an error.",
        "Restore the files, or remove the links.",
    ),
    _kind(
        Area.LINKS, "dead-images", W, "Dead images, videos and sounds: {count} of {of} checked",
        "Visitors see a gap.",
        "Restore the files, or remove the elements that embed them.",
    ),
    _kind(
        Area.LINKS, "dead-styles", E, "Dead style sheets: {count} of {of} checked",
        "Pages are shown without their layout, and search engines see them like that.",
        "Restore the files, or fix the <link rel=stylesheet> elements.",
    ),
    _kind(
        Area.LINKS, "dead-scripts", E, "Dead scripts: {count} of {of} checked",
        "Parts of the pages do not work, for search engines as well.",
        "Restore the files, or fix the <script> elements.",
    ),
    _kind(
        Area.LINKS, "dead-card-images", W, "Dead images of Open Graph and Twitter cards: {count} of {of} checked",
        "A shared link is shown without a picture.",
        "Restore the files, or use others in og:image and twitter:image.",
    ),
    _kind(
        Area.LINKS, "soft-errors", W, "Missing pages that answer 200: {count}",
        "Crawlers keep the error message as a page, and come back for it.",
        "Answer 404 or 410 for a missing page.",
    ),
    _kind(
        Area.LINKS, "redirected-links", N, "Links to redirects: {count} of {of} fetched targets",
        "Each one costs visitors and crawlers an extra request.",
        "Link to the final URL.",
    ),
    _kind(
        Area.LINKS, "redirect-chains", W, "Redirects that lead to further redirects: {count} of {of} redirects",
        "Every hop costs a request; crawlers give up after a few, and in a loop always.",
        "Redirect to the final URL in one hop.",
    ),
    _kind(
        Area.LINKS, "duplicate-pages", W,
        "Copies of other pages that do not name these as canonical: {count} of {of} pages",
        "The same page is fetched several times, and its links are counted separately.",
        "Link to one URL; add <link rel=canonical> to the others; drop parameters that change nothing.",
    ),
    _kind(
        Area.LINKS, "deep-pages", N, "Pages more than {limit} clicks from the home page: {count} of {of} pages",
        "Visitors rarely get there, and crawlers come late.",
        "Link to them from a page closer to the home page.",
    ),
    _kind(
        Area.LINKS, "slow-pages", W, "Pages slower than {limit} s: {count} of {of} pages",
        "Visitors leave, and polite crawlers slow down with the server.",
        "Cache what is requested often; look at what these pages have in common.",
    ),
    # pages
    _kind(
        Area.PAGES, "title-missing", W, "Pages without a title: {count} of {of} indexable pages",
        "Search results show a title that the search engine made up.",
        "Give every page a <title>.",
    ),
    _kind(
        Area.PAGES, "title-duplicate", W, "Pages with the title of another page: {count} of {of} indexable pages",
        "Searchers cannot tell the results apart.",
        "Give every page its own title.",
    ),
    _kind(
        Area.PAGES, "title-long", N, "Titles longer than {limit} characters: {count} of {of} indexable pages",
        "Search results cut them off.",
        "Put the important words first, and shorten the rest.",
    ),
    _kind(
        Area.PAGES, "description-missing", N, "Pages without a description: {count} of {of} indexable pages",
        "Search results show an excerpt that the search engine picked.",
        "Add <meta name=description> with a sentence about the page.",
    ),
    _kind(
        Area.PAGES, "description-duplicate", N,
        "Pages with the description of another page: {count} of {of} indexable pages",
        "A description that fits every page describes none.",
        "Write a description for each page, or remove it.",
    ),
    _kind(
        Area.PAGES, "description-long", N,
        "Descriptions longer than {limit} characters: {count} of {of} indexable pages",
        "Search results cut them off.",
        "Put the important words first, and shorten the rest.",
    ),
    _kind(
        Area.PAGES, "thin-pages", N, "Pages with fewer than {limit} characters of main text: {count} of {of} pages",
        "Search engines rank pages without content low.",
        "Add content, merge them with other pages, or mark them noindex.",
    ),
    _kind(
        Area.PAGES, "canonical-others", W,
        "Canonical URLs that point to a different page: {count} of {of} pages with another canonical URL",
        "Search engines ignore a canonical URL with a different text.",
        "Name the URL of the same page as canonical, or remove the element.",
    ),
    _kind(
        Area.PAGES, "canonical-chains", W,
        "Canonical URLs that are not final: {count} of {of} pages with another canonical URL",
        "Search engines ignore a canonical URL that redirects or has yet another canonical URL.",
        "Name the final URL as canonical.",
    ),
    _kind(
        Area.PAGES, "canonical-errors", E,
        "Canonical URLs that return an error: {count} of {of} pages with another canonical URL",
        "The page asks to be replaced by one that does not exist.",
        "Name a URL that answers 200, or remove the element.",
    ),
    _kind(
        Area.PAGES, "hreflang-no-return", W,
        "hreflang links without a return link: {count} of {of} checked",
        "Search engines ignore hreflang unless both pages name each other.",
        "Let every language version link to all others and to itself.",
    ),
    # robots
    _kind(
        Area.ROBOTS, "robots-unreachable", E, "robots.txt cannot be fetched: {detail}",
        "While the server fails here, crawlers must treat the whole site as forbidden (RFC 9309).",
        "Answer 200 with the rules, or 404 if there are none; never 5xx, never a timeout.",
    ),
    _kind(
        Area.ROBOTS, "robots-closed", E, "robots.txt forbids the whole site to all crawlers",
        "Search engines cannot read any page.",
        "If this is a test server's robots.txt by mistake, remove Disallow: /.",
    ),
    _kind(
        Area.ROBOTS, "robots-format", W, "Invalid lines in robots.txt: {count}",
        "Crawlers handle invalid lines differently, so it is not certain which pages are open.",
        "Fix the lines below; each is a name, a colon and a value, below a User-agent.",
    ),
    _kind(
        Area.ROBOTS, "robots-missing", N, "There is no robots.txt",
        "Crawlers request it first, and find the sitemap through it.",
        "Publish /robots.txt, even if it allows everything, and name the sitemap in it.",
    ),
    _kind(
        Area.ROBOTS, "robots-misspelt", W, "Misspelt fields in robots.txt: {count}",
        "Some crawlers guess what is meant, others ignore the line and fetch what it forbids.",
        "Correct the names: User-agent, Disallow, Allow, Sitemap.",
    ),
    _kind(
        Area.ROBOTS, "robots-sitemap-url", W, "Sitemaps in robots.txt without a full URL: {count}",
        "The protocol asks for a full URL; crawlers may ignore a path.",
        "Write the URL with https:// and the host.",
    ),
    _kind(
        Area.ROBOTS, "robots-bom", N, "robots.txt begins with a byte order mark",
        "Some crawlers take it as part of the first line and ignore that, often the first User-agent.",
        "Save the file as UTF-8 without a byte order mark.",
    ),
    _kind(
        Area.ROBOTS, "robots-large", W, "robots.txt is larger than 500 KiB",
        "Crawlers need to read only the first 500 KiB, and may ignore the rest (RFC 9309).",
        "Combine rules with patterns, and remove those for pages that are gone.",
    ),
    _kind(
        Area.ROBOTS, "robots-blocks-files", W, "Style sheets and scripts that robots.txt forbids: {count} of {of}",
        "Search engines see the pages without their layout and functions, and judge them by that.",
        "Allow the folders of style sheets and scripts.",
    ),
    _kind(
        Area.ROBOTS, "robots-unmatched", N, "Rules in robots.txt that match no known URL: {count} of {of}",
        "They are left over, or misspelt and do not block what they should.",
        "Check the spelling of the paths, including capital letters, and remove rules for pages that are gone.",
    ),
    _kind(
        Area.ROBOTS, "robots-silent", N, "robots.txt does not name the sitemap",
        "Only crawlers that guess its URL find it.",
        "Add a line to robots.txt: Sitemap: URL.",
    ),
    _kind(
        Area.ROBOTS, "robots-slow", N, "robots.txt asks crawlers to wait {delay:g} s between requests",
        "At most {limit} pages a day can be fetched.",
        "Lower the delay, or answer 429 with Retry-After when the server is busy.",
    ),
    # safety
    _kind(
        Area.SAFETY, "no-https", W, "The site is served without HTTPS",
        "Browsers mark it as not secure, search engines prefer HTTPS, and pages can be changed in transit.",
        "Get a certificate (they are free), and redirect http:// to https://.",
    ),
    _kind(
        Area.SAFETY, "security-headers", N, "Security headers that the server does not send: {count} of {of}",
        "They tell browsers to block injected scripts, framing by other sites, and similar attacks.",
        "Send them with every page; start with X-Content-Type-Options: nosniff.",
    ),
    # cost
    _kind(
        Area.COST, "needless-requests", N, "Requests for pages that returned nothing new: {count} of {of}",
        "Crawlers have a budget for each site; errors, redirects and duplicates use it up.",
        "Fix the findings above, the most frequent first.",
    ),
    _kind(
        Area.COST, "no-validators", N, "Unchanged pages that were sent again in full: {count} of {of} times",
        "With ETag or Last-Modified each would have cost a few bytes (304).",
        "Send ETag or Last-Modified, and answer conditional requests.",
    ),
)  # fmt: skip

_EXAMPLES: Final = {
    "no-sitemap": (
        "/sitemap.xml answers 404",
        "/sitemap.xml lists every page; robots.txt has Sitemap: https://example.org/sitemap.xml",
    ),
    "pages-unlisted": (
        "a page that is only linked to",
        "<url><loc>https://example.org/pies/apple</loc></url>",
    ),
    "sitemap-stale": (
        "the newest <lastmod> is from last year, and new pages are missing",
        "the sitemap is regenerated with every change",
    ),
    "listed-errors": (
        "<loc>https://example.org/gone</loc>, which answers 404",
        "the entry is removed",
    ),
    "listed-redirects": (
        "<loc>http://example.org/pies</loc>, which redirects",
        "<loc>https://example.org/pies/</loc>",
    ),
    "listed-noindex": (
        'a listed page with <meta name="robots" content="noindex">',
        "the entry, or the noindex, is removed",
    ),
    "listed-canonical": (
        'a listed page with <link rel="canonical" href="/other">',
        "<loc>https://example.org/other</loc>",
    ),
    "listed-duplicates": (
        "<loc>/pies</loc> and <loc>/pies?sort=up</loc>",
        "<loc>/pies</loc>",
    ),
    "listed-twice": (
        "two entries with <loc>https://example.org/pies</loc>",
        "one entry",
    ),
    "listed-forbidden": (
        "<loc>/private/a</loc>, and Disallow: /private/",
        "the entry, or the rule, is removed",
    ),
    "sitemap-errors": (
        "Sitemap: https://example.org/old-sitemap.xml, which answers 404",
        "Sitemap: https://example.org/sitemap.xml",
    ),
    "sitemap-format": (
        "<loc>https://example.org/?a=1&b=2</loc>",
        "<loc>https://example.org/?a=1&amp;b=2</loc>",
    ),
    "lastmod-always-now": (
        "<lastmod> is the time at which the sitemap was requested",
        "<lastmod> is when the page was edited",
    ),
    "lastmod-build-time": (
        "<lastmod>2026-05-02</lastmod> on every page",
        "<lastmod> from the history of each source file",
    ),
    "lastmod-future": (
        "<lastmod>2126-05-02</lastmod>",
        "<lastmod>2026-05-02</lastmod>",
    ),
    "lastmod-missing": (
        "<url><loc>...</loc></url>",
        "<url><loc>...</loc><lastmod>2026-05-02</lastmod></url>",
    ),
    "lastmod-wrong": (
        "<lastmod> changes with every build",
        "<lastmod> changes with the text of the page",
    ),
    "lastmod-misses": (
        "the text changes, <lastmod> does not",
        "both change",
    ),
    "priority-constant": (
        "<priority>0.5</priority> everywhere",
        "no <priority>",
    ),
    "changefreq-constant": (
        "<changefreq>daily</changefreq> everywhere",
        "no <changefreq>, but an honest <lastmod>",
    ),
    "orphans": (
        "a page in the sitemap that no page links to",
        "a link from its section",
    ),
    "broken-links": (
        '<a href="/gone">',
        '<a href="/pies">',
    ),
    "dead-external-links": (
        '<a href="https://example.com/gone">',
        "a link to a page that exists, or none",
    ),
    "dead-documents": (
        '<a href="/files/gone.pdf">',
        '<a href="/files/pies.pdf">',
    ),
    "dead-images": (
        '<img src="/gone.png">',
        '<img src="/pie.png">',
    ),
    "dead-styles": (
        '<link rel="stylesheet" href="/gone.css">',
        '<link rel="stylesheet" href="/site.css">',
    ),
    "dead-scripts": (
        '<script src="/gone.js">',
        '<script src="/site.js">',
    ),
    "dead-card-images": (
        '<meta property="og:image" content="https://example.org/gone.jpg">',
        '<meta property="og:image" content="https://example.org/pie.jpg">',
    ),
    "soft-errors": (
        "HTTP/1.1 200 OK ... Sorry, this page was not found",
        "HTTP/1.1 404 Not Found",
    ),
    "redirected-links": (
        '<a href="/old">, which redirects to /new',
        '<a href="/new">',
    ),
    "redirect-chains": (
        "/a redirects to /b, and that to /c",
        "/a and /b redirect to /c",
    ),
    "duplicate-pages": (
        "/pies and /pies?ref=home show the same",
        '<link rel="canonical" href="/pies"> on both',
    ),
    "deep-pages": (
        "home, archive, 2019, May, page 7, article",
        "home, topics, article",
    ),
    "slow-pages": (
        "an answer takes 4 s",
        "the same from a cache in 0.1 s",
    ),
    "title-missing": (
        "<head> without <title>",
        "<title>Apple pie - Bakery Miller</title>",
    ),
    "title-duplicate": (
        "<title>Bakery Miller</title> on every page",
        "<title>Apple pie - Bakery Miller</title>",
    ),
    "title-long": (
        "<title>Apple pie, the best apple pie of the whole town, baked every day since 1950 by ...</title>",
        "<title>Apple pie - Bakery Miller</title>",
    ),
    "description-missing": (
        "<head> without a description",
        '<meta name="description" content="How we bake apple pie, and where to buy it.">',
    ),
    "description-duplicate": (
        "the same description on every page",
        "a description of each page",
    ),
    "description-long": (
        "a description of 400 characters",
        "a description of 150 characters",
    ),
    "thin-pages": (
        "a page with one sentence",
        "the sentence as part of a longer page, or more text on the subject",
    ),
    "canonical-chains": (
        "/a names /b as canonical, and /b names /c",
        "/a and /b name /c",
    ),
    "canonical-errors": (
        '<link rel="canonical" href="/gone">',
        '<link rel="canonical" href="/pies">',
    ),
    "canonical-others": (
        '<link rel="canonical" href="/pies"> on /cakes, which shows something else',
        '<link rel="canonical" href="/cakes">',
    ),
    "hreflang-no-return": (
        "/en/ names /de/, but /de/ does not name /en/",
        "each names both",
    ),
    "robots-unreachable": (
        "/robots.txt answers 503",
        "/robots.txt answers 200 or 404",
    ),
    "robots-closed": (
        "User-agent: *\nDisallow: /",
        "User-agent: *\nAllow: /",
    ),
    "robots-format": (
        "Disallow: /a, before any User-agent",
        "User-agent: *\nDisallow: /a",
    ),
    "robots-missing": (
        "/robots.txt answers 404",
        "User-agent: *\nAllow: /\nSitemap: https://example.org/sitemap.xml",
    ),
    "robots-misspelt": (
        "Dissalow: /private/",
        "Disallow: /private/",
    ),
    "robots-sitemap-url": (
        "Sitemap: /sitemap.xml",
        "Sitemap: https://example.org/sitemap.xml",
    ),
    "robots-bom": (
        "EF BB BF before User-agent",
        "the file begins with User-agent",
    ),
    "robots-large": (
        "a rule for each of 20,000 pages",
        "one rule with a pattern",
    ),
    "robots-blocks-files": (
        "Disallow: /assets/, where site.css is",
        "Allow: /assets/",
    ),
    "robots-unmatched": (
        "Disallow: /Private/, but the folder is /private/",
        "Disallow: /private/",
    ),
    "robots-silent": (
        "robots.txt without a Sitemap line",
        "Sitemap: https://example.org/sitemap.xml",
    ),
    "robots-slow": (
        "Crawl-delay: 30",
        "Crawl-delay: 1",
    ),
    "no-https": (
        "http://example.org/ answers 200",
        "http://example.org/ redirects to https://example.org/",
    ),
    "security-headers": (
        "HTTP/1.1 200 OK without them",
        "X-Content-Type-Options: nosniff",
    ),
    "needless-requests": (
        "a third of the requests are redirects and copies",
        "links and sitemap name final URLs",
    ),
    "no-validators": (
        "HTTP/1.1 200 OK without ETag, for a page that has not changed",
        'ETag: "5f2a", and then 304 Not Modified',
    ),
}
"""A fault of each kind above, and what it looks like when it is fixed."""
_SURE: Final = {
    "canonical-others": "likely: judged by how similar the texts are",
    "soft-errors": "likely: by the title of a short page",
    "duplicate-pages": "likely: judged by how similar the texts are",
    "listed-duplicates": "likely: judged by how similar the texts are",
    "lastmod-build-time": "likely: the dates are within a minute",
    "robots-unmatched": "certain for the URLs that are known; others may exist",
    "slow-pages": "likely: one measurement each",
    "thin-pages": "likely: by the main text, which is estimated",
    "dead-external-links": "certain when it was requested; the note says how long ago",
    "no-validators": "certain: only requests that the server could answer with 304 count",
}
"""How sure a finding is, where it is not certain."""

_DECLARED: Final = (
    *(kind.with_example(*_EXAMPLES[kind.name], sure=_SURE.get(kind.name, "certain")) for kind in _KINDS),
    *(check.kind for check in SITE_CHECKS),
    *(check.kind for check in PAGE_CHECKS),
)
KINDS: Final = {kind.name: kind for area in Area for kind in _DECLARED if kind.area is area}
"""All kinds by name, in the order of the areas."""
