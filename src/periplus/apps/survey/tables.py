"""The tables of a survey as values, the counts of usage preferences, and the figures of the Berkeley report of 2008.

A `share` is from 0 to 1, and `None` if there is no value. Rows are in an order that does not depend on the order of the
facts, so that the same facts give the same bytes. Most tables are filled in `robots_tables`.

The report is "Web site metadata", University of California at Berkeley: robots.txt files of the 100,000 most popular
domains of Alexa's list, and the sitemaps that they name. Numbers are as printed, even where the report contradicts
itself: its Table 2 has 10,979 `Sitemap` fields in 6,765 files, its section 3.4 has 10,029 in 6,268; its text has 45.1 %
of domains with a robots.txt, and 44,832 files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from periplus.formats.preferences import of_robots
from periplus.formats.robots import Robots
from periplus.model import Preference

Value = str | int | float | bool | None
Row = tuple[Value, ...]

TEXT, WHOLE, REAL, SHARE, CLAIM = "text", "whole", "real", "share", "claim"
_LONGEST_CELL: Final = 80


class SurveyColumn(Struct, frozen=True):
    """A name, and what the values are: text, whole, real, share or claim (yes or no)."""

    name: str
    kind: str = TEXT


class SurveyTable(Struct, frozen=True):
    """One complete table. `note` is shown above it."""

    name: str
    title: str
    columns: tuple[SurveyColumn, ...]
    rows: tuple[Row, ...]
    note: str = ""
    is_histogram: bool = False
    """Whether it has two columns: a number, and how often it occurs."""

    def shown(self, limit: int | None = None) -> list[tuple[str, ...]]:
        """The first rows formatted for a terminal or a page."""
        kinds = [column.kind for column in self.columns]
        rows = self.rows if limit is None else self.rows[:limit]
        return [tuple(_SHOWN[kind](value) for kind, value in zip(kinds, row, strict=True)) for row in rows]


def share(part: float, whole: float) -> float | None:
    """A share of a whole; `None` if the whole is 0."""
    return part / whole if whole else None


def columns(**kinds: str) -> tuple[SurveyColumn, ...]:
    """Columns by name and kind, in this order."""
    return tuple(SurveyColumn(name, kind) for name, kind in kinds.items())


def _text(value: Value) -> str:
    """One line without what a terminal would obey; long texts are cut."""
    text = "" if value is None else "".join(letter if letter.isprintable() else "\ufffd" for letter in str(value))
    return text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…"


def _whole(value: Value) -> str:
    return "" if value is None else f"{value:,}"


def _real(value: Value) -> str:
    if value is None or isinstance(value, str):
        return ""
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.2f}" if abs(value) >= 1 else f"{value:.3f}"


def _share(value: Value) -> str:
    return "" if value is None or isinstance(value, str) else f"{100 * value:.1f} %"


def _claim(value: Value) -> str:
    return "yes" if value else ""


_SHOWN: Final[dict[str, Callable[[Value], str]]] = {
    TEXT: _text, WHOLE: _whole, REAL: _real, SHARE: _share, CLAIM: _claim
}  # fmt: skip


AI_AGENTS: Final = (
    "AI2Bot", "Amazonbot", "anthropic-ai", "Applebot-Extended", "Bytespider", "CCBot", "ChatGPT-User",
    "Claude-SearchBot", "Claude-User", "Claude-Web", "ClaudeBot", "cohere-ai", "DeepSeekBot", "Diffbot",
    "DuckAssistBot", "FacebookBot",
    "Google-CloudVertexBot", "Google-Extended", "GPTBot", "ImagesiftBot", "Meta-ExternalAgent", "Meta-ExternalFetcher",
    "MistralAI-User", "OAI-SearchBot", "omgili", "PanguBot", "Perplexity-User", "PerplexityBot", "PetalBot", "Timpibot",
    "Webzio-Extended", "YouBot",
)  # fmt: skip
"""Product tokens of crawlers that collect pages for models or answers: the ones that robots.txt files name most."""

ALL: Final = "all"
"""The row of all top-level domains together."""
_ANYWHERE: Final = "http://site.invalid/"


def robots_preferences(robots: Robots) -> tuple[tuple[str, str], ...]:
    """The preferences of a file, as pairs of use and preference; none about a use that it does not name.

    `Content-Usage` and `Content-Signal` count for the group `*` and the path `/`: what a site asks of all crawlers for
    all its pages. A group for an AI crawler that disallows `/` binds that crawler alone, and is counted as `ai-agents`.
    """
    preferences = of_robots(robots.access("*"), _ANYWHERE)
    uses = (("search", preferences.search), ("ai-input", preferences.ai_input), ("train", preferences.train))
    found = [(use, preference.value) for use, preference in uses if preference is not Preference.UNKNOWN]
    if preferences.use is not None:
        found.append(("use", preferences.use.value))
    named = {name.lower() for group in robots.groups for name in group.agents}
    ours = [agent for agent in AI_AGENTS if agent.lower() in named]
    if any(not robots.allows(agent, _ANYWHERE) for agent in ours):
        found.append(("ai-agents", "disallow"))
    return tuple(found)


class PreferenceCounts:
    """How many domains say what, by top-level domain."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._files: Counter[str] = Counter()

    def add(self, domain: str, statements: tuple[tuple[str, str], ...]) -> None:
        """Count the file of a domain."""
        for tld in (ALL, domain.partition(":")[0].rpartition(".")[2]):
            self._files[tld] += 1
            self._counts.update((tld, use, preference) for use, preference in statements)

    def table(self) -> SurveyTable:
        """A row for each use and preference: all domains first, then those with most files."""
        ranked = sorted(self._counts.items(), key=lambda item: (item[0][0] != ALL, -self._files[item[0][0]], item[0]))
        return SurveyTable(
            "preferences",
            "What robots.txt files say about the use of pages",
            columns(tld=TEXT, use=TEXT, says=TEXT, domains=WHOLE, share=SHARE),
            tuple((*key, count, share(count, self._files[key[0]])) for key, count in ranked),
        )


PAPER_FIELDS: Final[dict[str, tuple[int, int]]] = {
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

PAPER_AGENTS: Final[dict[str, int]] = {
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

PAPER_LEVELS: Final = (9_081, 90_512, 43_044, 533, 510)
"""Table 4: files by level of indirection."""

PAPER_SUMMARY: Final[dict[str, float]] = {
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
