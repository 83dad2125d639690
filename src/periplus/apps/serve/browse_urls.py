"""The page about one URL: why it was or was not fetched, where it was found, its visits, readings, header and links."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, Final

from starlette.exceptions import HTTPException

from periplus.collection.facts.lines import found_words, reason_words, rule_words, url_lines
from periplus.collection.facts.lookup import UrlFacts, url_facts
from periplus.insight.reasons import explained
from periplus.insight.views import QUESTIONS
from periplus.model import PeriplusError, Stored, UrlRecord, UsageError
from periplus.store.warc import read_record
from periplus.view.values import Column
from periplus.view.wording import when

from .browse_asked import Asked
from .browse_cells import BrowsePage, Table, TableQuery, quoted
from .browse_state import read_state
from .browse_tables import TableProblem, tables_of

_MAX_HEADERS: Final = 200
"""Header fields of an answer that are shown."""
_LONGEST_FIELD: Final = 2000
"""Characters of a header field that are shown."""


def url_page(asked: Asked) -> BrowsePage:
    """Everything that is known of a URL."""
    text = asked.parameter("url")
    if not text:
        return BrowsePage(
            name="url",
            title="A URL",
            about="Type a URL to see why it was or was not fetched, where it was found, and when it is visited again.",
            form="url",
        )
    try:
        facts = read_state(url_facts, asked.found, text)
    except UsageError as error:
        raise HTTPException(404, f"{error}: {error.hint}.") from error
    return BrowsePage(
        name="url",
        title=str(facts.url),
        why=tuple(why_of(facts)),
        lines=[line for line in url_lines(facts, str(asked.collection.folder)) if line[1]],
        tables=(*_of_tables(str(facts.url)), _headers(asked, str(facts.url))),
        facts=facts,
        form="url",
        subject=str(facts.url),
    )


def why_of(facts: UrlFacts) -> list[str]:
    """Why a URL was fetched, is waiting, or is not fetched, in sentences; the decisive one first."""
    record = facts.record
    found = [_decision(facts, record)]
    if record is not None and record.first_seen:
        first = min(record.first_seen, key=lambda seen: seen.at)
        found.append(f"It was found by a {first.source.value} at {when(first.at)}.")
    if record is not None and record.visits and (facts.filtered or facts.robots):
        found.append(f"It would not be fetched again: {reason_words(facts.filtered or facts.robots)}.")
    if facts.copies is not None and facts.copies.is_copy:
        found.append(f"Its text is a copy of {facts.copies.canonical}.")
    return found


def _decision(facts: UrlFacts, record: UrlRecord | None) -> str:
    if record is None:
        return _unknown(facts)
    if record.visits:
        status = f", last with status {record.status}" if record.status is not None else ""
        failed = f", and the last visit failed: {reason_words(record.reason)}" if record.reason else ""
        return f"It was fetched {'once' if record.visits == 1 else f'{record.visits:,} times'}{status}{failed}."
    if record.reason:
        return f"It was not fetched: {reason_words(record.reason)}."
    refused = facts.filtered or facts.robots
    if refused:
        return f"It is not fetched: {reason_words(refused)}."
    if facts.site is not None and facts.site.retired:
        return f"It is not fetched because its site was given up: {reason_words(facts.site.retired)}."
    return "It was not fetched yet: it is queued and waits for its site's turn."


def _unknown(facts: UrlFacts) -> str:
    if facts.known_as is not None:
        return f"It is not known by this name: the filters rewrite it to {facts.known_as}."
    if facts.refused:
        return f"It was not fetched: {found_words(facts.refused)}, it was refused: {rule_words(facts.refused)}."
    if facts.filtered:
        rule = f" (rule {facts.filter_rule})" if facts.filter_rule else ""
        return f"It was not fetched: the filters refuse it{rule}: {explained(facts.filtered) or facts.filtered}."
    if facts.robots:
        return f"It was not fetched: {explained(facts.robots) or facts.robots}."
    return "It was not fetched: no page, sitemap or feed that was read names it."


def _of_tables(url: str) -> Iterator[TableQuery]:
    """The tables, without that of a part which is not there."""
    return (each for each in tables_of("url", url=quoted(url)) if each.name != "permitted" or "permitted" in QUESTIONS)


_STORED: Final = """\
select warc_file, warc_offset, warc_length, digest, is_revisit from fetches
where url = {url} and warc_file is not null
order by started_at desc"""


def _headers(asked: Asked, url: str) -> Table:
    """The header of the last answer, from the archive."""
    sql = _STORED.format(url=quoted(url))
    problem, rows = "", []
    try:
        found = asked.reader.read(sql, 0, 1).rows
        rows = _fields(asked, found[0]) if found else []
    except TableProblem as error:
        problem = f"{error} {error.hint}"
    except PeriplusError as error:
        problem = f"The archive cannot be read: {error}"
    return Table(
        name="headers",
        title="Header of the last answer",
        columns=(Column("name", "field"), Column("value", "value")),
        rows=rows,
        command=f"periplus query {asked.folder} {shlex.quote(sql)}",
        per_page=_MAX_HEADERS,
        problem=problem,
        empty="No answer is stored.",
    )


def _fields(asked: Asked, row: dict[str, Any]) -> list[dict[str, Any]]:
    stored = Stored(
        row["warc_file"], row["warc_offset"], row["warc_length"], row["digest"] or "", bool(row["is_revisit"])
    )
    message = read_record(asked.found.layout.warc, stored).message()
    fields = [("", message.first_line), *message.fields][:_MAX_HEADERS]
    return [{"name": name[:_LONGEST_FIELD], "value": value[:_LONGEST_FIELD]} for name, value in fields]
