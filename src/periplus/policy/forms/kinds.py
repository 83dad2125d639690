"""What a form is for: rules over its method, its fields, their names and labels, and the words of its action.

A search is the only kind that may be submitted (Olston & Najork 2010 section 7). So the rules for all others come
first: a form that signs in, orders, subscribes, contacts or deletes must not be taken for a search, also if its method
is GET. Words are those of eleven languages, and names that programs give to fields.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final
from urllib.parse import unquote, urlsplit

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


def kind_of(form: Form) -> FormKind:
    """What a form is for."""
    fields = [field for field in form.fields if field.type not in _BUTTONS]
    shown = [field for field in fields if field.type != "hidden"]
    action = _words(_path(form.action))
    said = " ".join(_said(field) for field in form.fields)
    if any(field.type == "password" for field in fields):
        return _of_password(shown, f"{action} {said}")
    if not shown:
        return FormKind.SEARCH if _is_hidden_search(fields, action) else FormKind.OTHER
    texts = [field for field in shown if field.type in _TEXT_TYPES]
    has_address = any(field.type in {"email", "tel"} for field in shown)
    has_query = _has_query(texts, action) and not has_address
    if any(field.type in _CONTACT_TYPES for field in shown) and not (has_query and _SEARCH.search(action)):
        return FormKind.CONTACT
    if any(field.type in {"email", "tel"} or _PERSONAL.search(_said(field)) for field in shown) and not has_query:
        return _of_person(shown, f"{action} {said}")
    if _ORDER.search(f"{action} {' '.join(map(_said, shown))}") and not has_query:
        return FormKind.ORDER
    if has_query:
        return FormKind.SEARCH
    if _ACTS.search(action) and not _SEARCH.search(action):
        return FormKind.OTHER
    return _of_choices(shown, texts, action, said)


def _of_password(shown: list[Field], said: str) -> FormKind:
    passwords = sum(field.type == "password" for field in shown)
    others = sum(field.type not in {"password", "checkbox"} for field in shown)
    if _RECOVERY.search(said) and not others:
        return FormKind.RECOVERY
    if passwords > 1 or others > 3 or (others > 1 and _REGISTER.search(said) and not _LOGIN.search(said)):
        return FormKind.RECOVERY if others == 0 else FormKind.REGISTRATION
    return FormKind.LOGIN


def _of_person(shown: list[Field], said: str) -> FormKind:
    """A form that asks for an address or a name."""
    if _RECOVERY.search(said):
        return FormKind.RECOVERY
    if len(shown) > 4 and _REGISTER.search(said):
        return FormKind.REGISTRATION
    if _ORDER.search(said):
        return FormKind.ORDER
    if _LOGIN.search(said) and not any("mail" in _said(field) for field in shown):
        return FormKind.LOGIN
    has_address = any(field.type == "email" or "mail" in _said(field) for field in shown)
    return FormKind.SUBSCRIPTION if has_address and not _ACTS.search(said) else FormKind.OTHER


def _of_choices(shown: list[Field], texts: list[Field], action: str, said: str) -> FormKind:
    """A form whose text fields, if any, do not look like a query."""
    choices = [field for field in shown if field.type in _CHOICES]
    if _LOGIN.search(f"{action} {said}") and len(choices) < 2:
        return FormKind.LOGIN
    searches = bool(_SEARCH.search(f"{action} {said}"))
    if searches and (choices or texts):
        return FormKind.SEARCH
    if not texts and choices and all(_DISPLAY.search(_said(field)) for field in choices):
        return FormKind.DISPLAY
    if not texts and len(choices) == 1:
        return FormKind.NAVIGATION
    return FormKind.SEARCH if len(choices) > 1 else FormKind.OTHER


def _has_query(texts: list[Field], action: str) -> bool:
    """Whether one of the text fields is for the words of a query."""
    for field in texts:
        said = _said(field)
        if field.type == "search" or _SEARCH.search(said):
            return True
    plain = [field for field in texts if not _NOT_QUERIES.search(_said(field))]
    if any(field.name.lower() in _SEARCH_NAMES for field in plain) or (plain and _SEARCH.search(action)):
        return True
    is_lone = len(texts) == len(plain) == 1
    return is_lone and not _NOT_QUERIES.search(action) and not _ACTS.search(f"{action} {_said(plain[0])}")


def _is_hidden_search(fields: list[Field], action: str) -> bool:
    """Whether a form without visible fields is one by name: its only control is not part of it."""
    return bool(fields) and bool(_SEARCH.search(action))


def _said(field: Field) -> str:
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
