"""A program's own filter: the function given as `want=`.

Reason: `not-wanted`.

Seeds, where seeds redirect to, and files such as sitemaps are not asked about: a function that accepts product pages
need not accept the home page from which they are found.
"""

from __future__ import annotations

from ...model import Discovery, Purpose, Reject, Verdict
from ..found import Want, failed_call, found_of
from .verdicts import ACCEPT


class Wanted:
    """Refuses the URLs for which a function returns a false value. The function must return the same each time."""

    def __init__(self, want: Want) -> None:
        self._want = want

    def judge(self, discovery: Discovery) -> Verdict:
        """Ask the function. Raises `UsageError` if it raises."""
        found = found_of(discovery)
        if found.is_seed or discovery.purpose is not Purpose.PAGE:
            return ACCEPT
        try:
            is_wanted = bool(self._want(discovery.url, found))
        except Exception as error:
            raise failed_call("want", discovery.url, error) from error
        return ACCEPT if is_wanted else Reject("not-wanted", "want")
