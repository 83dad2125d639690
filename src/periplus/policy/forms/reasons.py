"""Why a form is not submitted, or not any more: stable words, each with a line that explains it."""

from __future__ import annotations

from typing import Final

REASONS: Final = {
    "form-method": "it is not submitted by GET",
    "form-elsewhere": "it leads to another domain, or to a host that another shard visits",
    "form-kind": "it is not a search: it signs in, orders, subscribes, contacts, changes or deletes something",
    "form-token": "a hidden field differs at every load, or is named like a token",
    "form-signed-in": "requests to its site carry a password, token or cookie, with which a query might do something",
    "form-nofollow": "its page forbids to follow what it leads to",
    "form-needs-value": "a required field has no value that could be chosen",
    "form-too-many": "enough other forms of the site are submitted (`forms.forms_per_site`)",
    "form-unread": "its page could not be loaded a second time, or does not show it any more",
    "form-refused": "the server refused queries on three days",
    "form-known": "links lead to nearly all of its records already",
    "form-listed": "a sitemap lists nearly all of its records already",
    "form-budget": "its budget is used up (`forms.max_requests`, `forms.size_factor`)",
    "complete": "further queries are not expected to find anything new",
    "robots": "robots.txt forbids its queries",
}
"""By reason; the tables have the reasons."""
