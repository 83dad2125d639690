"""A database of the lab, found through its form without a network: records against requests.

    probed = probe(Database(site))      # found, requests, the prober, and the curve of both

The prober is that of a crawl, and pages are read as a crawl reads them. Requests are pages of results and records; the
fewest possible (`floor`) are a page for every record and one for every ten of them.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from msgspec.structs import replace

from periplus.content import read_page
from periplus.model import ParsedPage, Url
from periplus.parts.forms.prober import ProbedPage, Prober
from periplus_lab.database import PAGE, Database

_BASE: Final = "http://database.lab.test"
_YEAR: Final = 2026
"""The present, for fields that want a year."""


class Probed(NamedTuple):
    """What a form led to: records found, requests made, the prober at its end, and both numbers after each page."""

    found: int
    requests: int
    prober: Prober
    curve: tuple[tuple[int, int], ...]

    def requests_for(self, records: float) -> int | None:
        """With how many requests as many records were found; `None` if they were not."""
        return next((requests for found, requests in self.curve if found >= records), None)


def floor(records: float) -> float:
    """The fewest requests that lead to this number of records."""
    return records * (1 + 1 / PAGE)


def probe(
    database: Database, *, without: tuple[str, ...] = (), reads_records: bool = True, until: float = math.inf
) -> Probed:
    """Submit the form until nothing more is wanted, or `until` records were found. `without`: fields it lacks."""
    form_page = read_page(database.form_page(), f"{_BASE}/search", "text/html")
    [form] = form_page.forms
    form = replace(form, fields=tuple(field for field in form.fields if field.name not in without))
    prober = Prober(form, _YEAR)
    prober.read_form_page(_links(form_page), form_page.main_text)
    pages, records, curve = 0, set[Url](), []
    while len(records) < until and (urls := prober.wanted(1)):
        page = read_page(database.result_page(urlsplit(urls[0]).query), urls[0], "text/html")
        results = prober.learn(ProbedPage(urls[0], _links(page), page.relations.next))
        for url in results.new if reads_records else ():
            html = database.record_page(url.rpartition("/")[2]) or b""
            prober.read_record(read_page(html, url, "text/html").main_text)
        pages += 1
        records.update(results.new)
        curve.append((len(records), pages + len(records)))
    return Probed(len(records), pages + len(records), prober, tuple(curve))


def _links(page: ParsedPage) -> tuple[tuple[Url, str], ...]:
    return tuple((link.url, link.anchor) for link in page.links)
