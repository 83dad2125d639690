"""Content-Signal (contentsignals.org): what Cloudflare writes into the robots.txt of sites that it manages.

`search`, `ai-input` and `ai-train` are `yes` or `no`, `use` is the most that is allowed: `immediate`, `reference` or
`full`. Letter case and blanks are free, an absent signal neither grants nor restricts, unknown signals are ignored.
A signal that is repeated counts as the strictest of its values: the text of the policy does not say which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...model import NO_PREFERENCES, Preference, Preferences, UseLimit

MAX_SIGNALS: Final = 50
"""Signals of one statement that are read: four are defined."""

_MEANINGS: Final = {"yes": Preference.ALLOW, "no": Preference.DISALLOW}
_FIELDS: Final[dict[str, Callable[[Preference], Preferences]]] = {
    "search": lambda said: Preferences(search=said),
    "ai-input": lambda said: Preferences(ai_input=said),
    "ai-train": lambda said: Preferences(train=said),
}
_LIMITS: Final = {limit.value: limit for limit in UseLimit}


def read_content_signal(text: str, said_by: str = "") -> Preferences:
    """The preferences of one statement. `said_by` is kept with them."""
    found = Preferences(said_by=(said_by,)) if said_by else NO_PREFERENCES
    for signal in text.lower().split(",", MAX_SIGNALS)[:MAX_SIGNALS]:
        name, _, value = (part.strip() for part in signal.partition("="))
        if name in _FIELDS and value in _MEANINGS:
            found = found.and_also(_FIELDS[name](_MEANINGS[value]))
        elif name == "use" and value in _LIMITS:
            found = found.and_also(Preferences(use=_LIMITS[value]))
    return found
