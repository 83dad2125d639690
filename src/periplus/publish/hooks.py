"""What an application reports itself: this page has changed, that one is gone. Dated now, without a scan."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from urllib.parse import urljoin

from periplus.model import UsageError
from periplus.urls import canonical

from .ledger import Ledger
from .scan import event, section_of


def address(url: str, base_url: str) -> str:
    """A URL of the site, which may be relative to its root, as the ledger writes it. Raises `UsageError`."""
    found = canonical(urljoin(base_url, url))
    if found is None or not found.startswith(canonical(base_url) or base_url):
        raise UsageError(f"{url!r} is not a page below {base_url}", hint="give a path such as /news/1")
    return found


def changed(
    ledger: Ledger, url: str, now: float, *, title: str = "", mime: str = "text/html", hidden: Callable[[], str] = str
) -> None:
    """Note that a page is new or has changed now. `hidden` finds out why a page not seen before is not published."""
    with ledger.writing() as db:
        note_changed(db, url, now, title, mime, hidden)


def removed(ledger: Ledger, url: str, now: float) -> bool:
    """Note that a page is gone now; whether it was known."""
    with ledger.writing() as db:
        return note_removed(db, url, now)


def moved(ledger: Ledger, old: str, new: str, now: float, *, hidden: Callable[[], str] = str) -> None:
    """Note that a page has another address now: the old one is gone, and the new one is as if it had changed."""
    with ledger.writing() as db:
        note_moved(db, old, new, now, hidden)


def note_changed(
    db: sqlite3.Connection, url: str, now: float, title: str, mime: str, hidden: Callable[[], str]
) -> None:
    """`changed` inside a transaction."""
    known = db.execute("select id, hidden, gone, title from resources where url = ?", (url,)).fetchone()
    if known is None:
        why = hidden()
        db.execute(
            "insert into resources(url, section, mime, size, stamp, digest, title, hidden, source_date, lastmod,"
            " first_seen, confirmed, minor) values(?,?,?,0,0,'',?,?,?,?,?,?,0)",
            (url, section_of(url), mime, title, why, now, now, now, now),
        )
        if not why:
            event(db, url, title, "new", now, now)
        return
    number, why, gone, old_title = known
    db.execute(
        "update resources set lastmod = ?, confirmed = ?, title = ?, gone = null, minor = 0 where id = ?",
        (now, now, title or old_title, number),
    )
    if not why:
        event(db, url, title or old_title, "changed" if gone is None else "new", now, now)


def note_removed(db: sqlite3.Connection, url: str, now: float) -> bool:
    """`removed` inside a transaction."""
    known = db.execute("select id, hidden, title, lastmod from resources where url = ? and gone is null", (url,))
    row = known.fetchone()
    if row is None:
        return False
    db.execute("update resources set gone = ?, confirmed = ? where id = ?", (now, now, row[0]))
    if not row[1]:
        event(db, url, row[2], "removed", now, row[3])
    return True


def note_moved(db: sqlite3.Connection, old: str, new: str, now: float, hidden: Callable[[], str]) -> None:
    """`moved` inside a transaction."""
    known = db.execute("select title, mime from resources where url = ?", (old,)).fetchone()
    note_removed(db, old, now)
    title, mime = known or ("", "text/html")
    note_changed(db, new, now, title, mime, hidden)
