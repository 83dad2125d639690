"""What is published, what is not and why, and what changed last."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from .ledger import Ledger

SHOWN: Final = 10
"""Changes that are shown."""


_CRAWLERS: Final = """
select agent, sum(hits), sum(hits * (verified > 0)), sum(hits * (verified < 0)), sum(needless) from visits
where minute > (select max(minute) from visits) - 1440 group by agent order by sum(hits) desc, agent limit ?
"""


class Change(Struct, frozen=True):
    """An event: a page is `new`, `changed` or `removed`."""

    url: str
    kind: str
    at: float


class CrawlerDay(Struct, frozen=True):
    """Visits of a crawler on the last day: from verified addresses, from others that claim its name, and in vain."""

    name: str
    visits: int
    verified: int
    false_claims: int
    needless: int


class PublishStatus(Struct, frozen=True):
    """The state of a published site. `dated` of the published addresses have a date; `hidden` is by reason."""

    published: int
    dated: int
    hidden: dict[str, int]
    gone: int
    scanned_at: float | None
    files: list[str]
    last_changes: list[Change]
    waiting: int
    """Messages that wait to be sent."""
    crawlers: list[CrawlerDay]
    """Crawlers that the middleware counted on the last day, those with the most visits first."""


def status_of(ledger: Ledger) -> PublishStatus:
    """The state of the site of a ledger."""
    db = ledger.db
    return PublishStatus(
        ledger.count(),
        ledger.count("gone is null and hidden = '' and lastmod is not null"),
        dict(db.execute("select hidden, count(*) from resources where gone is null and hidden != '' group by 1")),
        ledger.count("gone is not null"),
        ledger.note("scanned_at"),
        [name for (name,) in db.execute("select name from files where dropped_at is null order by name")],
        [Change(*row) for row in db.execute("select url, kind, at from events order by id desc limit ?", (SHOWN,))],
        db.execute("select count(*) from outbox where done_at is null").fetchone()[0],
        [CrawlerDay(*row) for row in db.execute(_CRAWLERS, (SHOWN,))],
    )
