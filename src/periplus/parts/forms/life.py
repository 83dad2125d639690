"""One form that is being submitted: its row, its prober, and what an answer means for both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from periplus.model import FormRow, ParsedPage, Source, Url, UrlRecord

from .prober import ProbedPage, Prober, ProberState, ResultRecords
from .rows import FormProbed
from .submitting import ending

REPORT_EVERY: Final = 20
"""Requests after which the progress of a form is reported."""
_YEAR: Final = 31_556_952.0
"""Seconds of a year."""
_MAX_TEXT: Final = 5_000
"""Characters of a page from which words are taken: frequent words come early."""
_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_decode = msgspec.msgpack.Decoder(ProberState).decode


class OpenForm(Struct):
    """A form that is being submitted: what is kept of it, and what chooses its queries."""

    row: FormRow
    prober: Prober

    def read_form_page(self, page: ParsedPage) -> None:
        """Take the words of the page of the form, and the links that are not records."""
        self.prober.read_form_page(links_of(page), page.main_text[:_MAX_TEXT])

    def read_record(self, page: ParsedPage) -> None:
        """Learn the words of a page, if it is a record of the form."""
        if self.prober.is_record(page.url):
            self.prober.read_record(page.main_text[:_MAX_TEXT])

    def learn(self, page: ParsedPage) -> ResultRecords:
        """Learn from a page of results."""
        return self.prober.learn(ProbedPage(page.url, links_of(page), page.relations.next))

    def count_known(self, records: Sequence[UrlRecord | None]) -> None:
        """Count new records of the form by how else they were found, given what is known of their URLs."""
        for record in records:
            sources = set() if record is None else {seen.source for seen in record.first_seen}
            self.row.known += bool(sources - {Source.FORM})
            self.row.listed += Source.SITEMAP in sources

    @property
    def ending(self) -> str:
        """Why the form is not worth further queries; or empty."""
        state = self.prober.state
        return state.ended or ending(self.row, state.submitted, len(state.records))

    @property
    def is_to_be_reported(self) -> bool:
        """Whether its progress is to be reported, after a request."""
        return self.prober.state.requests % REPORT_EVERY == 0

    def packed(self) -> FormRow:
        """The row with what is known of the form, to be kept."""
        self.row.state = _encode(self.prober.state)
        return self.row


def reopened(row: FormRow) -> OpenForm:
    """A form as its row has it."""
    state = _decode(row.state) if row.state else ProberState()
    return OpenForm(row, Prober(row.form, year_of(row.found_at), state, row.charset))


def probed_event(row: FormRow, prober: Prober | None, now: float) -> FormProbed:
    """The state of a form, as an event. A form that was never open has no numbers."""
    requests = queries = records = new_records = page_size = 0
    estimate = low = high = 0.0
    templates: tuple[str, ...] = ()
    if prober is not None:
        state = prober.state
        queries, requests, records, page_size = state.submitted, state.requests, len(state.records), state.page_size
        new_records, estimate, templates = records - row.known, prober.size, prober.templates
        low, high = prober.bounds
    is_open = bool(requests or queries or row.status in ("open", "ended"))
    what = (
        f"{row.key:016x}", row.site, row.page, row.form.action, row.form.method, row.kind,
        tuple(f"{each.name} ({each.type})" for each in row.form.fields), row.status, row.reason or None,
    )  # fmt: skip
    if not is_open:
        return FormProbed(*what, None, None, None, None, None, None, None, None, templates, now)
    return FormProbed(*what, queries, requests, records, new_records, estimate, low, high, page_size, templates, now)


def links_of(page: ParsedPage) -> tuple[tuple[Url, str], ...]:
    """Where a page leads, and what its links say."""
    others = page.links.to_others()
    return tuple(zip(others.urls, others.anchors, strict=True))


def year_of(at: float) -> int:
    """The year of a time."""
    return int(1970 + at / _YEAR)
