"""Decides whether and how often a form may be submitted, and builds the URL that submits it.

Submitted is only a search by GET, on the same domain, whose fields can all be filled (see `kinds`). A hidden field that
differs between two loads of the page is a token, and the form is not submitted.

A query costs a database more than a page costs a server. So a form has a budget of its own, in all and for each day,
besides what politeness requires; after a refusal by the server it rests for a day, and after `MAX_REFUSALS` it is not
submitted again.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote_plus, unquote_plus, urlsplit

from msgspec.structs import replace

from periplus.model import Form, FormRow, ParsedPage, Url
from periplus.urls import canonical, domain_of, site_of

from .kinds import FormKind, Input, Use, kind_of
from .settings import FormSettings

MAX_FIELDS: Final = 100
"""Fields of a form that are kept."""
MAX_OPTION_CHARACTERS: Final = 100_000
"""Characters of all options of a form together: a thousand options of a hundred."""
_NEVER: Final = frozenset({"password", "file", "email", "tel", "textarea"})
"""Types of fields that no search has."""
_DANGEROUS: Final = re.compile(
    r"log.?(?:in|out|off|on)(?![a-z])|sign.?(?:in|out|up|off)(?![a-z])|regist(?:er|ration|rier)|delete|remove|destroy|"
    r"erase|purge|cancel|(?<![a-z])(?:cart|order|buy|pay|payment|vote|edit|admin|book|reserve|post|send|save|add|join|"
    r"confirm|accept|rate|poll|bid)(?![a-z])|checkout|basket|purchase|donate|subscri|comment|captcha|csrf|upload|contact|"
    r"feedback|newsletter|löschen|abmelden|anmelden|bestellen|kaufen|abonn|supprim|d[eé]connex|connexion|acheter|"
    r"eliminar|borrar|comprar|salir|удалить|выход|войти|купить|заказ",
    re.IGNORECASE,
)
"""Words in the path of an action, in the name of a field or on a button, of forms that do something."""
_CHOICES: Final = frozenset({"select", "select-multiple", "radio"})
"""Types of fields whose values the page names: such a field called "order" sorts."""
_TOKEN: Final = re.compile(r"token|csrf|nonce|captcha|viewstate|session|sess?id", re.IGNORECASE)


def refusal(form: Form, page: Url, *, earlier: Form | None = None, suffixes: tuple[str, ...] = ()) -> str:
    """Why a form on a page may not be submitted; empty if it may.

    `earlier`: the same form at an earlier load; `suffixes`: further public suffixes.
    """
    if form.method != "GET":
        return "form-method"
    if domain_of(site_of(form.action), further=suffixes) != domain_of(site_of(page), further=suffixes):
        return "form-elsewhere"
    if any(field.type in _NEVER for field in form.fields):
        return "form-kind"
    names = (field.name for field in form.fields if field.type not in _CHOICES)
    if any(_DANGEROUS.search(text.replace("_", " ")) for text in (urlsplit(form.action).path, *names, *form.buttons)):
        return "form-kind"
    if kind_of(form) is not FormKind.SEARCH:
        return "form-kind"
    if earlier is not None and _hidden(form) != _hidden(earlier):
        return "form-token"
    return "form-token" if any(_TOKEN.search(name) for name in _hidden(form)) else ""


def needs_value(inputs: Iterable[Input]) -> bool:
    """Whether a required field cannot be filled."""
    return any(each.is_required and each.use is Use.CONSTANT and not each.bindings for each in inputs)


def bounded(form: Form) -> Form:
    """A form that is not larger than any real one: the rest of its fields and options is left out."""
    left, fields = MAX_OPTION_CHARACTERS, []
    for field in form.fields[:MAX_FIELDS]:
        left -= sum(map(len, field.options))
        fields.append(field if left >= 0 or not field.options else replace(field, options=()))
    return replace(form, fields=tuple(fields), buttons=form.buttons[:MAX_FIELDS])


def form_key(form: Form) -> str:
    """The key of a form: its action, and the names of its fields. A site shows one form on many pages."""
    return " ".join((form.action, *sorted({field.name for field in form.fields})))


def submission(form: Form, values: Mapping[str, str], encoding: str = "utf-8") -> Url | None:
    """The URL that submits a form with these values and the defaults of other fields; `None` if it cannot be built."""
    pairs = []
    for field in form.fields:
        if field.type in {"submit", "button", "image", "reset", "checkbox"} or not field.name:
            continue
        value = values.get(field.name, field.value)
        if field.name in values or field.type == "hidden" or value:
            pairs.append(f"{quote_plus(field.name, encoding=encoding, errors='replace')}={_encoded(value, encoding)}")
    base = form.action.partition("#")[0].partition("?")[0]
    return canonical(f"{base}?{'&'.join(dict.fromkeys(pairs))}")


def is_query(form: Form, url: Url) -> bool:
    """Whether a URL is a submission of a form: another page, order or refinement of its results.

    It has one of the fields that people see: hidden ones often name the program, as all pages of a site do.
    """
    path, _, query = url.partition("?")
    if not query or path != form.action.partition("?")[0]:
        return False
    names = {unquote_plus(part.partition("=")[0]) for part in query.split("&")}
    return any(field.name in names for field in form.fields if field.type != "hidden")


def codec_of(charset: str) -> str:
    """The encoding in which a form of a page is submitted (HTML Standard, 4.10.21.3): UTF-8 where Python has none."""
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        return "utf-8"
    return "utf-8" if name.startswith("utf") else name


def _encoded(value: str, encoding: str) -> str:
    return quote_plus(value, encoding=encoding, errors="xmlcharrefreplace")


def _hidden(form: Form) -> dict[str, str]:
    return {field.name: field.value for field in form.fields if field.type == "hidden"}


DAY: Final = 86_400.0
"""Seconds for which a form rests after a refusal."""
MAX_REFUSALS: Final = 3
"""Refusals after which a form is not submitted any more."""
KNOWN_AFTER: Final = 20
"""Queries after which a form is ended if nearly all its records are known by links."""
LEAST_NEW: Final = 0.05
"""The share of records found only through the form, below which it is ended."""
LISTED_AFTER: Final = 20
"""Records after which a form is ended if a sitemap lists nearly all of them."""
LISTED: Final = 0.9
"""That share: what a sitemap lists needs no query."""
_LEAST: Final = 100
"""Pages of results that every form may have, however few records it seems to have: estimates begin low."""
_CAPTCHA: Final = re.compile(
    r"captcha|turnstile|challenge-platform|are you (?:a )?(?:human|robot)|unusual traffic", re.IGNORECASE
)
_REFUSALS: Final = frozenset({403, 429})
"""Statuses besides those of errors of the server with which a query is refused."""
_LONGEST_TEXT: Final = 2_000
"""Characters of a page that are searched for signs of a captcha: such pages are short."""


def max_requests(settings: FormSettings, size: float) -> int:
    """How many pages of results may be fetched through a form with about this number of records."""
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
    """When the next day begins, in UTC, and in an hour at the earliest: a crawl that has nothing else left ends."""
    return max((now // DAY + 1) * DAY, now + 3600.0)


def is_refusal(status: int) -> bool:
    """Whether a status says that the server does not want a query, or cannot serve it."""
    return status in _REFUSALS or status >= 500


def asks_for_captcha(page: ParsedPage) -> bool:
    """Whether a page asks for a captcha instead of showing results."""
    texts = [page.title, page.text[:_LONGEST_TEXT], *(resource.url for resource in page.resources)]
    texts += [field.name for form in page.forms for field in form.fields]
    return any(_CAPTCHA.search(each) for each in texts)


def ending(row: FormRow, submitted: int, records: int) -> str:
    """Why a form is not worth further queries, given how many were made and how many records they found; or empty."""
    if records >= LISTED_AFTER and row.listed >= LISTED * records:
        return "form-listed"
    if submitted >= KNOWN_AFTER and records and row.known >= (1 - LEAST_NEW) * records:
        return "form-known"
    return ""


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
