"""What a robots.txt says about the use of a page (Content-Usage and Content-Signal lines of our group)."""

from __future__ import annotations

from ...model import NO_PREFERENCES, Preferences
from ..robots import Access
from .content_signal import read_content_signal
from .content_usage import read_content_usage
from .page import statement


def of_robots(access: Access, url: str) -> Preferences:
    """The preferences of a robots.txt about a URL; of lines with equal paths that conflict the strictest counts."""
    found = NO_PREFERENCES
    for rule in access.usage_for(url) if access.usage else ():
        read = read_content_usage if rule.field == "content-usage" else read_content_signal
        found = found.and_also(read(rule.value, statement("robots.txt", rule.field.title(), rule.value)))
    return found
