"""Content-Usage: the IETF's preferences about automated processing (aipref working group, drafts of 2026).

A dictionary of structured fields. `y` allows and `n` disallows; any other value, and a field that cannot be parsed,
says nothing. Of a repeated key the last counts; unknown keys and all parameters are ignored.
"""

from __future__ import annotations

from typing import Final

from ...model import Preference, Preferences
from .structured import read_dictionary

_MEANINGS: Final = {"y": Preference.ALLOW, "n": Preference.DISALLOW}


def read_content_usage(text: str, said_by: str = "") -> Preferences:
    """The preferences of one field or rule. `said_by` is kept with them."""
    members = read_dictionary(text) or {}
    return Preferences(
        search=_MEANINGS.get(members.get("search") or "", Preference.UNKNOWN),
        train=_MEANINGS.get(members.get("train-ai") or "", Preference.UNKNOWN),
        said_by=(said_by,) if said_by else (),
    )
