"""The preferences of a site about the use of its pages, as one value; `formats.preferences` reads them."""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct


class Preference(Enum):
    """The preference of a site for one use. `UNKNOWN`: nothing, or nothing that can be read, is stated."""

    __hash__ = object.__hash__  # each is one object; Enum would hash its name, in Python

    ALLOW = "allow"
    DISALLOW = "disallow"
    UNKNOWN = "unknown"


class UseLimit(Enum):
    """The most that a site allows to be done with a page in an answer, from least to most (contentsignals.org)."""

    __hash__ = object.__hash__  # each is one object; Enum would hash its name, in Python

    IMMEDIATE = "immediate"
    REFERENCE = "reference"
    FULL = "full"


_LIMITS: Final = tuple(UseLimit)


class Preferences(Struct, frozen=True):
    """The preferences of a site for the use of a page.

    `search`: an index and its results; `ai_input`: a text given to a model with a question; `train`: the training of
    models; `use`: the most that is allowed, if stated; `tdm`: text and data mining (disallow: rights reserved).
    `said_by` are the statements themselves, each with its place, cut in length: they may state more than these fields.
    """

    search: Preference = Preference.UNKNOWN
    ai_input: Preference = Preference.UNKNOWN
    train: Preference = Preference.UNKNOWN
    use: UseLimit | None = None
    tdm: Preference = Preference.UNKNOWN
    said_by: tuple[str, ...] = ()

    @property
    def forbids_training(self) -> bool:
        """Whether a collection of texts for training must be without this page."""
        return self.train is Preference.DISALLOW or self.tdm is Preference.DISALLOW

    def and_also(self, other: Preferences) -> Preferences:
        """Both together: disallowed if either says so, else allowed if either does."""
        if other == NO_PREFERENCES:
            return self
        return Preferences(
            search=stricter(self.search, other.search),
            ai_input=stricter(self.ai_input, other.ai_input),
            train=stricter(self.train, other.train),
            use=lower_limit(self.use, other.use),
            tdm=stricter(self.tdm, other.tdm),
            said_by=tuple(dict.fromkeys(self.said_by + other.said_by)),
        )


NO_PREFERENCES: Final = Preferences()
"""The preferences of a page for whose use none are stated."""


def stricter(one: Preference, other: Preference) -> Preference:
    """Disallow if either is, else allow if either is, else unknown."""
    if Preference.DISALLOW in (one, other):
        return Preference.DISALLOW
    return Preference.ALLOW if Preference.ALLOW in (one, other) else Preference.UNKNOWN


def lower_limit(one: UseLimit | None, other: UseLimit | None) -> UseLimit | None:
    """The lower of two limits, of which either may not be given."""
    if one is None or other is None:
        return one or other
    return min(one, other, key=_LIMITS.index)
