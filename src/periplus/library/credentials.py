"""`headers=`, `cookies=` and `auth=` as credentials of single origins.

Without a site they are for the origins of the seeds; `{"https://a.example": ...}` gives each site its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from periplus.collection.seeds import seeds_from
from periplus.engine.fetch import (
    NO_CREDENTIALS,
    NO_SESSION,
    Credentials,
    Login,
    SessionPlan,
    basic_auth,
    cookie_field,
    header_fields,
    origin_of,
)
from periplus.engine.fetch.request import HeaderFields
from periplus.model import Url, UsageError

Headers = Mapping[str, str] | Mapping[str, Mapping[str, str]]
"""Header fields, or those of each site."""
Cookies = Mapping[str, str] | Mapping[str, Mapping[str, str]] | str | Path
"""Cookies, or those of each site, or the file in which a browser or curl has written them (`cookies.txt`)."""
LoginRequest = Mapping[str, Any]
"""The fields of `periplus.engine.fetch.Login`."""
Auth = tuple[str, str] | Mapping[str, tuple[str, str]]
"""A user name and a password, or those of each site."""


def credentials_for(
    seeds: Iterable[Url], *, headers: Headers | None = None, cookies: Cookies | None = None, auth: Auth | None = None
) -> Credentials:
    """The credentials that a program gave, by origin. Errors name the keyword and never a value."""
    origins = list(dict.fromkeys(map(origin_of, seeds)))
    found = NO_CREDENTIALS
    cookies = None if isinstance(cookies, str | Path) else cookies  # a file: see `session_for`
    for name, given, make in (
        ("headers", headers, header_fields),
        ("cookies", cookies, cookie_field),
        ("auth", auth, _login),
    ):
        if given:
            found = found.merged(Credentials(_by_origin(name, given, origins, make)))
    return found


def session_for(
    seeds: Iterable[Url], *, login: LoginRequest | None = None, cookies: Cookies | None = None
) -> SessionPlan:
    """The session that a program asks for, with the origins of the seeds and of its login."""
    text = ""
    if isinstance(cookies, str | Path):
        try:
            text = Path(cookies).read_text()
        except (OSError, ValueError):
            raise UsageError("cookies: the file cannot be read", hint="give the path of a cookies.txt") from None
        from periplus.engine.fetch import jar_of  # checks it

        jar_of(text)
    if login is None and not text:
        return NO_SESSION
    asked = None if login is None else _declared(login)
    urls = [*seeds] if asked is None else [*seeds, Url(asked.url)]
    return SessionPlan(tuple(dict.fromkeys(map(origin_of, urls))), asked, text)


def _declared(login: LoginRequest) -> Login:
    try:
        asked = msgspec.convert(dict(login), Login)
    except (msgspec.ValidationError, TypeError, ValueError):
        raise UsageError(
            "login= is not a login", hint='write login={"url": "https://example.org/login", "form": {"NAME": "VALUE"}}'
        ) from None
    if bool(asked.form) == (asked.json is not None):
        raise UsageError("login= has neither form nor json, or both", hint="give one of them")
    return replace(asked, url=seeds_from([asked.url])[0])


def _by_origin(
    name: str, given: Any, origins: list[str], make: Callable[[Any], HeaderFields]
) -> dict[str, HeaderFields]:
    if name == "auth":
        is_by_site = isinstance(given, Mapping)
    else:
        is_by_site = isinstance(given, Mapping) and any(isinstance(value, Mapping) for value in given.values())
        if not isinstance(given, Mapping):
            raise UsageError(f"{name}= must be a dict", hint=f'write {name}={{"NAME": "VALUE"}}')
    if is_by_site:
        return {origin_of(*seeds_from([site])): make(value) for site, value in given.items()}
    return dict.fromkeys(origins, make(given))


def _login(given: Any) -> HeaderFields:
    if not (isinstance(given, tuple | list) and len(given) == 2 and all(isinstance(part, str) for part in given)):
        raise UsageError("auth= must be a user name and a password", hint='write auth=("user", "password")')
    return basic_auth(*given)
