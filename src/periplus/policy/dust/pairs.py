"""Which rules would rename a URL, and what they would make of it; and which rule leads from one URL to another.

`operations` needs the URL alone. A prefix or a segment that says nothing cannot be seen in a URL: those rules are found
when two pages of a site turn out to be the same (`operation_between`), and are passed in again as `known`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import lru_cache
from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from .rules import Rule, apply, name_of, parameters, split_path, with_query

MAX_PARAMETERS: Final = 8
"""Parameters of a URL for which rules are considered: more would make the lookup of a page costly."""
INDEX_NAMES: Final = frozenset(
    f"{stem}.{extension}" for stem in ("index", "default") for extension in ("html", "htm", "php", "asp", "aspx", "jsp")
)
"""Names under which servers show a directory."""
PREFIXES: Final = ("/print", "/printable", "/amp", "/mobile", "/m")
"""Prefixes under which sites commonly show their pages a second time."""
_LONGEST_SEGMENT: Final = 20
_LOWER: Final = Rule("lower-case")
_SECURE: Final = Rule("scheme", "http", "https")
_NO_SLASH: Final = Rule("drop-suffix", "/")


class Operation(Struct, frozen=True, gc=False):
    """A rule that would rename a URL, for the narrowest context first, and the URL that it makes, the base."""

    rules: tuple[Rule, ...]
    base: str


@lru_cache(maxsize=4096)
def key_of(rule: Rule) -> int:
    """The 64-bit key of a rule in stored data. Remembered, because most pages raise the same few questions."""
    return xxh3_64_intdigest("\n".join((rule.kind, rule.path, rule.name, rule.value)).encode())


def url_key(url: str) -> int:
    """The 64-bit key of a URL in stored data."""
    return xxh3_64_intdigest(url.encode())


def operations(
    url: str,
    template: str,
    known: Iterable[Rule] = (),
    split_names: Container[str] = (),
    *,
    has_secure: bool = True,
) -> list[Operation]:
    """The rules that would rename a URL. `template`: of its path.

    `known`: rules that a URL alone does not show. `split_names`: parameters that matter with some values. `has_secure`:
    whether pages of the site were read by https, so that the scheme can be compared.
    """
    found = [*_of_query(url, template, split_names)] if "?" in url else []
    found += _of_path(url, has_secure)
    for rule in known:
        base = apply(rule, url, template)
        if base is not None:
            found.append(Operation((rule,), base))
    return found


def _of_query(url: str, template: str, split_names: Container[str]) -> Iterable[Operation]:
    given = parameters(url.partition("?")[2])[:MAX_PARAMETERS]
    for name in dict.fromkeys(name_of(each) for each in given):
        if name:
            base = with_query(url, [each for each in parameters(url.partition("?")[2]) if name_of(each) != name])
            yield Operation((Rule("drop-param", name, path=template), Rule("drop-param", name)), base)
    for name, equals, value in (each.partition("=") for each in given):
        if equals and name in split_names:
            rule = Rule("drop-param-value", name, value)
            yield Operation((rule,), apply(rule, url) or url)
    if len(given) > 1:
        rules = Rule("sort-query", path=template), Rule("sort-query")
        yield Operation(rules, apply(rules[1], url) or url)


def _of_path(url: str, has_secure: bool) -> list[Operation]:
    origin, path, query = split_path(url)
    found: list[Operation] = []
    if path.startswith(PREFIXES):
        found += [
            Operation((Rule("drop-prefix", prefix),), origin + path[len(prefix) :] + query)
            for prefix in PREFIXES
            if path.startswith(prefix + "/")
        ]
    name = path.rpartition("/")[2]
    if name in INDEX_NAMES:
        found.append(Operation((Rule("drop-suffix", name),), origin + path[: -len(name)] + query))
    elif not name and len(path) > 1:
        found.append(Operation((_NO_SLASH,), origin + path[:-1] + query))
    lower = apply(_LOWER, url) if path != path.lower() else None
    if lower is not None:
        found.append(Operation((_LOWER,), lower))
    if has_secure and origin.startswith("http://"):
        found.append(Operation((_SECURE,), "https" + origin[4:] + path + query))
    host = origin[origin.find("://") + 3 :]
    if host.startswith("www."):
        found.append(Operation((Rule("host", host, host[4:]),), origin.replace("www.", "", 1) + path + query))
    return found


def operation_between(one: str, other: str) -> tuple[str, Operation] | None:
    """The rule for a prefix or a segment by which two URLs of a site differ: the longer URL, and the operation.

    `None` if they differ in anything else. Towards the shorter URL; of equals towards the first in the alphabet.
    """
    (origin, path, query), (other_origin, other_path, other_query) = split_path(one), split_path(other)
    if origin != other_origin or query != other_query or path == other_path:
        return None
    variant, base = (one, other) if (len(path), path) > (len(other_path), other_path) else (other, one)
    segments, base_segments = split_path(variant)[1].split("/")[1:], split_path(base)[1].split("/")[1:]
    if len(segments) == len(base_segments) + 1 and segments[1:] == base_segments and _is_word(segments[0]):
        return variant, Operation((Rule("drop-prefix", "/" + segments[0]),), base)
    if len(segments) != len(base_segments):
        return None
    differing = [pair for pair in zip(segments, base_segments, strict=True) if pair[0] != pair[1]]
    if len(differing) != 1 or segments[-1] != base_segments[-1] or not all(map(_is_word, differing[0])):
        return None
    rule = Rule("replace-segment", *differing[0])
    return (variant, Operation((rule,), base)) if apply(rule, variant) == base else None


def _is_word(segment: str) -> bool:
    """Whether a segment can be the name of a version of a site: not a number, and not a title."""
    return 0 < len(segment) <= _LONGEST_SEGMENT and segment.replace("-", "").replace("_", "").isalpha()
