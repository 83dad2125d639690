"""Why a filter refuses a URL: every word that can stand in a table.

The words are stable: people count them. Each is explained for them in `docs/policies.md`.
"""

from __future__ import annotations

from typing import Final

REASONS: Final = {
    "scheme": "neither http nor https",
    "too-long": "longer than any page's URL has to be",
    "path-depth": "too many segments in the path",
    "repeated-segment": "one segment too often in the path: relative links that go in circles",
    "extension": "the path ends like a picture, an archive or something else that is no page",
    "out-of-scope": "outside what the seeds stand for",
    "excluded": "matches a pattern of `exclude`",
    "not-included": "matches no pattern of `include`",
    "not-wanted": "the program's own filter (`want`) does not want it",
    "link-depth": "too many links away from a seed",
    "redirect-chain": "too many redirects in a row",
    "site-budget": "the site has had as many URLs as a site may have",
    "low-yield": "pages of this template bring the same contents again and again",
    "parameter-values": "a parameter with very many values, most of which bring the same contents",
    "rewrite-loop": "filters renamed it again and again",
}
"""The reasons of `Reject`."""
