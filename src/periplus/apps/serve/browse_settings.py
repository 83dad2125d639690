"""The settings of a collection with where each came from, and its report."""

from __future__ import annotations

import re
import threading
import time
from typing import Any, Final
from weakref import WeakKeyDictionary

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from periplus.apps.report.making import described, report_of
from periplus.collection.config.fields import all_settings
from periplus.collection.config.toml_files import written
from periplus.model import PeriplusError
from periplus.view.values import Column
from periplus.view.wording import when

from .browse_asked import Asked, asked_of
from .browse_cells import BrowsePage, Table
from .browse_state import read_state
from .served import ServedCollection

REPORT_POLICY_MORE: Final = (
    "; frame-ancestors 'none'; sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox"
)
"""What is added to the policy that a report names itself: it runs one script by its digest, in an origin of its own."""
_USERINFO: Final = re.compile(r"(?<=://)[^/@\s\"]+@")
"""The user and password of a URL."""
_FRESH: Final = 600.0
"""Seconds for which a report is shown again."""
_PATIENCE: Final = 20.0
"""Seconds to wait for a report before the page shows that it is being made."""


def settings(asked: Asked) -> BrowsePage:
    """Every setting with its effective value, where that came from, and what it means."""
    config = asked.found.config
    path = asked.found.layout.settings
    rows: list[dict[str, Any]] = [
        {
            "setting": name,
            "value": _shown(config.value(name), field),
            "from": "default" if config.value(name) == field.default else path.name,
            "default": _shown(field.default, field),
            "meaning": field.doc,
        }
        for name, field in all_settings(type(config)).items()
    ]
    if asked.parameter("only") != "all" and not asked.wanted:
        rows = [row for row in rows if row["from"] != "default"]
    table = Table(
        name="settings",
        title="Settings",
        columns=(Column("setting", "setting", "code"), Column("value", "value", "code"), Column("from", "comes from"),
                 Column("default", "default", "code"), Column("meaning", "meaning")),
        rows=rows,
        says="Options of the command line are written to periplus.toml, and count as settings of that file.",
        command=f"periplus settings {asked.folder}",
        per_page=1000,
        empty="Every setting has its default.",
    )  # fmt: skip
    return BrowsePage(
        name="settings",
        title="Settings",
        about=f"What the next run obeys: {path}.",
        tables=(table,),
        form="settings",
    )


def _shown(value: object, field: Any) -> str:
    """A value as the file has it, without the password of a proxy."""
    try:
        text = written(value, field)
    except TypeError:
        text = str(value)
    return _USERINFO.sub("…@", text)


# the report


class _Made(Struct):
    """A report that is made or being made."""

    began_at: float
    html: str = ""
    problem: str = ""
    made_at: float = 0.0


class _Reports:
    """The last report of each collection; one is made at a time, in a thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: WeakKeyDictionary[ServedCollection, _Made] = WeakKeyDictionary()
        self._threads: WeakKeyDictionary[ServedCollection, threading.Thread] = WeakKeyDictionary()

    def last(self, collection: ServedCollection) -> _Made | None:
        """The last report, if one was made."""
        with self._lock:
            found = self._made.get(collection)
            return found if found is not None and found.made_at else None

    def get(self, collection: ServedCollection) -> _Made | None:
        """A report that is not too old, if it can be had in time; else the last; `None`: the first is being made."""
        last = self.last(collection)
        if last is not None and time.monotonic() - last.made_at < _FRESH:
            return last
        with self._lock:
            thread = self._threads.get(collection)
            if thread is None or not thread.is_alive():
                thread = threading.Thread(target=self._make, args=(collection,), name="report", daemon=True)
                self._threads[collection] = thread
                thread.start()
        thread.join(_PATIENCE if last is None else 0.0)
        return self.last(collection)

    def _make(self, collection: ServedCollection) -> None:
        made = _Made(time.time())
        try:
            made.html = read_state(report_html, collection.collection)
        except PeriplusError as error:
            made.problem = f"{error} {error.hint}"
        except Exception as error:
            made.problem = f"The report could not be made: {type(error).__name__}."
        made.made_at = time.monotonic()
        with self._lock:
            self._made[collection] = made


_REPORTS = _Reports()


def report_html(collection: Any) -> str:
    """The report of a collection as one page."""
    from periplus.apps.report import page  # loads DuckDB

    return page(report_of(collection, described))


def report(asked: Asked) -> BrowsePage:
    """About the report: when it was made, and where it is."""
    last = _REPORTS.last(asked.collection)
    made = f"It was last made at {when(last.began_at)}." if last is not None else "It is made when it is first opened."
    return BrowsePage(
        name="report",
        title="Report",
        about="Problems, figures and tables of the whole collection, and what to do about them, on one page.",
        lines=[("report", made), ("command", f"periplus report {asked.folder}")],
        facts={"made_at": None if last is None else last.began_at, "path": "/collection/report.html"},
        form="report",
    )


def report_file(request: Request) -> Response:
    """The report itself, a page that loads nothing, under its own policy in an origin of its own."""
    from periplus.view.html import policy

    found = _REPORTS.get(asked_of(request).collection)
    if found is None:
        raise HTTPException(
            503, "The report is being made. Reload this page in a moment.", headers={"Retry-After": "10"}
        )
    if found.problem:
        raise HTTPException(503, found.problem)
    return HTMLResponse(found.html, headers={"content-security-policy": policy() + REPORT_POLICY_MORE})
