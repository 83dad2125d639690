"""A page that passed by: compare it with the ledger, as a scan would."""

from __future__ import annotations

from periplus.content import RawPage, is_heading_same, read_pages

from .dating import Chrome, content_of, is_churn, judge, ways_of
from .ledger import Ledger, packed
from .scan import event, event_kind, hidden_reason, section_of, what_happened


def observe(ledger: Ledger, url: str, body: bytes, now: float, *, adds_new: bool = False) -> str:
    """Note the content that a page had at a time; says what happened to it. A page not known is added if `adds_new`.

    What a scan or an application has reported since then stays: the page may be older than what they saw.

    The first content of a page that was known by its date alone is where comparing begins: it moves no date.
    """
    (page,) = read_pages([RawPage(body, url, "text/html", wants_blocks=True)])
    content = content_of(page, body)
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
        what, minor, lastmod = "first", row.minor, row.lastmod
        if row.content is not None and row.content.digests is not None:
            if row.content.digests.main == page.digests.main and is_heading_same(row.content.version, page):
                return "same text"  # one page alone cannot tell a new link of its own from a new menu; a scan can
            what, minor = what_happened(judge(row.content, content, page), row.minor, _churn(ledger, content.blocks))
        if what == "changed":
            lastmod = now
        hidden = hidden or (row.hidden if row.hidden == "robots" else "")
        db.execute(
            "update resources set content = ?, title = ?, hidden = ?, lastmod = ?, minor = ?, confirmed = ?"
            " where id = ?",
            (packed(content), title or row.title, hidden, lastmod, minor, now, row.id),
        )
        if kind := event_kind(what, is_hidden=bool(hidden), was_hidden=bool(row.hidden)):
            event(db, url, title, kind, now, lastmod)
        return what


def _churn(ledger: Ledger, blocks: bytes) -> Chrome:
    """The parts of a page that scans have found to differ nearly every time."""
    number = int(ledger.note("scans") or 0)
    ways = ways_of(blocks)[:500]
    marks = ",".join("?" * len(ways))
    sql = f"select way, since, differed from ways where way in ({marks})"  # noqa: S608 - only marks are put in
    return Chrome(
        frozenset(way for way, since, differed in ledger.db.execute(sql, ways) if is_churn(number - since, differed))
    )
