"""The rules that rename URLs: what each kind does to a URL, and which rules may apply to a given URL or pair of URLs.

The ten kinds, in the order in which they are tried, with their arguments:

    drop-param        name              /a?ref=x&id=1      ->  /a?id=1
    drop-param-value  name, value       /a?view=list       ->  /a
    sort-query                          /a?b=1&a=2         ->  /a?a=2&b=1
    drop-prefix       name              /print/a           ->  /a
    drop-segment      name              /s-3f9a60c1/a      ->  /a
    drop-suffix       name              /a/index.html      ->  /a/
    replace-segment   name, value       /a/en-us/b         ->  /a/en/b
    lower-case                          /About/Us          ->  /about/us
    host              name, value       http://www.a.net/  ->  http://a.net/
    scheme            name, value       http://a.net/      ->  https://a.net/

`path` limits the first three to paths of one template (`policy.filters.template_of`); empty: any path. The others hold
for the whole site. `drop-segment /s-*` drops a hexadecimal number behind that beginning of a path, with the segment
that it is in. Forms that people write and that are not learnt: `drop-param *` drops every parameter but those of
`value` (joined by `&`); `replace-segment #0` means the segment at that place, from 0; `drop-suffix /` with the value
`*` drops all slashes at the end, also that of the root; `host www#.` drops a leading `www.`, `www2.` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from functools import lru_cache
from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from periplus.policy.filters.templates import MADE_UP

KINDS: Final = (
    "drop-param",
    "drop-param-value",
    "sort-query",
    "drop-prefix",
    "drop-segment",
    "drop-suffix",
    "replace-segment",
    "lower-case",
    "host",
    "scheme",
)
"""Every kind of rule, in the order in which they are tried."""
ORDER: Final = {kind: place for place, kind in enumerate(KINDS)}
QUERY_KINDS: Final = frozenset(KINDS[:3])
"""Kinds that may be limited to one path template."""
_LANGUAGE: Final = re.compile(r"([a-z]{2})(?:[-_][a-z]{2,8})?")
_VERSIONS: Final = frozenset(
    [
        "alpha",
        "archive",
        "beta",
        "current",
        "dev",
        "devel",
        "develop",
        "development",
        "draft",
        "edge",
        "latest",
        "legacy",
        "main",
        "master",
        "new",
        "next",
        "nightly",
        "old",
        "preview",
        "previous",
        "release",
        "snapshot",
        "stable",
        "staging",
        "test",
        "testing",
        "trunk",
        "unstable",
    ]
)
"""Names of versions of a site: pages that are equal today say nothing of the others."""
_ARROWS: Final = frozenset({"replace-segment", "host", "scheme"})
_WHOLE_NAMES: Final = frozenset({"drop-prefix", "drop-segment"})
"""Kinds whose names may hold any character of a path."""
_WWW: Final = re.compile(r"\Awww[0-9]*\.")


class DustRule(Struct, frozen=True, array_like=True, gc=False):
    """One rule of a site. Which of `name` and `value` are used depends on the kind."""

    kind: str
    name: str = ""
    value: str = ""
    path: str = ""


def describe(rule: DustRule) -> str:
    """A rule as a person reads it: `drop-param ref on /p/#`."""
    words = [rule.kind, *([rule.name] if rule.name else [])]
    if rule.kind in _ARROWS:
        words += ["->", rule.value or '""']
    elif rule.value:
        words[-1] += f"={rule.value}"
    return " ".join(words) + (f" on {rule.path}" if rule.path else "")


def parse_rule(text: str) -> DustRule | None:
    """Parse a rule written by `describe`; `None` if the text is not one. URLs have no spaces, so words are distinct."""
    words, _, path = text.partition(" on ")
    kind, _, rest = words.partition(" ")
    if kind not in ORDER:
        return None
    if kind in _ARROWS:
        name, _, value = rest.partition(" -> ")
        return DustRule(kind, name, "" if value == '""' else value, path)
    name, _, value = rest.partition("=") if kind not in _WHOLE_NAMES else (rest, "", "")
    return DustRule(kind, name, value, path)


def apply(rule: DustRule, url: str, template: str = "") -> str | None:
    """The URL that a rule makes of another; `None` if it changes nothing. `template`: of the path of the URL.

    The result of renaming a canonical URL may have to be made canonical again.
    """
    if rule.path and rule.path != template:
        return None
    return _APPLY[rule.kind](rule, url)


def parameters(query: str) -> list[str]:
    """The parameters of a query as they are written."""
    return query.split("&") if query else []


def name_of(parameter: str) -> str:
    """The name of a parameter."""
    return parameter.partition("=")[0]


def with_query(url: str, kept: list[str]) -> str:
    """A URL with these parameters in place of its own; without any, without a question mark."""
    base = url.partition("?")[0]
    return f"{base}?{'&'.join(kept)}" if kept else base


def split_path(url: str) -> tuple[str, str, str]:
    """Scheme and authority, the path, and the query with its question mark."""
    start = url.find("/", url.find("://") + 3)
    place = url.find("?")
    end = len(url) if place < 0 else place
    if start < 0 or start > end:
        return url[:end], "", url[end:]
    return url[:start], url[start:end], url[end:]


def _drop_param(rule: DustRule, url: str) -> str | None:
    query = url.partition("?")[2]
    if rule.name not in query and rule.name != "*":
        return None
    given = parameters(query)
    if rule.name == "*":
        wanted = rule.value.split("&") if rule.value else []
        kept = [each for each in given if name_of(each) in wanted]
    else:
        kept = [each for each in given if name_of(each) != rule.name]
    return with_query(url, kept) if len(kept) < len(given) else None


def _drop_param_value(rule: DustRule, url: str) -> str | None:
    given = parameters(url.partition("?")[2])
    unwanted = f"{rule.name}={rule.value}"
    kept = [each for each in given if each != unwanted]
    return with_query(url, kept) if len(kept) < len(given) else None


def _sort_query(rule: DustRule, url: str) -> str | None:
    del rule
    given = parameters(url.partition("?")[2])
    if len(given) < 2:
        return None
    kept = sorted(given, key=name_of)  # stable: a repeated parameter keeps the order of its values
    return with_query(url, kept) if kept != given else None


def _drop_prefix(rule: DustRule, url: str) -> str | None:
    origin, path, query = split_path(url)
    is_below = (
        path.startswith(rule.name + "/") and len(path) > len(rule.name) + 1
    )  # itself, it may be another home page
    return origin + path[len(rule.name) :] + query if is_below else None


def _drop_segment(rule: DustRule, url: str) -> str | None:
    origin, path, query = split_path(url)
    beginning = rule.name.removesuffix("*")
    found = MADE_UP.match(path, beginning.rfind("/")) if path.startswith(beginning) else None
    if found is None or found.start(1) != len(beginning):
        return None
    return origin + path[: found.start()] + path[found.end() :] + query


def _drop_suffix(rule: DustRule, url: str) -> str | None:
    origin, path, query = split_path(url)
    if rule.name == "/" and rule.value == "*":
        return origin + path.rstrip("/") + query if path.endswith("/") else None
    if rule.name == "/":
        return origin + path[:-1] + query if len(path) > 1 and path.endswith("/") else None
    return origin + path[: -len(rule.name)] + query if path.endswith("/" + rule.name) else None


def _replace_segment(rule: DustRule, url: str) -> str | None:
    origin, path, query = split_path(url)
    segments = path.split("/")[1:]
    place = int(rule.name[1:]) if rule.name.startswith("#") else _place_of(rule.name, segments)
    if not 0 <= place < len(segments) or (rule.value and segments[place] == rule.value):
        return None
    segments[place : place + 1] = [rule.value] if rule.value else []
    return f"{origin}/{'/'.join(segments)}{query}" if segments else origin + query


def _place_of(segment: str, segments: list[str]) -> int:
    return segments.index(segment) if segment in segments else -1


def _lower_case(rule: DustRule, url: str) -> str | None:
    del rule
    origin, path, query = split_path(url)
    if "%" not in path:
        return origin + path.lower() + query if path != path.lower() else None
    lower = "%".join([part.lower() if not place else part[:2] + part[2:].lower() for place, part in _escapes(path)])
    return origin + lower + query if lower != path else None


def _escapes(path: str) -> list[tuple[int, str]]:
    """The parts between escapes; the two figures of an escape, which are upper case, stay as they are."""
    return list(enumerate(path.split("%")))


def _host(rule: DustRule, url: str) -> str | None:
    start = url.find("://") + 3
    if rule.name == "www#.":
        short = _WWW.sub("", url[start:], count=1)
        return url[:start] + short if len(short) < len(url) - start else None
    if not url.startswith(rule.name, start) or url[start + len(rule.name) : start + len(rule.name) + 1] not in "/?#":
        return None
    return url[:start] + rule.value + url[start + len(rule.name) :]


def _scheme(rule: DustRule, url: str) -> str | None:
    prefix = rule.name + "://"
    return f"{rule.value}://{url[len(prefix) :]}" if url.startswith(prefix) else None


_APPLY: Final = {
    "drop-param": _drop_param,
    "drop-param-value": _drop_param_value,
    "sort-query": _sort_query,
    "drop-prefix": _drop_prefix,
    "drop-segment": _drop_segment,
    "drop-suffix": _drop_suffix,
    "replace-segment": _replace_segment,
    "lower-case": _lower_case,
    "host": _host,
    "scheme": _scheme,
}


MAX_PARAMETERS: Final = 8
"""Parameters of a URL for which rules are considered: more would make the lookup of a page costly."""
INDEX_NAMES: Final = frozenset(
    f"{stem}.{extension}" for stem in ("index", "default") for extension in ("html", "htm", "php", "asp", "aspx", "jsp")
)
"""Names under which servers show a directory."""
PREFIXES: Final = ("/print", "/printable", "/amp", "/mobile", "/m")
"""Prefixes under which sites commonly show their pages a second time."""
_LONGEST_SEGMENT: Final = 20
_LONGEST_BEGINNING: Final = 64
"""Characters of a path before a segment that looks made up, of which rules are learnt."""
_LOWER: Final = DustRule("lower-case")
_SECURE: Final = DustRule("scheme", "http", "https")
_NO_SLASH: Final = DustRule("drop-suffix", "/")


class UrlRenaming(Struct, frozen=True, gc=False):
    """A rule that would rename a URL, for the narrowest context first, and the URL that it makes, the base.

    `variant`: where the URL in question is the base itself, another URL that the rule would rename to it.
    """

    rules: tuple[DustRule, ...]
    base: str
    variant: str = ""


@lru_cache(maxsize=4096)
def key_of(rule: DustRule) -> int:
    """The 64-bit key of a rule in stored data. Remembered, because most pages raise the same few questions."""
    return xxh3_64_intdigest("\n".join((rule.kind, rule.path, rule.name, rule.value)).encode())


def url_key(url: str) -> int:
    """The 64-bit key of a URL in stored data."""
    return xxh3_64_intdigest(url.encode())


def operations(
    url: str,
    template: str,
    known: Iterable[DustRule] = (),
    split_names: Container[str] = (),
    *,
    has_secure: bool = True,
) -> list[UrlRenaming]:
    """The rules that would rename a URL. `template`: of its path.

    `known`: rules that a URL alone does not show, because any prefix or segment may be meaningless; `operation_between`
    finds them. `split_names`: parameters that matter with some values. `has_secure`: whether pages of the site were
    read by https, so that the scheme can be compared.
    """
    found = [*_of_query(url, template, split_names)] if "?" in url else []
    found += _of_path(url, has_secure)
    for rule in known:
        base = apply(rule, url, template)
        if base is not None:
            found.append(UrlRenaming((rule,), base))
        elif (variant := _variant(rule, url)) is not None:
            found.append(UrlRenaming((rule,), url, variant))
    return found


def _variant(rule: DustRule, url: str) -> str | None:
    """The URL that a rule for a prefix or a segment would rename to this one."""
    if rule.kind == "drop-prefix":
        origin, path, query = split_path(url)
        return origin + rule.name + path + query if path != "/" else None
    if rule.kind != "replace-segment" or not rule.value:
        return None
    variant = apply(DustRule(rule.kind, rule.value, rule.name), url)
    return variant if variant is not None and apply(rule, variant) == url else None


def is_alias(rule: DustRule) -> bool:
    """Whether a rule is about a prefix or a segment of which only the pages of a site can say that it is idle."""
    return rule.kind == "replace-segment" or (rule.kind == "drop-prefix" and rule.name not in PREFIXES)


def _of_query(url: str, template: str, split_names: Container[str]) -> Iterable[UrlRenaming]:
    given = parameters(url.partition("?")[2])[:MAX_PARAMETERS]
    for name in dict.fromkeys(name_of(each) for each in given):
        if name:
            base = with_query(url, [each for each in parameters(url.partition("?")[2]) if name_of(each) != name])
            yield UrlRenaming((DustRule("drop-param", name, path=template), DustRule("drop-param", name)), base)
    for name, equals, value in (each.partition("=") for each in given):
        if equals and name in split_names:
            rule = DustRule("drop-param-value", name, value)
            yield UrlRenaming((rule,), apply(rule, url) or url)
    if len(given) > 1:
        rules = DustRule("sort-query", path=template), DustRule("sort-query")
        yield UrlRenaming(rules, apply(rules[1], url) or url)


def _of_path(url: str, has_secure: bool) -> list[UrlRenaming]:
    origin, path, query = split_path(url)
    found: list[UrlRenaming] = []
    if path.startswith(PREFIXES):
        found += [
            UrlRenaming((DustRule("drop-prefix", prefix),), origin + path[len(prefix) :] + query)
            for prefix in PREFIXES
            if path.startswith(prefix + "/") and len(path) > len(prefix) + 1
        ]
    made_up = MADE_UP.search(path)
    if made_up is not None and made_up.start(1) <= _LONGEST_BEGINNING:
        rule = DustRule("drop-segment", path[: made_up.start(1)] + "*")
        found.append(UrlRenaming((rule,), origin + path[: made_up.start()] + path[made_up.end() :] + query))
    name = path.rpartition("/")[2]
    if name in INDEX_NAMES:
        found.append(UrlRenaming((DustRule("drop-suffix", name),), origin + path[: -len(name)] + query))
    elif not name and len(path) > 1:
        found.append(UrlRenaming((_NO_SLASH,), origin + path[:-1] + query))
    lower = apply(_LOWER, url) if path != path.lower() else None
    if lower is not None:
        found.append(UrlRenaming((_LOWER,), lower))
    if has_secure and origin.startswith("http://"):
        found.append(UrlRenaming((_SECURE,), "https" + origin[4:] + path + query))
    host = origin[origin.find("://") + 3 :]
    if host.startswith("www."):
        found.append(UrlRenaming((DustRule("host", host, host[4:]),), origin.replace("www.", "", 1) + path + query))
    return found


def operation_between(one: str, other: str) -> tuple[str, UrlRenaming] | None:
    """The rule for a prefix or a segment by which two URLs of a site differ: the longer URL, and the operation.

    `None` if they differ in anything else. Towards the shorter URL; of equals towards the first in the alphabet.
    """
    (origin, path, query), (other_origin, other_path, other_query) = split_path(one), split_path(other)
    if origin != other_origin or query != other_query or path == other_path:
        return None
    variant, base = (one, other) if (len(path), path) > (len(other_path), other_path) else (other, one)
    segments, base_segments = split_path(variant)[1].split("/")[1:], split_path(base)[1].split("/")[1:]
    if len(segments) == len(base_segments) + 1 and segments[1:] == base_segments != [""] and _is_idle(segments[0]):
        return variant, UrlRenaming((DustRule("drop-prefix", "/" + segments[0]),), base)
    if len(segments) != len(base_segments):
        return None
    differing = [pair for pair in zip(segments, base_segments, strict=True) if pair[0] != pair[1]]
    if len(differing) != 1 or segments[-1] != base_segments[-1] or not all(map(_is_word, differing[0])):
        return None
    if _are_languages(*differing[0]) or not _VERSIONS.isdisjoint(differing[0]):
        return None
    rule = DustRule("replace-segment", *differing[0])
    return (variant, UrlRenaming((rule,), base)) if apply(rule, variant) == base else None


def with_prefixes(url: str, known: Iterable[DustRule]) -> list[tuple[str, UrlRenaming]]:
    """URLs with a prefix before the path of this one that rules replace, each with the operation that would drop it."""
    origin, path, query = split_path(url)
    segments = [name for rule in known if rule.kind == "replace-segment" for name in (rule.name, rule.value)]
    names = [f"/{name}" for name in dict.fromkeys(segments) if path != "/" and _is_idle(name)]
    return [(origin + name + path + query, UrlRenaming((DustRule("drop-prefix", name),), url)) for name in names]


def _is_idle(segment: str) -> bool:
    """Whether a first segment may be idle: a word, but the name neither of a language nor of a version."""
    return _is_word(segment) and segment not in _VERSIONS and _LANGUAGE.fullmatch(segment.lower()) is None


def _are_languages(one: str, other: str) -> bool:
    """Whether two segments look like codes of different languages (or countries), as `en` and `pt-br`.

    Pages that are not translated yet are equal, and say nothing of those that are, or will be.
    """
    tags = [_LANGUAGE.fullmatch(segment.lower()) for segment in (one, other)]
    return tags[0] is not None and tags[1] is not None and tags[0][1] != tags[1][1]


def _is_word(segment: str) -> bool:
    """Whether a segment can be the name of a version of a site: not a number, and not a title."""
    return 0 < len(segment) <= _LONGEST_SEGMENT and segment.replace("-", "").replace("_", "").isalpha()
