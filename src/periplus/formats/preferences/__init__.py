"""Preferences about the use of pages, in every form in which sites publish them.

    read_content_usage("train-ai=n, search=y")        # Preferences(search=ALLOW, train=DISALLOW)
    read_content_signal("search=yes,ai-train=no,use=reference")
    read_tdmrep(body)                                  # the rules of /.well-known/tdmrep.json
    of_page(headers, metas, directives)                # all that a page and its headers say

| form | read by | version |
|---|---|---|
| Content-Usage, a rule of robots.txt and a header | `content_usage` | IETF aipref drafts of 2026 |
| Content-Signal, a rule of robots.txt and a header | `content_signal` | contentsignals.org, 2025; `use` of 2026 |
| TDMRep: a file, headers and meta elements | `tdmrep` | W3C community group report of 2024 |
| `noai`, `noimageai` in meta robots and X-Robots-Tag | `of_page` | as DeviantArt introduced them in 2022 |

A statement that cannot be read says nothing; none raises. Of several statements the strictest counts
(`Preferences.and_also`), except in TDMRep, where the page precedes the header and the header the file. Groups of
robots.txt for other crawlers (`GPTBot`) bind those crawlers, and are not read as a preference here.
"""

from .content_signal import read_content_signal
from .content_usage import read_content_usage
from .page import HEADER_NAMES, of_page, preference_headers
from .robots_rules import of_robots
from .structured import read_dictionary
from .tdmrep import MAX_TDM_RULES, TdmRule, read_tdmrep, rule_for

__all__ = [
    "HEADER_NAMES",
    "MAX_TDM_RULES",
    "TdmRule",
    "of_page",
    "of_robots",
    "preference_headers",
    "read_content_signal",
    "read_content_usage",
    "read_dictionary",
    "read_tdmrep",
    "rule_for",
]
