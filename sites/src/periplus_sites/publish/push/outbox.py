"""What is to be sent, in the table `outbox` of the ledger: fed from events, kept until it is accepted or dropped."""

# ruff: noqa: S608 - SQL is put together from our own words here
from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from periplus_sites.ledger import Ledger

from ..changes_feed import NAME as FEED
from ..layout import INDEX
from ..settings import PublishSettings

INDEXNOW: Final = "indexnow"
WEBSUB: Final = "websub"
PING: Final = "ping"
KEPT: Final = 86_400.0
"""Seconds for which messages that are done stay, for `status`: a day."""


class Target(Struct, frozen=True):
    """A receiver: an IndexNow endpoint, a WebSub hub, or a receiver of pings."""

    protocol: str
    address: str

    @property
    def name(self) -> str:
        """The name of the target in the outbox."""
        return f"{self.protocol} {self.address}"


class Message(Struct, frozen=True):
    """A message in the outbox."""

    id: int
    url: str
    attempts: int


def targets_of(settings: PublishSettings) -> tuple[Target, ...]:
    """The receivers that the settings name."""
    hub = (settings.feed.hub,) if settings.feed.hub and settings.feed.enabled else ()
    return (
        *(Target(INDEXNOW, address) for address in settings.push.indexnow),
        *(Target(WEBSUB, address) for address in hub),
        *(Target(PING, address) for address in settings.push.ping),
    )


def feed(ledger: Ledger, settings: PublishSettings, base_url: str, now: float, *, written: int | None) -> int:
    """Add a message for each event since the last call to the outbox; returns how many pages are not sent.

    Called when the files are written, so that nothing is sent that is not published. `written` is the last event that
    they contained before. A page that already waits is not added again. A new IndexNow endpoint is sent what changed
    since the files were last written, and not the whole site: the pages of a site's first files are not sent.
    """
    unsent = 0
    with ledger.writing() as db:
        last = db.execute("select coalesce(max(id), 0) from events").fetchone()[0]
        for target in targets_of(settings):
            note = f"pushed {target.name}"
            seen = ledger.note(note)
            if seen is None and target.protocol == INDEXNOW:
                seen = last if written is None else written
                unsent = unsent if written is not None else _count_listed(db, settings.sitemap.types)
                ledger.keep_note(note, seen)
            if seen is None or seen < last:
                _add(db, target, int(seen or 0), settings, base_url, now)
                ledger.keep_note(note, last)
    return unsent


def _count_listed(db: sqlite3.Connection, types: Sequence[str]) -> int:
    marks = ",".join("?" * len(types))
    sql = f"select count(*) from resources where gone is null and hidden = '' and mime in ({marks})"
    return int(db.execute(sql, tuple(types)).fetchone()[0])


def _add(
    db: sqlite3.Connection, target: Target, seen: int, settings: PublishSettings, base_url: str, now: float
) -> None:
    waiting = "select 1 from outbox where target = ? and url = {} and done_at is null"
    due = now + settings.push.debounce
    if target.protocol != INDEXNOW:
        url, kind = (base_url + FEED, "feed") if target.protocol == WEBSUB else (base_url + INDEX, "sitemap")
        sql = (
            "insert into outbox(url, kind, target, at, next_at) select ?,?,?,?,?"
            f" where not exists ({waiting.format('?')})"
        )
        db.execute(sql, (url, kind, target.name, now, due, target.name, url))
        return
    types = settings.sitemap.types
    sql = f"""
        insert into outbox(url, kind, target, at, next_at)
        select url, events.kind, ?, ?, ? from events join resources using (url)
        where events.id in (select max(id) from events where id > ? group by url)
        and mime in ({",".join("?" * len(types))}) and not exists ({waiting.format("events.url")})"""
    db.execute(sql, (target.name, now, due, seen, *types, target.name))


def due(ledger: Ledger, target: Target, now: float, repeat: float, most: int, *, ahead: float = 0.0) -> list[Message]:
    """The messages to send to a target now, oldest first. None whose address was sent less than `repeat` seconds ago.

    `ahead`: seconds by which messages that were never sent may be early.
    """
    found = ledger.db.execute(
        """
        select id, url, attempts from outbox as message
        where target = ? and done_at is null and next_at - (case attempts when 0 then ? else 0 end) <= ?
        and not exists (select 1 from outbox as sent
            where sent.target = message.target and sent.url = message.url and sent.done_at > ?)
        order by id limit ?""",
        (target.name, ahead, now, now - repeat, most),
    )
    return [Message(*row) for row in found]


def close(ledger: Ledger, messages: Sequence[Message], note: str, now: float, next_at: float | None) -> None:
    """Note the answer to messages: they are done, or due again at `next_at`."""
    done_at = now if next_at is None else None
    with ledger.writing() as db:
        db.executemany(
            "update outbox set attempts = attempts + 1, answer = ?, done_at = ?, next_at = coalesce(?, next_at)"
            " where id = ?",
            [(note, done_at, next_at, message.id) for message in messages],
        )


def tidy(ledger: Ledger, targets: Sequence[Target], now: float, repeat: float) -> None:
    """Remove what was done long ago, and what waits for receivers that the settings no longer name."""
    names = [target.name for target in targets]
    with ledger.writing() as db:
        db.execute("delete from outbox where done_at < ?", (now - max(KEPT, repeat),))
        marks = ",".join("?" * len(names))
        db.execute(f"delete from outbox where done_at is null and target not in ({marks})", names)


def next_due(ledger: Ledger) -> float | None:
    """When the next message is due; `None` if none waits."""
    found = ledger.db.execute("select min(next_at) from outbox where done_at is null").fetchone()[0]
    return None if found is None else float(found)
