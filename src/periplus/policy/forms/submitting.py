"""Whether a form may be submitted, and the URL that submits it.

Only a search by GET, on the same domain, whose fields can all be filled. Nothing that signs in, orders, subscribes,
contacts or deletes (see `kinds`); a hidden field that differs between two loads of the page is a token, and the form is
left alone.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote_plus, unquote_plus, urlsplit

from msgspec.structs import replace

from periplus.model import Form, Url
from periplus.urls import canonical, domain_of, site_of

from .fields import Input, Use
from .kinds import FormKind, kind_of

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
    if any(_DANGEROUS.search(said.replace("_", " ")) for said in (urlsplit(form.action).path, *names, *form.buttons)):
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
    """By what a form is known: its action, and the names of its fields. A site shows one form on many pages."""
    return " ".join((form.action, *sorted({field.name for field in form.fields})))


def submission(form: Form, values: Mapping[str, str], encoding: str = "utf-8") -> Url | None:
    """The URL that submits a form: these values, all else as it was. `None`: there is no such URL."""
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
