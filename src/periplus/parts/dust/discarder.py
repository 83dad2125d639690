"""The rules of duplicate-url-discarder, as rules of ours.

That library renames URLs by rules which people wrote, by host and path. A rule has a pattern of URLs (`include` and
`exclude`; the language of url-matcher) and a processor with arguments:

    queryRemoval a b         drop-param a, drop-param b
    queryRemovalExcept a b   drop-param *, value "a&b"
    subpathRemoval 0 2       replace-segment #2 -> "", replace-segment #0 -> ""
    normalizer               host www#., drop-suffix / with the value *

A URL is renamed by all rules whose patterns match it, and by those without a host only if no other does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qs, urlparse

from msgspec import Struct

from periplus.policy.filters.patterns import wildcards
from periplus.urls import domain_of

from .rules import DustRule, apply

_HAS_SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9.+-]*:)?//")
_PORTS: Final = {"80": "http", "443": "https"}
_DEFAULT_PRIORITY: Final = 500


class _Parts(Struct, frozen=True):
    """A URL or a pattern, taken apart; the default port of a scheme is left out."""

    scheme: str
    host: str
    path: str
    query: str
    fragment: str


class _Pattern:
    """One pattern of URLs: a host with its subdomains, or a host with a path, parameters and a fragment."""

    def __init__(self, text: str) -> None:
        has_scheme = _HAS_SCHEME.match(text) and not text.startswith("//")
        parts = self.parts = _parts(text if has_scheme else f"//{text}")
        host = re.escape(parts.host)
        if not (parts.path or parts.query or parts.fragment):
            host = rf"(?:.*\.)?{host}"
        self._host = re.compile(rf"(?:www\.)?{host}", re.IGNORECASE) if parts.host else None
        self._path = _beginning(parts.path)
        self._fragment = _beginning(parts.fragment)
        self._query = {
            name.lower().replace("*", ""): [wildcards(value.lower()) for value in values]
            for name, values in parse_qs(parts.query, keep_blank_values=True).items()
        }
        self._query.pop("", None)

    def matches(self, url: _Parts) -> bool:
        """Whether the pattern matches a URL."""
        if self.parts.scheme and self.parts.scheme != url.scheme:
            return False
        if self._host is not None and not self._host.fullmatch(url.host):
            return False
        if not self._path(url.path.lower()) or not self._fragment(url.fragment.lower()):
            return False
        return not self._query or self._has_parameters(url)

    def _has_parameters(self, url: _Parts) -> bool:
        given: dict[str, list[str]] = {}
        for name, values in parse_qs(url.query, keep_blank_values=True).items():
            given[name.lower()] = [value.lower() for value in values]
        return all(
            any(matches(value) for matches in wanted for value in given.get(name, ()))
            for name, wanted in self._query.items()
        )

    @property
    def place(self) -> str:
        """Sorts patterns from general to special: the labels of the host from the right, then the rest."""
        parts = self.parts
        host = parts.host.rpartition(":")[0] if ":" in parts.host else parts.host
        is_address = host.replace(".", "").isdecimal()
        return (host if is_address else ".".join(reversed(host.split(".")))) + parts.path + parts.query + parts.fragment


class DiscarderRule(Struct, frozen=True):
    """One rule of that library: the URLs it applies to, and our rules for what it does. `order` is as in its file."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]
    rules: tuple[DustRule, ...]
    priority: int = _DEFAULT_PRIORITY
    order: int = 0


class DiscarderRules:
    """Renames URLs as duplicate-url-discarder does with the same rules."""

    def __init__(self, rules: Sequence[DiscarderRule]) -> None:
        self.rules = tuple(rules)
        self._by_host: dict[str, list[int]] = {}
        self._universal: list[int] = []
        self._included = [[_Pattern(text) for text in rule.include] for rule in rules]
        self._excluded = [[_Pattern(text) for text in rule.exclude] for rule in rules]
        for number, (rule, patterns) in enumerate(zip(rules, self._included, strict=True)):
            if not any(rule.include):
                self._universal.append(number)
            for host in dict.fromkeys(_host_key(each.parts.host) for each in patterns):
                if host:
                    self._by_host.setdefault(host, []).append(number)
        self._universal.sort(key=lambda number: (rules[number].priority, number), reverse=True)

    def __len__(self) -> int:
        return len(self.rules)

    def renamed(self, url: str) -> str:
        """The URL after all rules that match it; the URL itself if none does."""
        parts = _parts(url)
        for number in self._matching(parts) or self._universal:
            for rule in self.rules[number].rules:
                url = _renamed(rule, url)
        return url

    def _matching(self, url: _Parts) -> list[int]:
        hosts = _suffixes(_host_key(url.host))
        numbers = {number for host in hosts for number in self._by_host.get(host, ())}
        found = [number for number in numbers if self._matches(number, url)]
        return sorted(found, key=lambda number: self._place(number, url.host), reverse=True)

    def _matches(self, number: int, url: _Parts) -> bool:
        included = self._included[number]
        if not any(each.matches(url) for each in included):
            return False
        return not any(each.matches(url) for each in self._excluded[number])

    def _place(self, number: int, host: str) -> tuple[int, list[str], int]:
        domain = domain_of(host) or host
        own = [each for each in self._included[number] if (domain_of(each.parts.host) or each.parts.host) == domain]
        return self.rules[number].priority, sorted(each.place for each in own), number


def from_discarder(rules: Iterable[Mapping[str, Any]]) -> DiscarderRules:
    """Rules of duplicate-url-discarder, as its JSON files hold them. Raises `ValueError` for what is none."""
    found: dict[DiscarderRule, None] = {}
    for each in rules:
        found[_read(each)] = None
    return DiscarderRules(sorted(found, key=lambda rule: rule.order))


def _read(row: Mapping[str, Any]) -> DiscarderRule:
    try:
        pattern = row["urlPattern"]
        include, exclude = tuple(pattern["include"]), tuple(pattern.get("exclude") or ())
        processor = row.get("processor") or row["policy"]
        made = _rules_of(processor, tuple(row.get("args") or ()))
        priority, order = int(pattern.get("priority", _DEFAULT_PRIORITY)), int(row["order"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a rule of duplicate-url-discarder: {str(row)[:200]}") from error
    hostless = [text for text in include if text and not _Pattern(text).parts.host]
    if hostless:
        raise ValueError(f"a pattern without a host: {hostless[0]!r}")
    return DiscarderRule(include, exclude, made, priority, order)


def _rules_of(processor: str, args: tuple[Any, ...]) -> tuple[DustRule, ...]:
    wanted = int if processor == "subpathRemoval" else str
    if not all(isinstance(each, wanted) for each in args):
        raise ValueError(f"{processor} has arguments of another type: {args!r}")
    match processor:
        case "queryRemoval":
            return tuple(DustRule("drop-param", name) for name in args) or (_NOTHING,)
        case "queryRemovalExcept":
            return (DustRule("drop-param", "*", "&".join(args)),)
        case "subpathRemoval":
            return tuple(
                DustRule("replace-segment", f"#{place}") for place in sorted({*args}, reverse=True) if place >= 0
            )
        case "normalizer" | "normalizeUrl" if not args:
            return DustRule("host", "www#."), DustRule("drop-suffix", "/", "*")
    raise ValueError(f"unknown processor {processor!r}")


_NOTHING: Final = DustRule("drop-param")
"""Drops parameters without a name: none that can be written."""


def _renamed(rule: DustRule, url: str) -> str:
    """Apply a rule to a URL that need not be canonical."""
    if rule.kind == "drop-param":
        return _without_parameters(rule, url)
    parts = urlparse(url)
    if rule.kind == "host":
        made = apply(rule, f"http://{parts.netloc}")
        host = parts.netloc if made is None else made.partition("://")[2]
        return parts._replace(netloc=host).geturl()
    made = apply(rule, f"http://host{parts.path}")
    path = parts.path if made is None else made.removeprefix("http://host")
    return parts._replace(path=path).geturl()


def _without_parameters(rule: DustRule, url: str) -> str:
    """As `drop-param`, before a fragment; empty parameters and an empty query are left out in any case."""
    name, _, fragment = url.partition("#")
    base, _, query = name.partition("?")
    kept = "&".join(each for each in query.split("&") if each)
    name = f"{base}?{kept}" if kept else base
    name = name if rule is _NOTHING else apply(rule, name) or name
    return f"{name}#{fragment}" if fragment else name


def _parts(url: str) -> _Parts:
    scheme, host, path, parameters, query, fragment = urlparse(url)
    scheme = scheme.lower()
    name, colon, port = host.rpartition(":")
    if colon and _PORTS.get(port) in (scheme, None if scheme else _PORTS.get(port)) and port in _PORTS:
        scheme, host = _PORTS[port], name
    return _Parts(scheme, host, f"{path};{parameters}" if parameters else path, query, fragment)


def _beginning(text: str) -> Callable[[str], bool]:
    """Whether a text begins as a pattern says, or is as it says if the pattern ends in `|`."""
    return wildcards(text.lower()[:-1] if text.endswith("|") else text.lower() + "*")


def _suffixes(host: str) -> list[str]:
    labels = host.split(".")
    return [".".join(labels[start:]) for start in range(len(labels))]


def _host_key(host: str) -> str:
    name = host.lower().rpartition("@")[2]
    name = name.rpartition(":")[0] if ":" in name and not name.endswith("]") else name
    return name.removeprefix("www.")
