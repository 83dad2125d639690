"""Every reason for which a filter refuses a URL.

The reasons are stable, because people count them in tables. `docs/policies.md` explains each.
"""

from __future__ import annotations

from typing import Final

from periplus.model import Accept

REASONS: Final = {
    "scheme": "neither http nor https",
    "too-long": "longer than a URL may be",
    "path-depth": "too many segments in the path",
    "repeated-segment": "one segment too often in the path: circular relative links",
    "extension": "the path ends like an image, an archive or another file that is not a page",
    "out-of-scope": "outside the scope of the seeds",
    "excluded": "matches a pattern of `exclude`",
    "not-included": "matches no pattern of `include`",
    "not-wanted": "the program's own filter (`want`) does not want it",
    "link-depth": "too many links away from a seed",
    "redirect-chain": "too many redirects in a row",
    "site-budget": "the site has reached its maximum number of URLs",
    "low-yield": "pages of this template repeat the same contents",
    "endless": "deep pages of this branch lead to ever more pages that nothing else links to",
    "parameter-values": "a parameter with very many values and the same contents",
    "mirror": "its host mirrors another, where the same page is fetched",
    "parked": "its domain is parked: only the home page is fetched",
    "calendar": "names a date far in the future, as calendars without an end do",
    "rewrite-loop": "rewriting it did not end",
}
"""The reasons of `Reject`."""
LIFTED: Final = frozenset({"low-yield", "endless", "parameter-values", "mirror", "parked", "calendar"})
"""Those that hang on a verdict on a kind of URL or a host: a URL refused for one is wanted when the verdict falls."""


ACCEPT: Final = Accept()
