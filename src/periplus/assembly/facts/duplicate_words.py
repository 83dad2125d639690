"""Phrases what is known of the near-duplicates of a page."""

from __future__ import annotations

from typing import Final

from periplus.model import Url

from .duplicates import CopyFacts

BELIEFS: Final = {
    "names-itself": "it is this page",
    "same-text": "it says the same",
    "not-read-yet": "it was not read yet, and nothing speaks against it",
    "other-text": "it says something else",
    "target-is-gone": "there is no page",
    "target-points-on": "it names another URL itself",
    "names-home-page": "it was not read yet, and naming the home page is mostly a template's mistake",
    "elsewhere": "it was not read yet, and is of another site, which would have to agree",
}
"""Why the canonical URL that a page declares is accepted or not; `policy.duplicates.hints` has the rules."""


def duplicate_lines(facts: CopyFacts | None, url: Url) -> list[tuple[str, str]]:
    """Return what is known as labelled lines."""
    if facts is None:
        return []
    said = []
    if facts.pages > 1:
        others = "another page" if facts.pages == 2 else f"{facts.pages - 1:,} other pages"
        name = "this URL" if facts.canonical == url else facts.canonical
        said.append(("says the same", f"as {others}; all are best known by {name}"))
    if facts.is_copy:
        said.append(("copy", f"yes: another said it before ({facts.likeness:.0%} alike)"))
    if facts.names is not None:
        said.append(("canonical", f"names {facts.names}{_judgement(facts)}"))
    return said


def _judgement(facts: CopyFacts) -> str:
    if facts.is_believed is None:
        return ", which another shard knows"
    return f": {'believed' if facts.is_believed else 'not believed'}, because {BELIEFS[facts.why]}"
