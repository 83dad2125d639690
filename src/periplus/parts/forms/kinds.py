"""Classifies forms and their fields: what a form is for, what each field is for, and which values it may take.

A search is the only kind that may be submitted (Olston & Najork 2010 section 7). The rules for all other kinds
therefore come first: a form that signs in, orders, subscribes, contacts or deletes must not be taken for a search, even
if its method is GET. The rules use the method, the fields with their names and labels, and the words of the action:
words of eleven languages, and names that programs give to fields.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from periplus.model import Field, Form


class FormKind(StrEnum):
    """What a form is for."""

    SEARCH = "search"
    LOGIN = "login"
    REGISTRATION = "registration"
    RECOVERY = "password recovery"
    SUBSCRIPTION = "mailing list"
    CONTACT = "contact"
    ORDER = "order"
    DISPLAY = "display options"
    NAVIGATION = "navigation"
    OTHER = "other"


def _any_of(*stems: str) -> re.Pattern[str]:
    """A pattern that finds any of these at the beginning of a word."""
    return re.compile(rf"(?<![^\W\d_])(?:{'|'.join(stems)})")


_SEARCH: Final = _any_of(
    "search", "srch", "find", "query", "quer[iy]", "keyword", "look ?up", "buscar?", "b[uú]squeda", "pesquis",
    "procur", "recherch", "such[ebw]", "suche?n?\\b", "volltext", "zoek", "sök", "szuk", "wyszuk", "hled",
    "vyhled", "keres", "cerca", "ricerca", "поиск", "найти", "искать", "пошук", "шукати", "ara\\b", "arama", "tìm",
    "cari\\b", "haku", "αναζ", "搜", "検索", "검색", "بحث", "חיפוש", "site ?search", "søg", "søk", "caut[aă]",
)  # fmt: skip
"""Words that say "search", as they begin in names, labels and actions."""
_SEARCH_NAMES: Final = frozenset(
    {"q", "s", "qs", "qt", "qry", "k", "kw", "kwd", "keywords", "w", "term", "terms", "searchterm", "ss", "st", "text",
     "t", "querytext", "searchstring", "string", "phrase", "wd", "word", "words", "as_q", "story", "filter", "sw"}
)  # fmt: skip
"""Names of text fields that hold a query in most programs."""
_LOGIN: Final = _any_of(
    "log[ -_]?in", "log[ -_]?on", "sign[ -_]?in", "anmeld", "einlog", "connexion", "identif", "iniciar", "entrar",
    "вход", "войти", "авториз", "auth\\b", "authent", "authori[sz]", "openid", "remember", "username",
    "user_?name", "userid", "nickname", "logar", "inlog", "přihl", "zaloguj", "accedi",
)  # fmt: skip
_REGISTER: Final = _any_of(
    "regist", "sign[ -_]?up", "create.{0,12}account", "join\\b", "inscri", "enrol", "регистр", "confirm",
    "new ?user", "anmeldung", "crear", "cadastr", "iscriz", "kayıt", "rejestr", "birth", "dob", "gender",
)  # fmt: skip
_RECOVERY: Final = _any_of(
    "forg[oe]t", "lost", "recover", "reset", "remind", "vergessen", "oubli", "olvid", "esquec", "восстан", "забыл",
    "zapomn", "dimentic", "vergeten", "unlock", "newpassword", "oldpassword",
)  # fmt: skip
_SUBSCRIBE: Final = _any_of(
    "subscri", "news ?letter", "mailing", "rassyl", "подпис", "рассыл", "abonn", "suscri", "newsl"
)
_ORDER: Final = _any_of(
    "cart", "basket", "checkout", "buy", "purchase", "order", "quantity", "qty", "qte", "quant\\b", "warenkorb",
    "panier", "carrito", "корзин", "заказ", "bestell", "coupon", "voucher", "promo_?code", "gift",
    "pay(?:ment|pal)?\\b", "donat", "bid\\b", "add[_-]?to", "product[_-]?id", "price_?alert", "txtquantity",
    "subquantity", "wishlist",
)  # fmt: skip
_ACTS: Final = _any_of(
    "delete", "remove", "logout", "log[ -_]?off", "sign[ -_]?out", "vote", "poll", "report", "edit", "save",
    "upload", "comment", "reply", "post_?comment", "contact", "feedback", "captcha", "track_?order",
    "order_?status", "unsubscri", "translat", "share", "send", "invite", "redirect", "tag_?name", "watchmail",
    "löschen", "supprim", "eliminar",
)  # fmt: skip
_DISPLAY: Final = _any_of(
    "style", "skin", "theme", "lang", "currenc", "locale", "sort", "order ?by", "per ?page", "view", "layout",
    "mode", "limit", "region", "display", "country", "цен", "сорт",
)  # fmt: skip
_PERSONAL: Final = _any_of(
    "\\w{0,3}e ?mail", "mail\\b", "correo", "courriel", "phone", "tel\\b", "first_?name", "last_?name",
    "full_?name", "your_?name", "surname", "name\\b", "zip", "address", "password", "passw", "user", "nick",
    "company", "message", "subject", "url\\b", "website",
)  # fmt: skip
"""What people are asked about themselves."""
_NOT_QUERIES: Final = re.compile("|".join(each.pattern for each in (_PERSONAL, _ORDER, _SUBSCRIBE, _LOGIN, _RECOVERY)))
"""What a text field says that is not for the words of a query."""
_TEXT_TYPES: Final = frozenset({"text", "search", "", "query", "string"})
_CHOICES: Final = frozenset({"select", "select-multiple", "radio", "checkbox"})
_BUTTONS: Final = frozenset({"submit", "button", "image", "reset"})
_CONTACT_TYPES: Final = frozenset({"textarea", "file"})
_CAMEL: Final = re.compile(r"(?<=[a-zа-я])(?=[A-ZА-Я])")
_PREFIXES: Final = re.compile(r"\b(?:txt|tb|inp|fld|ctl\d*|edit|form|frm|btn)(?=[a-z]{3})")
"""What programmers write before the name of a field."""


@lru_cache(maxsize=16)
def kind_of(form: Form) -> FormKind:
    """What a form is for. Remembered for those that ask about a form in turn."""
    fields = [field for field in form.fields if field.type not in _BUTTONS]
    shown = [field for field in fields if field.type != "hidden"]
    action = _words(_path(form.action))
    text = " ".join(_label(field) for field in form.fields)
    if any(field.type == "password" for field in fields):
        return _of_password(shown, f"{action} {text}")
    if not shown:
        return FormKind.SEARCH if _is_hidden_search(fields, action) else FormKind.OTHER
    texts = [field for field in shown if field.type in _TEXT_TYPES]
    has_address = any(field.type in {"email", "tel"} for field in shown)
    has_query = _has_query(texts, action) and not has_address
    if any(field.type in _CONTACT_TYPES for field in shown) and not (has_query and _SEARCH.search(action)):
        return FormKind.CONTACT
    if any(field.type in {"email", "tel"} or _PERSONAL.search(_label(field)) for field in shown) and not has_query:
        return _of_person(shown, f"{action} {text}")
    if _ORDER.search(f"{action} {' '.join(map(_label, shown))}") and not has_query:
        return FormKind.ORDER
    if has_query:
        return FormKind.SEARCH
    if _ACTS.search(action) and not _SEARCH.search(action):
        return FormKind.OTHER
    return _of_choices(shown, texts, action, text)


def _of_password(shown: list[Field], text: str) -> FormKind:
    passwords = sum(field.type == "password" for field in shown)
    others = sum(field.type not in {"password", "checkbox"} for field in shown)
    if _RECOVERY.search(text) and not others:
        return FormKind.RECOVERY
    if passwords > 1 or others > 3 or (others > 1 and _REGISTER.search(text) and not _LOGIN.search(text)):
        return FormKind.RECOVERY if others == 0 else FormKind.REGISTRATION
    return FormKind.LOGIN


def _of_person(shown: list[Field], text: str) -> FormKind:
    """A form that asks for an address or a name."""
    if _RECOVERY.search(text):
        return FormKind.RECOVERY
    if len(shown) > 4 and _REGISTER.search(text):
        return FormKind.REGISTRATION
    if _ORDER.search(text):
        return FormKind.ORDER
    if _LOGIN.search(text) and not any("mail" in _label(field) for field in shown):
        return FormKind.LOGIN
    has_address = any(field.type == "email" or "mail" in _label(field) for field in shown)
    return FormKind.SUBSCRIPTION if has_address and not _ACTS.search(text) else FormKind.OTHER


def _of_choices(shown: list[Field], texts: list[Field], action: str, text: str) -> FormKind:
    """A form whose text fields, if any, do not look like a query."""
    choices = [field for field in shown if field.type in _CHOICES]
    if _LOGIN.search(f"{action} {text}") and len(choices) < 2:
        return FormKind.LOGIN
    searches = bool(_SEARCH.search(f"{action} {text}"))
    if searches and (choices or texts):
        return FormKind.SEARCH
    if not texts and choices and all(_DISPLAY.search(_label(field)) for field in choices):
        return FormKind.DISPLAY
    if not texts and len(choices) == 1:
        return FormKind.NAVIGATION
    return FormKind.SEARCH if len(choices) > 1 else FormKind.OTHER


def _has_query(texts: list[Field], action: str) -> bool:
    """Whether one of the text fields is for the words of a query."""
    for field in texts:
        text = _label(field)
        if field.type == "search" or _SEARCH.search(text):
            return True
    plain = [field for field in texts if not _NOT_QUERIES.search(_label(field))]
    if any(field.name.lower() in _SEARCH_NAMES for field in plain) or (plain and _SEARCH.search(action)):
        return True
    is_lone = len(texts) == len(plain) == 1
    return is_lone and not _NOT_QUERIES.search(action) and not _ACTS.search(f"{action} {_label(plain[0])}")


def _is_hidden_search(fields: list[Field], action: str) -> bool:
    """Whether a form without visible fields is one by name: its only control is not part of it."""
    return bool(fields) and bool(_SEARCH.search(action))


def _label(field: Field) -> str:
    """What a field is called, for programs and for people."""
    return _words(f"{field.name} {field.label}{' ' + field.value if field.type in _BUTTONS else ''}")


def _path(action: str) -> str:
    """The path and query of an action, as words may stand in them."""
    parts = urlsplit(action)
    return unquote(f"{parts.path} {parts.query}")


def _words(text: str) -> str:
    """Names taken apart: `txtSearchTerm[0]` becomes `search term`."""
    apart = re.sub(r"[\W\d_]+", " ", _CAMEL.sub(" ", text[:500])).lower()
    return _PREFIXES.sub("", apart)


MAX_VALUES: Final = 1000
"""Options of a field that are used."""
_RANGES: Final = 10
"""Intervals into which a range is cut."""
_TEXTS: Final = frozenset({"text", "search", "number", "date", "month", ""})
_PRESENTATION: Final = re.compile(
    r"sort|order|view|layout|per.?page|limit|lang|locale|currenc|style|skin|theme|display|mode\b|format|rows|anzahl|tri\b",
    re.IGNORECASE,
)
"""Names and labels of fields that change how results are shown, not which."""
_EMPTY: Final = re.compile(
    r"(?:|-+|\*|0|-1|all|any|every|none|select.*|choose.*|please.*|alle|tous|toutes|todos|todas|tutti|все|bitte.*)",
    re.IGNORECASE,
)
"""Options that choose nothing."""
_YEAR: Final = re.compile(r"year|jahr|ann[eé]e|año|anno\b|год", re.IGNORECASE)
_DATE: Final = re.compile(r"date|datum|fecha|дата", re.IGNORECASE)
_PRICE: Final = re.compile(r"price|preis|prix|precio|prezzo|cost|цена", re.IGNORECASE)
_LOW: Final = re.compile(r"(from|min|start|begin|low|since|von|ab|desde|de)(?![a-z])", re.IGNORECASE)
_HIGH: Final = {
    "from": "to", "min": "max", "start": "end", "begin": "end", "low": "high", "since": "until", "von": "bis",
    "ab": "bis", "desde": "hasta", "de": "a",
}  # fmt: skip
_FIRST_YEAR: Final = 1990
"""The first year that is tried; the web is not older."""


class Use(StrEnum):
    """What a field is for."""

    CHOICE = "choice"
    PRESENTATION = "presentation"
    TEXT = "text"
    TYPED = "typed"
    RANGE = "range"
    CONSTANT = "constant"


Binding = tuple[tuple[str, str], ...]
"""Fields with their values."""


class Input(Struct, frozen=True):
    """One input of a form: its fields (two for a range), what it is for, and the bindings to try."""

    names: tuple[str, ...]
    use: Use
    bindings: tuple[Binding, ...] = ()
    is_required: bool = False


def inputs_of(form: Form, year: int) -> list[Input]:
    """The inputs of a form; buttons are none. `year` is the present one.

    As in Madhavan et al. 2008 (and Olston & Najork 2010 section 7.3), a select or a group of radio buttons has its
    options, and two fields that are the ends of a range are one input with consecutive intervals. A field that only
    changes how results are shown stays as it is. The name or label of a text field shows whether it takes a year, a
    date or a price; any other takes words, which are chosen later.
    """
    fields = [field for field in form.fields if field.type not in _BUTTONS]
    by_name = {field.name: field for field in fields}
    found, done = [], set[str]()
    for field in fields:
        if field.name in done:
            continue
        other = _other_end(field, by_name)
        if other is not None and (bindings := _intervals(field, other, year)):
            done.update((field.name, other.name))
            found.append(Input((field.name, other.name), Use.RANGE, bindings))
        else:
            done.add(field.name)
            found.append(_input(field, year))
    return found


def _input(field: Field, year: int) -> Input:
    use, values = _use(field, year)
    bindings = tuple(((field.name, value),) for value in values)
    return Input((field.name,), use, bindings, field.is_required)


def _use(field: Field, year: int) -> tuple[Use, tuple[str, ...]]:
    text = f"{field.name} {field.label}"
    if field.options:
        values = useful_options(field)
        if _PRESENTATION.search(text):
            return Use.PRESENTATION, ()
        return (Use.CHOICE, values) if len(values) > 1 else (Use.CONSTANT, ())
    if field.type not in _TEXTS:
        return Use.CONSTANT, ()
    if _YEAR.search(text):
        return Use.TYPED, tuple(str(each) for each in range(_FIRST_YEAR, year + 1))
    if _DATE.search(text) or field.type in {"date", "month"}:
        months = [(year - 1 + month // 12, month % 12 + 1) for month in range(24)]
        return Use.TYPED, tuple(f"{each}-{month:02}-01" for each, month in months)
    if _PRICE.search(text):
        return Use.TYPED, tuple(str(digit * 10**power) for power in range(1, 5) for digit in (1, 2, 5))
    return Use.TEXT, ()


def useful_options(field: Field) -> tuple[str, ...]:
    """The options of a field but for those that choose nothing, each once."""
    return tuple(dict.fromkeys(value for value in field.options if not _EMPTY.fullmatch(value.strip())))[:MAX_VALUES]


def _other_end(field: Field, by_name: dict[str, Field]) -> Field | None:
    """The field for the upper end of a range whose lower end this is."""
    for low in _LOW.finditer(field.name):
        word = low[1]
        high = _HIGH[word.lower()]
        name = field.name[: low.start()] + (high.capitalize() if word[0].isupper() else high) + field.name[low.end() :]
        if name != field.name and name in by_name:
            return by_name[name]
    return None


def _intervals(low: Field, high: Field, year: int) -> tuple[Binding, ...]:
    """Consecutive intervals of a range: by its options, or by what the field says it is."""
    values = useful_options(low) or _use(low, year)[1]
    if len(values) < 2:
        return ()
    step = max(1, -(-len(values) // _RANGES))
    cuts = values[::step]
    ends = [*cuts[1:], (useful_options(high) or values)[-1]]
    return tuple(((low.name, start), (high.name, end)) for start, end in zip(cuts, ends, strict=True))
