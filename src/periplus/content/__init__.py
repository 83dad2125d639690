"""From the bytes of a page to a `Page`, in one pass.

A body comes off the wire in content codings. `decode_body` takes them off under a cap. `read_page` does the rest, and
`read_pages` does it for several pages, in this order, each step in a file of its own:

1. `charset` finds the encoding as a browser would (a mark, the header, a declaration, a guess) with the labels of
   `formats.encodings`; `mime` says whether this is a page at all. What is not becomes an empty `Page` with the reason.
2. `scan` passes over the bytes once, without building a tree, and gives columns: text and main text, links, media, head
   and form elements. There are two scanners with equal results, one in C and one in Python; `scan.READER` says which.
   The one in C also does what 4 and 5 do in Python: it masks, sketches and counts.
3. `facts` (title, description, language, base, directives for crawlers), `links` (and resources,
   canonical, alternates, feeds), `redirects` and `forms` read the columns; `html` makes the `Page` of them.
4. `words` turns the main text into numbers, and `sketch` those into what finds near-duplicates. `digests` and
   `versions` are what is kept of a page, after clocks and counters were masked; `changes` compares two versions, and
   tells what is new on a page from what is new on its site. What else is different at every visit `churn` learns, site
   by site, from the blocks of pages that were visited again.
5. `statistics` counts words, links and repetitions: what a judge of spam asks for.

`text_language` tells words and the language of a text, for the search index, exports and agents.

`hidden` takes out of a page what its visitors do not see, for exports and answers; a crawl reads pages whole.

Bad input is a value: a page never makes `read_page` raise, and what was wrong with it is in `Page.problems`, each with
a reason from a small set that the module which gives it documents. Everything is bounded: bytes, open elements, links,
texts, forms, options; and time is linear in the size of the page. Links are made canonical by `urls`; header grammars
are those of `formats.headers`.

Not here: fetching, deciding what to follow, and clusters of near-duplicates (those are `engine` and `policy`).
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .changes import PageDifference, RevisedPage, SiteTemplate, TemplateEvidence, difference
    from .charset import sniff_charset
    from .churn import NO_CHURN, Churn, ChurnRecord, settled_level
    from .decode import decode_body
    from .digests import is_same_body
    from .hidden import NOTHING_HIDDEN, HiddenText, without_hidden
    from .html import RawPage, read_page, read_pages, read_tags, read_texts
    from .redirects import read_refresh
    from .settings import ChurnSettings
    from .sketch import resemblance, sketch_of
    from .statistics import compression_ratio, hidden_share, statistics_of
    from .versions import PageVersion, has_text_rule, is_heading_same, likeness, page_version, read_from, version_of
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "NOTHING_HIDDEN",
    "NO_CHURN",
    "Churn",
    "ChurnRecord",
    "ChurnSettings",
    "HiddenText",
    "PageDifference",
    "PageVersion",
    "RawPage",
    "RevisedPage",
    "SiteTemplate",
    "TemplateEvidence",
    "compression_ratio",
    "decode_body",
    "difference",
    "has_text_rule",
    "hidden_share",
    "is_heading_same",
    "is_same_body",
    "likeness",
    "page_version",
    "read_from",
    "read_page",
    "read_pages",
    "read_refresh",
    "read_tags",
    "read_texts",
    "resemblance",
    "settled_level",
    "sketch_of",
    "sniff_charset",
    "statistics_of",
    "version_of",
    "without_hidden",
]
