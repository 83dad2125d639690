"""Recognises field names, however they are written.

Names are the same in any letter case. Beyond the exact ones, Google's parser takes every name that begins like one of
RFC 9309 or like one of its common misspellings, and so does this. Other fields must be spelt right, but for the dash.
"""

from __future__ import annotations

from functools import lru_cache

from .charset import as_text

MAX_NAME = 64
"""Maximum length; longer names are cut, and not names of fields."""

_BLANK = " \t\v\f"

_FIELDS = (
    *("user-agent", "allow", "disallow", "sitemap"),
    *("crawl-delay", "request-rate", "visit-time", "noindex", "host", "clean-param"),
    *("content-usage", "content-signal"),
)

_BEGINNINGS = {
    "user-agent": ("user-agent", "useragent", "user agent", "user_agent"),
    "allow": ("allow",),
    "disallow": ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"),
    "sitemap": ("sitemap", "site-map"),
}

_WITHOUT_DASH = {
    name.replace("-", other): name
    for name in ("crawl-delay", "request-rate", "visit-time", "clean-param", "content-usage", "content-signal")
    for other in ("", " ", "_")
}

USUAL_SPELLINGS = {
    spelling: field for field in _FIELDS for spelling in (field, field.capitalize(), field.title(), field.upper())
}
"""What nearly all names are written like: these need not be worked out."""


@lru_cache(maxsize=1024)
def field_of(name: str) -> str:
    """The field that a name stands for, ignoring blanks around it; the empty string if it is unknown."""
    name = name.strip(_BLANK).lower()
    if name in _FIELDS:
        return name
    for field, beginnings in _BEGINNINGS.items():
        if name.startswith(beginnings):
            return field
    return _WITHOUT_DASH.get(name, "")


@lru_cache(maxsize=1024)
def plain_name(name: str) -> str:
    """A name as it is counted: the text it spells, without blanks, in lower case."""
    return as_text(name.strip(_BLANK)).lower()[:MAX_NAME]
