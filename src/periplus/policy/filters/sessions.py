"""Removes session identifiers: the same page under a URL that was not seen before.

Rewrites; the rule is what was taken out: the names of parameters, or `asp.net`.

Where cookies are refused, programs write the session into every link, so that each visit finds a whole new site. These
are different URLs with the same text (DUST: Bar-Yossef, Keidar & Schonfeld 2007), and taking the identifier out is
better than refusing the URL. Only well-known names are touched, and an ambiguous one such as `sid` only where its
value looks made up: 16 or more letters and figures, at least one of them a figure.

    /a;jsessionid=0A1B?x=1            /a?x=1
    /a?x=1&sid=9f86d081884c7d65       /a?x=1
    /(S(lit3py55t21z5v55vlm25s55))/a  /a

Some servers answer the short name with a redirect to one with a session. Such a redirect is followed as it is: under
the short name there is nothing else to be had.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from periplus.model import ConfigError, Discovery, Rewrite, Source, Url, Verdict
from periplus.urls import canonical

from .reasons import ACCEPT

_NAME = re.compile(r"[A-Za-z0-9_.\[\]-]{1,64}\*?", re.ASCII)
_MADE_UP = re.compile(r"(?=[^0-9]*[0-9])[0-9A-Za-z_.,!-]{16,256}", re.ASCII)
_ASP_NET = re.compile(r"/\((?:[0-9a-z]{24}|(?:[A-Z]\([0-9A-Za-z_-]{16,128}\)){1,8})\)(?=/)", re.ASCII)
_MATRIX = re.compile(r";([^=;/]+)=([^;/]*)")
_PARAMETER = re.compile(r"([^=]+)=(.*)", re.DOTALL)
_LONGEST_RULE = 200


class SessionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters that do not identify a page. A `*` at the end of a name matches any ending."""

    session_parameters: tuple[str, ...] = ("sid", "sessid", "sessionid", "session_id", "oscsid", "zenid")
    """Removed if the value looks generated."""
    idle_parameters: tuple[str, ...] = (
        "jsessionid", "phpsessid", "aspsessionid*", "cfid", "cftoken",
        "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "utm_id",
        "gclid", "dclid", "fbclid", "msclkid",
    )  # fmt: skip
    """Removed whatever the value."""


class Sessions:
    """Rewrites a URL with a session identifier to the URL without it."""

    def __init__(self, settings: SessionSettings | None = None) -> None:
        settings = settings or SessionSettings()
        self._session = _any_of(settings.session_parameters)
        self._idle = _any_of(settings.idle_parameters)
        names = _alternatives(settings.session_parameters + settings.idle_parameters)
        self._suspect = re.compile(rf"[?&;](?i:{names})=" if names else r"(?!)", re.ASCII)

    def unclear(self, urls: Sequence[Url]) -> list[int]:
        """The positions of URLs with parameters or brackets."""
        return [place for place, url in enumerate(urls) if "?" in url or ";" in url or "/(" in url]

    def judge(self, discovery: Discovery) -> Verdict:
        """One check for a URL without such a name, which is nearly every URL."""
        url = discovery.url
        has_parameters = "?" in url or ";" in url
        if not (has_parameters and self._suspect.search(url, 8)) and "/(" not in url:
            return ACCEPT
        name, rule = self._without(url)
        short = canonical(name) if rule else None
        if short is None or (discovery.source is Source.REDIRECT and discovery.referrer == short):
            return ACCEPT
        return Rewrite(short, rule)

    def _without(self, url: Url) -> tuple[str, str]:
        """The URL without the removed parts, and their names, for display."""
        dropped: list[str] = []

        def drop(match: re.Match[str]) -> str:
            if not self._is_dropped(match[1], match[2]):
                return match[0]
            dropped.append(match[1].lower())
            return ""

        path, _, query = url.partition("?")
        start = path.index("/", 8)
        short, count = _ASP_NET.subn("", path[start:])
        short = _MATRIX.sub(drop, short)
        kept = [each for each in query.split("&") if not _PARAMETER.fullmatch(each) or _PARAMETER.sub(drop, each)]
        rule = ", ".join(["asp.net"] * bool(count) + dropped)[:_LONGEST_RULE]
        return path[:start] + short + "?" * bool(kept) + "&".join(kept), rule

    def _is_dropped(self, name: str, value: str) -> bool:
        if self._idle.fullmatch(name):
            return True
        return bool(self._session.fullmatch(name) and _MADE_UP.fullmatch(value))


def _any_of(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(_alternatives(names) or r"(?!)", re.IGNORECASE | re.ASCII)


def _alternatives(names: tuple[str, ...]) -> str:
    for name in names:
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"not a parameter name: {name[:80]!r}",
                hint="use letters, digits and _ . -, and a * at the end if you like",
            )
    return "|".join(re.escape(name.rstrip("*")) + ("[^=&;/]*" if name.endswith("*") else "") for name in names)
