"""What a request asks of a page about a collection: which collection, which rows, and the parameters of its URL."""

from __future__ import annotations

import shlex
import time
from collections.abc import Collection as Words

from msgspec import Struct, field
from starlette.exceptions import HTTPException
from starlette.requests import Request

from periplus.apps.report.questions import SQL
from periplus.collection.collection import CollectionSetup
from periplus.view.charts import STEPS

from .browse_cells import MAX_EXPORT, PER_PAGE, page_parameter
from .browse_tables import TableProblem, TableReader, reader_of
from .served import ServedCollection, chosen_collection

MAX_PAGE = 100_000
"""The last page of a table that can be asked for."""
_LONGEST = 4000
"""Characters of a parameter."""
_MOST_STEPS = 60
"""Steps of a plot over time: as many as can be distinguished on a phone."""

_SPAN = "select epoch(min(started_at)) as began, epoch(max(started_at)) as ended from fetches"


class Asked(Struct, frozen=True):
    """A request. `wanted` is the one table that is downloaded; empty: the page is shown."""

    collection: ServedCollection
    reader: TableReader
    parameters: dict[str, str]
    place: dict[str, str]
    wanted: str = ""
    now: float = field(default_factory=time.time)

    @property
    def found(self) -> CollectionSetup:
        """The collection with its settings."""
        return self.collection.collection

    @property
    def folder(self) -> str:
        """Its folder, as it is typed in a command."""
        return shlex.quote(str(self.collection.folder))

    def parameter(self, name: str) -> str:
        """A parameter of the URL; empty if it is not there. 400 if it is too long."""
        value = self.parameters.get(name, "").strip()
        if len(value) > _LONGEST:
            raise HTTPException(400, f"The parameter {name} may have {_LONGEST:,} characters.")
        return value

    def choice(self, name: str, allowed: Words[str], usual: str = "") -> str:
        """A parameter that is one of some words; 400 if it is another."""
        value = self.parameter(name) or usual
        if value and value not in allowed:
            raise HTTPException(400, f"The parameter {name} cannot be {value[:50]!r}: use {', '.join(allowed)}.")
        return value

    def window(self, table: str, per_page: int = PER_PAGE) -> tuple[int, int]:
        """Which rows of a table are wanted: the number of the first, and how many."""
        if self.wanted == table:
            return 0, MAX_EXPORT
        text = self.parameter(page_parameter(table)) or "1"
        if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= MAX_PAGE):
            raise HTTPException(400, f"The parameter {page_parameter(table)} must be a number from 1 to {MAX_PAGE}.")
        return (int(text[:9]) - 1) * per_page, per_page

    def rate_sql(self, where: str) -> str:
        """The query for requests over time, with steps that fit how long the crawl took."""
        rate = SQL["request_rate"].removesuffix("\nlimit 200")
        try:
            span = self.reader.read(_SPAN, 0, 1)
        except TableProblem:
            return rate.format(step=STEPS[-1], where="")
        row = span.rows[0]
        seconds = (row["ended"] or 0.0) - (row["began"] or 0.0)
        step = next((each for each in STEPS if seconds / each < _MOST_STEPS), STEPS[-1])
        return rate.format(step=step, where=f" where {where}" if where else "")


def asked_of(request: Request) -> Asked:
    """The collection and parameters of a request."""
    collection = chosen_collection(request)
    parameters = dict(request.query_params)
    if columns := request.query_params.getlist("columns"):  # one for each box that is ticked
        parameters["columns"] = ",".join(columns)
    place = {name: str(value) for name, value in request.path_params.items()}
    return Asked(collection, reader_of(collection), parameters, place, parameters.get("table", ""))
