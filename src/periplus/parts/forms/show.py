"""What is known of the forms of a collection, and which queries come next.

The values here are what `periplus forms --json` prints.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from periplus.model import FormRow, Site, Url
from periplus.store import State
from periplus.view.wording import count, counted

from .life import reopened
from .submitting import REASONS

NEXT: Final = 10
"""Queries that are shown ahead."""
_ORDER: Final = ("open", "ended", "checking", "found", "refused")
"""Statuses in the order in which forms are listed."""
_WAITS: Final = {"found": "not submitted", "checking": "its page is loaded a second time", "open": "being submitted"}


class OpenWork(Struct, frozen=True):
    """Work that is left at the end of a crawl: what it is in words, and the command that shows it.

    In `command`, `{folder}` stands for the collection.
    """

    what: str
    command: str


def open_forms(states: Iterable[State]) -> tuple[OpenWork, ...]:
    """Forms that are submitted, rest now, and have queries left."""
    rows = (row for state in states for row in state.forms if row.status == "open")
    left = sum(bool(reopened(row).prober.preview(1)) for row in rows)
    if not left:
        return ()
    are = "is" if left == 1 else "are"
    return (OpenWork(f"{counted(left, 'form')} {are} open, with queries left", "forms {folder}   (shows them)"),)


class NextQuery(Struct, frozen=True):
    """A query that would be made next: the fields with their values, and the URL."""

    values: str
    url: Url


class FormFacts(Struct, frozen=True):
    """A form. `status` is found, checking, open, ended or refused, `reason` why it was refused or has ended.

    `queries` counts submissions, `requests` all pages of results, `records` the URLs found in these, and `new_records`
    those of them that were not known from a link or a sitemap before. `estimate` is about how many records there are,
    between `low` and `high` (95 %). `templates` has the results of each combination of fields; `next` are the queries
    that come next.
    """

    site: Site
    page: Url
    action: Url
    method: str
    kind: str
    fields: tuple[str, ...]
    status: str
    reason: str
    queries: int = 0
    requests: int = 0
    records: int = 0
    new_records: int = 0
    estimate: float = 0.0
    low: float = 0.0
    high: float = 0.0
    templates: tuple[str, ...] = ()
    rests_until: float = 0.0
    next: tuple[NextQuery, ...] = ()

    @property
    def requests_per_record(self) -> float | None:
        """Requests for each new record, that for the record included; `None` without any."""
        return (self.requests + self.new_records) / self.new_records if self.new_records else None


def form_facts(states: Iterable[State], site: str | None = None) -> list[FormFacts]:
    """The forms of a collection or of a site, those that are or were submitted first."""
    rows = (row for state in states for row in state.forms)
    found = [_facts(row) for row in rows if site in (None, row.site, row.site.partition(":")[0])]
    return sorted(found, key=lambda each: (_ORDER.index(each.status), -each.records, each.site, each.action))


def _facts(row: FormRow) -> FormFacts:
    prober = reopened(row).prober
    state = prober.state
    low, high = prober.bounds
    is_over = row.status in ("refused", "ended")
    return FormFacts(
        site=row.site,
        page=row.page,
        action=row.form.action,
        method=row.form.method,
        kind=row.kind,
        fields=tuple(_field(row, position) for position in range(len(row.form.fields))),
        status=row.status,
        reason=row.reason,
        queries=state.submitted,
        requests=state.requests,
        records=len(state.records),
        new_records=len(state.records) - row.known,
        estimate=prober.size,
        low=low,
        high=high,
        templates=prober.templates,
        rests_until=row.due_at if row.refusals and not is_over else 0.0,
        next=() if is_over else tuple(NextQuery(*each) for each in prober.preview(NEXT)),
    )


def _field(row: FormRow, position: int) -> str:
    field = row.form.fields[position]
    text = f"{field.type}, {len(field.options)} options" if field.options else field.type
    return f"{field.name} ({text})"


def form_lines(facts: FormFacts) -> list[tuple[str, str]]:
    """A form in words: what it is, how it did, and what comes next."""
    lines = [("form", f"{facts.kind}, {facts.method} {facts.action}"), ("on", facts.page)]
    lines.append(("fields", ", ".join(facts.fields) or "none"))
    why = REASONS.get(facts.reason, facts.reason)
    state = f"{facts.status}: {facts.reason}: {why}" if facts.reason else f"{facts.status}: {_WAITS[facts.status]}"
    lines.append(("state", state))
    if facts.queries:
        queries, pages = counted(facts.queries, "query", "queries"), counted(facts.requests, "page")
        lines.append(("brought", f"{queries}, {pages} of results: {_yield_text(facts)}"))
        bounds = f"{count(round(facts.low))} to {count(round(facts.high))}"
        lines.append(("size", f"about {count(round(facts.estimate))} records ({bounds})"))
    lines += [("by", each) for each in facts.templates]
    lines += [("next" if not place else "", f"{each.values}  {each.url}") for place, each in enumerate(facts.next)]
    return lines


def _yield_text(facts: FormFacts) -> str:
    text = f"{counted(facts.records, 'record')}, {count(facts.new_records)} of them found by the form alone"
    cost = facts.requests_per_record
    return text if cost is None else f"{text}; {cost:.2f} requests for each of these"
