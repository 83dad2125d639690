"""A list of domains, as people keep them: one a line, perhaps with its rank before it, comments, and mistakes.

    # the most popular
    example.org
    2,example.net            a rank, as lists of popular domains have it
    https://example.com/     a URL stands for its site

A bare name is asked over http, which nearly every site answers, if only with where it is. Each site counts once, with
the place at which it first stands. A line without one is reported with its number and left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from msgspec import Struct

from periplus.assembly.seeds import MAX_SEEDS
from periplus.model import Url, UsageError
from periplus.urls import canonical, site_of

MOST_BAD = 10
"""Lines that are reported one by one; more are counted."""
_LONGEST_LINE = 4096
_RANK = re.compile(r"\d+\s*[,;\t]\s*")


class BadLine(Struct, frozen=True):
    """A line that names no domain."""

    number: int
    text: str


class DomainList(Struct, frozen=True):
    """The front pages of the sites of a list, in its order. `bad` are the first of `bad_lines` lines in all."""

    urls: tuple[Url, ...] = ()
    bad: tuple[BadLine, ...] = ()
    bad_lines: int = 0


def read_domains(file: str) -> DomainList:
    """The list in a file; `-` is standard input."""
    with _opened(file) as lines:
        return listed(_lines(lines))


def listed(lines: Iterable[str]) -> DomainList:
    """The domains in some lines."""
    urls: dict[str, Url] = {}
    bad: list[BadLine] = []
    bad_lines = 0
    for number, line in enumerate(lines, 1):
        text = _RANK.sub("", line.partition("#")[0].strip(), count=1)
        if not text:
            continue
        url = _front_page(text)
        if url is None:
            bad_lines += 1
            if len(bad) < MOST_BAD:
                bad.append(BadLine(number, line.strip()))
        elif len(urls) >= MAX_SEEDS:
            raise UsageError(f"more than {MAX_SEEDS:,} domains", hint="survey them in parts")
        else:
            urls.setdefault(site_of(url), url)
    return DomainList(tuple(urls.values()), tuple(bad), bad_lines)


def _front_page(text: str) -> Url | None:
    """The front page of the site that a line names; a number is none, though browsers take it for an address."""
    if text.isdigit() or len(text) >= _LONGEST_LINE:
        return None
    url = canonical(text if "://" in text else f"http://{text}")
    if url is None:
        return None
    scheme = url.partition("://")[0]
    return canonical(f"{scheme}://{site_of(url)}/")


@contextmanager
def _opened(file: str) -> Iterator[TextIO]:
    if file == "-":
        yield sys.stdin
        return
    try:
        opened = Path(file).open(encoding="utf-8-sig", errors="replace")  # noqa: SIM115 - closed below
    except OSError as error:
        raise UsageError(
            f"{file}: {error.strerror}", hint="give a file of domains, one a line; - reads stdin"
        ) from error
    with opened:
        yield opened


def _lines(file: TextIO) -> Iterator[str]:
    """Lines; of one that is too long to be any, its beginning."""
    while line := file.readline(_LONGEST_LINE):
        rest = line
        while not rest.endswith("\n") and len(rest) >= _LONGEST_LINE:
            rest = file.readline(_LONGEST_LINE)
        yield line
