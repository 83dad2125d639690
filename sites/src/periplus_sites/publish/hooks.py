"""Updates the ledger between scans: from reports of an application, and from pages that the middleware has seen.

Reported changes, removals and moves are dated now. `observe` compares the content of a page with the ledger, as a scan
does.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from urllib.parse import urljoin

from periplus.content import RawPage, SiteTemplate, read_pages
from periplus.content.changes import Aspect
from periplus.model import ChangeLevel, UsageError
from periplus.urls import canonical
from periplus_sites.ledger import Ledger, packed

from .dating import compare, content_of, is_churn, level_of, ways_of
from .scan import event, event_kind, hidden_reason, section_of


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


def observe(ledger: Ledger, url: str, body: bytes, now: float, *, adds_new: bool = False) -> str:
    """Note the content that a page had at a time; says what happened to it. A page not known is added if `adds_new`.

    What a scan or an application has reported since then stays: the page may be older than what they saw.

    The first content of a page that was known by its date alone is where comparing begins: it moves no date.
    """
    (page,) = read_pages([RawPage(body, url, "text/html", wants_blocks=True)])
    content = content_of(page)
    with ledger.writing() as db:
        row = ledger.row(url)
        if row is not None and now < max(row.confirmed, ledger.note("scanned_at") or 0.0):
            return "outdated"
        hidden = hidden_reason(url, page, None)
        title = page.title or ""
        if row is None or row.gone is not None:
            if not adds_new or hidden:
                return "unknown"
            db.execute(
                "insert into resources(url, section, mime, size, stamp, digest, content, title, hidden, first_seen,"
                " confirmed, minor) values(?,?,'text/html',?,0,'',?,?,'',?,?,0)"
                " on conflict(url) do update set gone = null, content = excluded.content, lastmod = excluded.confirmed,"
                " confirmed = excluded.confirmed",
                (url, section_of(url), len(body), packed(content), title, now, now),
            )
            event(db, url, title, "new", now, None if row is None else now)
            return "new"
        level, minor, lastmod = ChangeLevel.SAME, row.minor, row.lastmod
        is_first = row.content is None or row.content.digests is None
        if row.content is not None and not is_first:
            found = compare(row.content, content)
            if found.gains and not any(found.gains[aspect] for aspect in (Aspect.MAIN, Aspect.TITLE, Aspect.CANONICAL)):
                return "same text"  # on one page, a new link of its own looks like a new menu; a scan can tell
            level, minor = level_of(found, row.minor, _churn(ledger, content.blocks))
        if level is ChangeLevel.MAJOR:
            lastmod = now
        hidden = hidden or (row.hidden if row.hidden == "robots" else "")
        db.execute(
            "update resources set content = ?, title = ?, hidden = ?, lastmod = ?, minor = ?, confirmed = ?"
            " where id = ?",
            (packed(content), title or row.title, hidden, lastmod, minor, now, row.id),
        )
        if kind := event_kind(level, is_hidden=bool(hidden), was_hidden=bool(row.hidden)):
            event(db, url, title, kind, now, lastmod)
        return "first" if is_first else level.word


def _churn(ledger: Ledger, blocks: bytes) -> SiteTemplate:
    """The parts of a page that scans have found to differ nearly every time."""
    number = int(ledger.note("scans") or 0)
    ways = ways_of(blocks)[:500]
    marks = ",".join("?" * len(ways))
    sql = f"select way, since, differed from ways where way in ({marks})"  # noqa: S608 - only marks are put in
    found = ledger.db.execute(sql, ways)
    churn = frozenset(way for way, since, differed in found if is_churn(number - since, differed))
    return SiteTemplate(ways={Aspect.MAIN: churn, Aspect.LINKS: churn})
