"""The table `form_probes`, the view of it, and a question."""

from __future__ import annotations

from typing import Final

from periplus.model.rows import Moment, Number, Real, TableQuestion, TableRow, TableView, Text, Word, WordList


class FormProbed(TableRow, frozen=True):
    """What became known of each form, over time.

    A row when a form is found, every 20 requests, when its status changes, and at its end ([forms.md](forms.md)). The
    view `forms` has the last row of each.
    """

    table = "form_probes"
    key = ("form", "status", "requests")

    form: Word
    """hash of its site, action and fields"""
    site: Word
    """site of the page"""
    page: Text
    """the first page with it"""
    action: Text
    """the URL it is submitted to"""
    method: Word
    """`GET` `POST` `DIALOG`"""
    kind: Word
    """`search` `login` `registration` `password recovery` `mailing list` `contact` `order` `display options`
    `navigation` `other`"""
    fields: WordList
    """its fields, each with its type"""
    status: Word
    """`refused` (never submitted) `found` `checking` (its page is loaded a second time) `open` (being submitted)
    `ended`"""
    reason: Word | None
    """why it was refused, or has ended"""
    queries: Number | None
    """submissions; null, as the next columns, if it was never open"""
    requests: Number | None
    """pages of results"""
    records: Number | None
    """records found"""
    new_records: Number | None
    """those found by no link or sitemap before"""
    estimate: Real | None
    """estimated number of records"""
    estimate_low: Real | None
    """lower bound (95 %)"""
    estimate_high: Real | None
    """upper bound"""
    page_size: Number | None
    """maximum records on a page of results"""
    templates: WordList
    """how each combination of fields did"""
    seen_at: Moment
    """when"""


VIEWS: Final = (
    TableView(
        "forms",
        "Every form: its kind, whether it is submitted, and what was found by it.",
        "select * from form_probes\n"
        "qualify row_number() over (partition by form order by seen_at desc, requests desc) = 1",
    ),
)

QUESTIONS: Final = (
    TableQuestion(
        "forms",
        "Search forms, and what was found by them: queries, pages of results, records, and the estimated total.",
        "periplus crawl -o DIR --forms submits search forms; periplus forms DIR shows the next queries.",
        "select site, action, kind, status, reason, queries, requests, records, new_records,\n"
        "    round(estimate)::bigint as estimate\n"
        "from forms where kind = 'search' order by records desc nulls last, site, action limit 50",
    ),
)
