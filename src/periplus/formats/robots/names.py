"""What a field name stands for, however it is written.

Names are the same in any letter case. Beyond the exact ones, Google's parser takes every name that begins like one of
RFC 9309 or like one of its common misspellings, and so does this. Other fields must be spelt right, but for the dash.
"""

from __future__ import annotations

KNOWN = frozenset(
    {
        "user-agent",
        "allow",
        "disallow",
        "sitemap",
        "crawl-delay",
        "request-rate",
        "visit-time",
        "noindex",
        "host",
        "clean-param",
    }
)

MAX_REMEMBERED = 1000

_BEGINNINGS = {
    "user-agent": ("user-agent", "useragent", "user agent", "user_agent"),
    "allow": ("allow",),
    "disallow": ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"),
    "sitemap": ("sitemap", "site-map"),
}

_WITHOUT_DASH = {
    name.replace("-", other): name
    for name in ("crawl-delay", "request-rate", "visit-time", "clean-param")
    for other in ("", " ", "_")
}


class FieldNames(dict[str, str]):
    """From a name as written, blanks and all, to the field it stands for; to nothing where it is none of ours.

    Worked out once for each way to write a name. A file of junk has no end of them, so not all are remembered.
    """

    def __missing__(self, name: str) -> str:
        field = _field(name.strip(" \t\v\f").lower())
        if len(self) < MAX_REMEMBERED:
            self[name] = field
        return field


def _field(name: str) -> str:
    if name in KNOWN:
        return name
    for field, beginnings in _BEGINNINGS.items():
        if name.startswith(beginnings):
            return field
    return _WITHOUT_DASH.get(name, "")
