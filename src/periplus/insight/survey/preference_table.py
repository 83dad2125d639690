"""What robots.txt files say about the use of pages: `Content-Usage`, `Content-Signal`, and groups for AI crawlers.

Preferences are counted for the group `*` and the path `/`: what a site says to all crawlers of all its pages. A group
for an AI crawler that disallows `/` binds that crawler alone, and is counted as `ai-agents`.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from periplus.formats.preferences import of_robots
from periplus.formats.robots import Robots
from periplus.model import Preference

from .tables import SHARE, TEXT, WHOLE, Table, columns, share

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


def said_by_robots(robots: Robots) -> tuple[tuple[str, str], ...]:
    """What a file says, as pairs of use and preference; nothing about a use that it does not name."""
    said = of_robots(robots.access("*"), _ANYWHERE)
    uses = (("search", said.search), ("ai-input", said.ai_input), ("train", said.train))
    found = [(use, preference.value) for use, preference in uses if preference is not Preference.UNKNOWN]
    if said.use is not None:
        found.append(("use", said.use.value))
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

    def add(self, domain: str, said: tuple[tuple[str, str], ...]) -> None:
        """Count the file of a domain."""
        for tld in (ALL, domain.partition(":")[0].rpartition(".")[2]):
            self._files[tld] += 1
            self._counts.update((tld, use, preference) for use, preference in said)

    def table(self) -> Table:
        """A row for each use and preference: all domains first, then those with most files."""
        ranked = sorted(self._counts.items(), key=lambda item: (item[0][0] != ALL, -self._files[item[0][0]], item[0]))
        return Table(
            "preferences",
            "What robots.txt files say about the use of pages",
            columns(tld=TEXT, use=TEXT, says=TEXT, domains=WHOLE, share=SHARE),
            tuple((*key, count, share(count, self._files[key[0]])) for key, count in ranked),
        )
