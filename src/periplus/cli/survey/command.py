"""`periplus survey`: the Berkeley study of web site metadata for the user's own list of domains.

A survey is a crawl that fetches no pages (`sitemaps.only`): only robots.txt files, also under `www.`, and the sitemaps
they name. It is as polite as any crawl, and the same command continues it. At its end, and at any time with
`--tables-only`, the results are counted (`apps.survey`) and written to `DIR/survey`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, TextIO

from click.exceptions import Exit
from msgspec import Struct
from msgspec.structs import replace
from rich.console import Console

from periplus.apps.survey import Survey, facts_of_collection, summary_of, write_survey
from periplus.collection.collection import CollectionSetup, existing, held, planned
from periplus.collection.config.settings import Config
from periplus.collection.options import with_fixed
from periplus.collection.seeds import MAX_SEEDS
from periplus.model import Url, UsageError
from periplus.store.layout import Layout
from periplus.urls import canonical, site_of

from .. import NOTHING_FETCHED, options
from ..app import INTERRUPTED
from ..commands import Argument, Option
from ..consoles import stderr_console
from ..crawl.running import run, title_of
from ..setting_options import takes_settings, typed_settings
from .output import FILES, FOLDER, counts_of, print_bad_lines, print_survey, summary_of_survey

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
    """The domains in some lines: one a line, with a rank before it or not, and comments.

        # the most popular
        example.org
        2,example.net            a rank, as in lists of popular domains
        https://example.com/     a URL stands for its site

    A bare name gets the scheme http, which nearly every site answers, if only with a redirect. A site that is listed
    twice counts once, at its first place. A line without a domain is reported with its number and left out.
    """
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


_NEVER_AGAIN = 10 * 365 * 86_400.0
"""Seconds between two readings of a file: a survey reads each once, however long it takes."""

Domains = Annotated[
    str | None,
    Argument(metavar="DOMAINS.txt", help="A file of domains or URLs, one a line; - is standard input."),
]
TablesOnly = Annotated[
    bool, Option("--tables-only", help="Fetch nothing: count what was fetched, also while a survey runs.")
]


@takes_settings("survey")
def survey(
    out: options.Out,
    domains: Domains = None,
    *,
    config: options.SettingsFile = None,
    tables_only: TablesOnly = False,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Fetch robots.txt and sitemaps of many domains, with statistics. The same command continues a survey.

    Example: periplus survey domains.txt -o my-survey
    """
    console = stderr_console()
    if tables_only:
        _print_counted(existing(out), console, is_json=json)
        return
    found = read_domains(domains) if domains is not None else DomainList()
    print_bad_lines(found, console)
    asked = _survey_settings(out, typed_settings("survey", given))
    if not found.urls and not Layout(out).settings.is_file():
        raise UsageError("no domains to survey", hint=f"give a list: periplus survey domains.txt -o {out}")
    collection = planned(out, typed=found.urls, settings=config, options=asked)
    with held(out):
        collection.save()
        crawled = run(collection, console, title=title_of("survey", collection), view=FILES)
    summary = summary_of_survey(collection, crawled, bad_lines=found.bad_lines)
    if summary.ended == "interrupted":
        print_survey(summary, is_json=json)
        raise Exit(INTERRUPTED)
    surveyed = counted(collection, console)
    print_survey(replace(summary, survey=summary_of(surveyed)), surveyed, is_json=json)
    raise Exit(0 if has_answers(surveyed) else NOTHING_FETCHED)


def _survey_settings(out: Path, asked: dict[str, object]) -> dict[str, object]:
    """The settings that make a crawl a survey. Those given at its beginning hold when it is continued."""
    path = Layout(out).settings
    is_begun = path.is_file()
    if is_begun and not Config.load(path).value("sitemaps.only"):
        raise UsageError(
            f"{out} is a crawl of pages, not a survey",
            hint=f"name another folder, or count what was fetched: periplus survey -o {out} --tables-only",
        )
    usual: dict[str, object] = {
        "sitemaps.well_known": None if is_begun else False,
        "forest.sample_share": 0.0 if "forest.sample_least" in asked else None,
        "forest.follows_foreign": True,
        "scope.kind": "any",
        "revisit.shortest": _NEVER_AGAIN,
        "revisit.longest": _NEVER_AGAIN,
    }
    return with_fixed({**usual, **asked}, {"sitemaps.only": True, "sitemaps.follow": True}, "survey")


def counted(collection: CollectionSetup, console: Console) -> Survey:
    """Count what was found, and write it down."""
    with console.status("counting what was found") if console.is_terminal else nullcontext():
        domains = map(site_of, collection.seeds)
        spooled = collection.layout.spooled
        surveyed = Survey().extend(facts_of_collection(collection.folder, domains, spooled=spooled))
        write_survey(surveyed, collection.folder / FOLDER)
    return surveyed


def _print_counted(collection: CollectionSetup, console: Console, *, is_json: bool) -> None:
    surveyed = counted(collection, console)
    print_survey(replace(counts_of(collection), survey=summary_of(surveyed)), surveyed, is_json=is_json)
    raise Exit(0 if has_answers(surveyed) else NOTHING_FETCHED)


def has_answers(surveyed: Survey) -> bool:
    """Whether any domain answered."""
    return any(row.status is not None for row in surveyed.domains.values())
