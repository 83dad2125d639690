"""What the Berkeley report found in 2008, to stand beside what a survey finds now.

"Web site metadata", University of California at Berkeley: robots.txt files of the 100,000 most popular domains of
Alexa's list, and the sitemaps that they name. Numbers are as printed. Where the report says two things they are not
reconciled here: its Table 2 has 10,979 `Sitemap` fields in 6,765 files, its section 3.4 has 10,029 in 6,268; its text
says 45.1 % of domains have a robots.txt, and 44,832 files.
"""

from __future__ import annotations

from typing import Final

FIELDS: Final[dict[str, tuple[int, int]]] = {
    "user-agent": (42_578, 225_428),
    "disallow": (39_928, 947_892),
    "sitemap": (6_765, 10_979),
    "allow": (3_832, 23_177),
    "crawl-delay": (2_987, 4_537),
    "noindex": (905, 2_151),
    "host": (728, 758),
    "request-rate": (121, 127),
    "visit-time": (89, 102),
    "acap-crawler": (71, 234),
}
"""Table 2: files, and occurrences."""

AGENTS: Final[dict[str, int]] = {
    "*": 46_645,
    "mediapartners-google": 3_825,
    "wget": 3_787,
    "webzip": 3_014,
    "mozilla": 2_696,
    "googlebot": 2_694,
    "microsoft url control": 2_647,
    "webbandit": 2_271,
    "lwp-trivial": 2_227,
    "miixpc": 2_180,
}
"""Table 3: occurrences."""

LEVELS: Final = (9_081, 90_512, 43_044, 533, 510)
"""Table 4: files by level of indirection."""

SUMMARY: Final[dict[str, float]] = {
    "domains": 100_000,
    "domains with robots.txt": 44_832,
    "share of domains with robots.txt": 0.451,
    "robots.txt with sitemaps": 6_268,
    "share of robots.txt with sitemaps": 0.14,
    "share of domains with sitemaps": 0.063,
    "sitemaps named": 10_029,
    "most sitemaps named by one": 530,
    "robots.txt with one sitemap": 5_710,
    "lines of a robots.txt, mean": 29.8,
    "lines of a robots.txt, deviation": 293.4,
    "lines of a robots.txt, median": 7,
    "sections of a robots.txt, mean": 6,
    "sections of a robots.txt, deviation": 29.5,
    "sections of a robots.txt, median": 2,
    "sections": 202_332,
    "sections without disallow": 33_589,
    "sections with one disallow": 138_695,
    "most disallows of a section": 153_540,
    "user agents named": 225_304,
    "different user agents": 4_483,
    "sitemap files read": 60_321,
    "sitemap files forbidden (403)": 111,
    "domains with sitemap files": 5_303,
    "domains with one sitemap file": 3_880,
    "domains with files read, but no URIs": 2_433,
    "URIs": 836_260_857,
    "most URIs of a domain": 119_346_271,
}
"""Sections 3.2 to 3.6 and 4.1, by the names that `tables` gives them."""
