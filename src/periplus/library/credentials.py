"""`headers=`, `cookies=` and `auth=` as credentials of single origins, and `login=` as a session (`docs/sessions.md`).

Without a site they are for the origins of the seeds; `{"https://a.example": ...}` gives each site its own.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

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
from periplus.engine.plugins import LOGINS, load_plugin
from periplus.model import Url, UsageError

Headers = Mapping[str, str] | Mapping[str, Mapping[str, str]]
"""Header fields, or those of each site."""
Cookies = Mapping[str, str] | Mapping[str, Mapping[str, str]] | str | Path
"""Cookies, or those of each site, or the file in which a browser or curl has written them (`cookies.txt`)."""
LoginRequest = Mapping[str, Any] | Callable[[], Mapping[str, str]] | str | Path
"""The fields of `periplus.engine.fetch.Login`, a function that returns the header fields to send, or a TOML file."""
Auth = tuple[str, str] | Mapping[str, tuple[str, str]]
"""A user name and a password, or those of each site."""

_KINDS: Final = {"str": "a text", "int": "a number", "float": "a number", "object": "a table", "array": "a list"}
"""What TOML calls what `msgspec` names."""
_FILE_HINT: Final = 'write url = "https://example.org/login" and [form]; docs/sessions.md has every key'
_HINT: Final = 'write login={"url": "https://example.org/login", "form": {"NAME": "VALUE"}}'


def access_for(
    seeds: Sequence[Url],
    *,
    headers: Headers | None = None,
    cookies: Cookies | None = None,
    auth: Auth | None = None,
    login: LoginRequest | None = None,
) -> tuple[Credentials, SessionPlan]:
    """The credentials that a person gave, by origin, and the session. Errors name the keyword and never a value."""
    origins = list(dict.fromkeys(map(origin_of, seeds)))
    declared, of_sites = _declared(login)
    found = NO_CREDENTIALS
    for name, given, make in (
        ("headers", of_sites, header_fields),
        ("headers", headers, header_fields),
        ("cookies", None if isinstance(cookies, str | Path) else cookies, cookie_field),
        ("auth", auth, _login),
    ):
        if given:
            found = found.merged(Credentials(_by_origin(name, given, origins, make)))
    text = _cookie_text(cookies) if isinstance(cookies, str | Path) else ""
    if declared is None and not text:
        return found, NO_SESSION
    own = [] if declared is None or not declared.url else [origin_of(Url(declared.url))]
    return found, SessionPlan(tuple(dict.fromkeys([*origins, *own])), declared, text)


def _cookie_text(file: str | Path) -> str:
    from periplus.engine.fetch import jar_of

    try:
        text = Path(file).read_text()
    except (OSError, ValueError):
        raise UsageError("cookies: the file cannot be read", hint="give the path of a cookies.txt") from None
    jar_of(text)  # checks it
    return text


def _declared(login: LoginRequest | None) -> tuple[Login | None, Headers | None]:
    """How to log in, if at all, and the header fields of single sites."""
    if login is None:
        return None, None
    given: dict[str, Any]
    match login:
        case str() | Path():
            given = _read_file(Path(login))
        case Mapping():
            given = dict(login)
        case _:
            given = {"call": login}
    headers = given.pop("headers", None)
    if headers is not None and not (isinstance(headers, dict) and all(isinstance(v, dict) for v in headers.values())):
        raise UsageError("login: headers are not those of sites", hint='write [headers."https://api.example.org"]')
    if not given and headers:
        return None, headers
    where, hint = (f"login: {login}", _FILE_HINT) if isinstance(login, str | Path) else ("login=", _HINT)
    try:
        asked = msgspec.convert(given, Login)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise UsageError(f"{where} {_what_is_wrong(str(error))}", hint=hint) from None
    ways = [bool(asked.form), asked.json is not None, asked.call is not None]
    if sum(ways) != 1:
        raise UsageError(f"{where} has neither form nor json nor call, or several", hint="give one of them")
    if not asked.url and asked.call is None:
        raise UsageError(f"{where} has no url", hint=hint)
    if asked.logged_out_selector:
        from periplus.engine.fetch.session import is_matched

        is_matched(asked.logged_out_selector, "")  # checks it
    url = seeds_from([asked.url])[0] if asked.url else ""
    return replace(asked, url=url, call=load_plugin(LOGINS, asked.call)), headers


def _what_is_wrong(problem: str) -> str:
    """What `msgspec` found, with the key and without any value."""
    if unknown := re.search(r"unknown field `(\w+)`", problem):
        return f"has no key {unknown[1]}"
    wrong = re.search(r"Expected `(\w+).*?`, got `(\w+)`.*`\$\.(\w+)", problem)
    if wrong is None:
        return "is not a login"
    expected, given = (_KINDS.get(kind, kind) for kind in wrong.groups()[:2])
    return f"has {given} for {wrong[3]}, which must be {expected}"


def _read_file(file: Path) -> dict[str, Any]:
    """A declaration in TOML. A value `{ env = "NAME" }` is that of a variable of the environment."""
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"login: {file}: {error.strerror}", hint="give the path of a TOML file") from None
    except ValueError as error:  # its message has a place, and no line of the file
        raise UsageError(f"login: {file} is not TOML: {error}", hint="see docs/sessions.md") from None
    return {name: _from_environment(value) for name, value in given.items()}


def _from_environment(value: Any) -> Any:
    match value:
        case {"env": str(name), **rest} if not rest:
            if name not in os.environ:
                raise UsageError(f"login: the variable {name} is not set", hint=f"export {name}=...")
            return os.environ[name]
        case dict():
            return {key: _from_environment(each) for key, each in value.items()}
        case _:
            return value


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
