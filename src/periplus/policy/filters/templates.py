"""What URLs of one kind have in common: a site's program wrote them all from one template.

`template_of` folds what varies in a path: numbers and dates (`/2026/01/` is `/#/#/`), a number behind a word
(`/list-12/` is `/list-#/`), identifiers and long slugs (`/a/how-to-sail-round-the-world` is `/a/*`); extensions stay,
and so do the names of parameters, each once and in order, without values. A template is a string to people and 64 bits
to the memory.

The idea is that of rules for duplicate URLs (Bar-Yossef, Keidar & Schonfeld, "Do not crawl in the DUST", 2007), at the
price of a few cuts instead of a log to learn from.
"""

from __future__ import annotations

import re
from functools import lru_cache

from xxhash import xxh3_64_intdigest

from ...model import Url

MAX_PARAMETERS = 16
"""Parameters of a query that are looked at."""

_NUMBERED = re.compile(r"([A-Za-z]{0,16}[-_]?)\d+", re.ASCII)
_FIGURE = re.compile(r"\d", re.ASCII)
_SLUG_JOINTS = 3
_LONGEST_WORD = 40
_LONGEST_EXTENSION = 5


@lru_cache(maxsize=8192)
def template_of(url: Url) -> str:
    """The template of a URL: its path and the names of its parameters, with what varies folded.

    Remembered, because pages of a site link to the same URLs: about 3 MB.
    """
    path, names = _cut(url)
    return _folded_path(path) + names


def path_template_of(url: Url) -> str:
    """The template of a URL without its parameters."""
    return _folded_path(url[url.index("/", 8) :].partition("?")[0])


def directory_of(template: str) -> str:
    """The template of the directory that holds pages of this template; empty if no part of that is folded."""
    directory = template.partition("?")[0].rpartition("/")[0] + "/"
    return directory if "#" in directory or "*" in directory else ""


def parameters_of(url: Url) -> list[tuple[str, str]]:
    """Names and values of the query as they are spelt, at most `MAX_PARAMETERS`."""
    query = url.partition("?")[2]
    if not query:
        return []
    return [parameter.partition("=")[::2] for parameter in query.split("&", MAX_PARAMETERS)[:MAX_PARAMETERS]]


def key_of(text: str) -> int:
    """The 64-bit hash of a text in stored data."""
    return xxh3_64_intdigest(text.encode())


def _cut(url: Url) -> tuple[str, str]:
    """The path, and the names of the parameters behind a question mark."""
    if "?" not in url:
        return url[url.index("/", 8) :], ""
    path = url[url.index("/", 8) :].partition("?")[0]
    names = sorted({name for name, _ in parameters_of(url)})
    return path, "?" + "&".join(names) if names else ""


def _folded_path(path: str) -> str:
    directory, slash, name = path.rpartition("/")
    return _folded_directory(directory) + slash + _folded(name)


@lru_cache(maxsize=4096)
def _folded_directory(path: str) -> str:
    """Remembered, because the URLs of a site share few directories."""
    return "/".join([_folded(segment) for segment in path.split("/")])


def _extension(segment: str) -> str:
    extension = segment.rpartition(".")[2] if "." in segment else ""
    return "." + extension if extension.isalpha() and len(extension) <= _LONGEST_EXTENSION else ""


def _folded(segment: str) -> str:
    if segment.isalpha() and len(segment) <= _LONGEST_WORD:
        return segment
    extension = _extension(segment)
    stem = segment[: len(segment) - len(extension)]
    if numbered := _NUMBERED.fullmatch(stem):
        return numbered[1] + "#" + extension
    joints = stem.count("-") + stem.count("_") + stem.count("+") + stem.count("%20")
    if joints >= _SLUG_JOINTS or len(stem) > _LONGEST_WORD or _FIGURE.search(stem):
        return "*" + extension
    return segment
