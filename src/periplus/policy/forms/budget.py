"""How often a form may be submitted, and when it is left alone.

A query costs a database more than a page costs a server. So a form has a budget of its own, in all and for each day,
besides what politeness requires; and a server that refuses queries is not asked again for a day, or ever.
"""

from __future__ import annotations

import math
import re
from typing import Final

from periplus.model import FormRow, Page

from .settings import FormSettings

DAY: Final = 86_400.0
"""Seconds for which a form rests after a refusal."""
MAX_REFUSALS: Final = 3
"""Refusals after which a form is not submitted any more."""
KNOWN_AFTER: Final = 20
"""Queries after which a form is ended if nearly all its records are known by links."""
LEAST_NEW: Final = 0.05
"""The share of records that only the form leads to, below which it is ended."""
LISTED_AFTER: Final = 20
"""Records after which a form is ended if a sitemap lists nearly all of them."""
LISTED: Final = 0.9
"""That share: what a sitemap lists needs no query."""
_LEAST: Final = 100
"""Pages of results that every form may have, however few records it seems to lead to: estimates begin low."""
_CAPTCHA: Final = re.compile(
    r"captcha|turnstile|challenge-platform|are you (?:a )?(?:human|robot)|unusual traffic", re.IGNORECASE
)
_REFUSALS: Final = frozenset({403, 429})
"""Statuses besides those of errors of the server with which a query is refused."""
_LONGEST_TEXT: Final = 2_000
"""Characters of a page that are searched for signs of a captcha: such pages are short."""


def max_requests(settings: FormSettings, size: float) -> int:
    """How many pages of results may be fetched through a form that leads to about this number of records."""
    if not settings.size_factor:
        return settings.max_requests
    return min(settings.max_requests, max(_LEAST, int(settings.size_factor * math.sqrt(max(size, 0.0)))))


def count_request(row: FormRow, settings: FormSettings, now: float) -> bool:
    """Count a request of today; whether it is within the day's budget."""
    today = int(now // DAY)
    if row.day != today:
        row.day, row.today = today, 0
    if row.today >= settings.requests_per_day:
        return False
    row.today += 1
    return True


def next_day(now: float) -> float:
    """When the next day begins, in UTC."""
    return (now // DAY + 1) * DAY


def is_refusal(status: int) -> bool:
    """Whether a status says that the server does not want a query, or cannot serve it."""
    return status in _REFUSALS or status >= 500


def asks_for_captcha(page: Page) -> bool:
    """Whether a page asks for a captcha instead of showing results."""
    said = [page.title, page.text[:_LONGEST_TEXT], *(resource.url for resource in page.resources)]
    said += [field.name for form in page.forms for field in form.fields]
    return any(_CAPTCHA.search(each) for each in said)


def ending(row: FormRow, submitted: int, records: int) -> str:
    """Why a form is not worth further queries, given how many it had and how many records they led to; or empty."""
    if records >= LISTED_AFTER and row.listed >= LISTED * records:
        return "form-listed"
    if submitted >= KNOWN_AFTER and records and row.known >= (1 - LEAST_NEW) * records:
        return "form-known"
    return ""
