"""The sitemaps of a ledger, as files: written whole before they are named, and kept until no index names them.

Order of writing: data files, the ledger, the index. Each file is written beside its place, synced and renamed. So at
any moment the index on disk names only files that are there, and what a kill interrupted the next update completes.
"""

# ruff: noqa: S608 - SQL is put together from our own words here
from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from periplus.formats.sitemap import Alternate, Child, Entry, Image, News
from periplus.formats.sitemap.writing import plain_records, url_record, write_index, write_urlset
from periplus.model import Granularity, Lastmod, UsageError
from periplus.urls import canonical
from periplus_sites.ledger import Details, Ledger

from . import layout
from .files import digest_of, write_file
from .settings import NewsSettings, SitemapSettings

PROTOCOL_URLS: Final = 50_000
"""Addresses that one sitemap may hold."""
_NEWS_SECONDS: Final = 2.0 * layout.DAY
_MOST_NEWS: Final = 1_000
_decode_details = msgspec.msgpack.Decoder(Details).decode
_Listed = tuple[int, str, float | None, bytes | None]
"""Id, address, date and packed details."""


class Written(Struct, frozen=True):
    """What an update wrote."""

    files: int
    bytes: int
    removed: int
    entries: int
    incomplete_alternates: int
    """Language alternates that are left out because their page does not link back or is not published."""


class SitemapFiles:
    """Writes the sitemaps of one site into a folder."""

    def __init__(
        self, ledger: Ledger, folder: Path, base_url: str, settings: SitemapSettings, news: NewsSettings
    ) -> None:
        self._ledger = ledger
        self._db = ledger.db
        self._folder = folder
        self._base = base_url
        self._settings = settings
        self._news = news
        self._marks = ",".join("?" * len(settings.types))
        self._published = f"gone is null and hidden = '' and mime in ({self._marks})"
        self._files = self._bytes = self._incomplete = 0

    def update(self, now: float) -> Written:
        """Bring the files up to date with the ledger."""
        self._files = self._bytes = self._incomplete = 0
        self._folder.mkdir(parents=True, exist_ok=True)
        sql = f"select count(*) from resources where {self._published}"
        entries = self._db.execute(sql, self._settings.types).fetchone()[0]
        with self._ledger.writing():
            was_log = bool(self._ledger.note("is_log"))
            now_log = layout.is_log(self._settings, entries, was_log=was_log)
            self._ledger.keep_note("is_log", now_log)
            if now_log:
                self._update_log(now)
            else:
                self._drop("kind in ('base', 'delta')", now)
                self._ledger.keep_note("base_day", None)
            self._mark_listed()
        self._write_index(now) if now_log else self._write_single(now, entries)
        self._write_news(now)
        return Written(self._files, self._bytes, self._remove_old(now), entries, self._incomplete)

    @property
    def announced(self) -> list[str]:
        """The files to name in robots.txt."""
        names = self._db.execute(
            "select name from files where kind in ('index', 'news') and dropped_at is null order by name"
        )
        return [name for (name,) in names]

    def _update_log(self, now: float) -> None:
        today = int(now // layout.DAY)
        base_day = self._ledger.note("base_day")
        live = self._db.execute("select count(*) from files where kind in ('base', 'delta') and dropped_at is null")
        if base_day is None or layout.is_compacted(self._settings, base_day, today, live.fetchone()[0]):
            self._write_base(now, today)
            return
        self._write_delta(now, today)
        self._rewrite_dead(now, today)

    def _write_base(self, now: float, today: int) -> None:
        """Write all addresses into base files; a file that would be the same as one of the last generation stays."""
        generation = int(self._ledger.note("base_generation") or 0) + 1
        sql = (
            f"select id, url, lastmod, details from resources where {self._published} order by section, first_seen, id"
        )
        same = dict(self._db.execute("select digest, name from files where kind = 'base' and dropped_at is null"))
        self._drop("kind in ('base', 'delta')", now)
        cursor = self._db.execute(sql, self._settings.types)
        number = 0
        while rows := cursor.fetchmany(self._settings.urls_per_file):
            number += 1
            body = self._urlset(rows)
            name = same.get(digest_of(body), layout.base_name(generation, number))
            self._put(name, "base", today, body, rows, now, is_sealed=True)
        self._ledger.keep_note("base_generation", generation)
        self._ledger.keep_note("base_day", today)

    def _write_delta(self, now: float, today: int) -> None:
        """Write what is new or changed today, which is what was already in today's files and what happened since."""
        self._db.execute("update files set is_sealed = 1 where kind = 'delta' and day < ?", (today,))
        news = f"""
            select id, url, lastmod, details from resources where {self._published} and id in (
                select resource from listed join files on files.id = listed.file
                where kind = 'delta' and day = ? and dropped_at is null
                union select resources.id from events join resources using (url)
                where events.id > ? and kind != 'removed')
            order by id"""
        rows = self._db.execute(news, (*self._settings.types, today, self._ledger.note("listed_event") or 0)).fetchall()
        old = {
            name
            for (name,) in self._db.execute(
                "select name from files where kind = 'delta' and day = ? and dropped_at is null", (today,)
            )
        }
        for number, (first, end) in enumerate(layout.pieces(len(rows), self._settings.urls_per_file), 1):
            name = layout.delta_name(today, number)
            self._put(name, "delta", today, self._urlset(rows[first:end]), rows[first:end], now, is_sealed=False)
            old.discard(name)
        for name in old:
            self._drop("name = ?", now, name)

    def _rewrite_dead(self, now: float, today: int) -> None:
        """Rewrite sealed files that list too much of what is gone."""
        dead = self._db.execute(
            """
            select files.id, files.name, files.kind, files.day, files.entries, count(*), min(coalesce(gone, confirmed))
            from resources join listed on listed.resource = resources.id join files on files.id = listed.file
            where (gone is not null or hidden != '') and dropped_at is null and not (files.kind = 'delta' and day = ?)
            group by files.id""",
            (today,),
        ).fetchall()
        for number, name, kind, day, entries, count, oldest in dead:
            if not layout.is_rewritten(entries, count, oldest, now):
                continue
            sql = f"""select id, url, lastmod, details from listed join resources on resources.id = resource
                where file = ? and {self._published} order by section, first_seen, id"""
            rows = self._db.execute(sql, (number, *self._settings.types)).fetchall()
            self._drop("id = ?", now, number)
            if rows:
                self._put(layout.next_name(name), kind, day, self._urlset(rows), rows, now, is_sealed=True)

    def _mark_listed(self) -> None:
        last = self._db.execute("select max(id) from events").fetchone()[0]
        self._ledger.keep_note("listed_event", last or 0)

    def _urlset(self, rows: Sequence[_Listed]) -> bytes:
        plain = [(url, lastmod) for _, url, lastmod, details in rows if details is None]
        if len(plain) == len(rows):
            return write_urlset(plain_records(plain), gzip=True)
        entries = [self._entry(row) for row in rows]
        return write_urlset(map(url_record, entries), gzip=True, prefixes=_prefixes(entries))

    def _entry(self, row: _Listed) -> Entry:
        _, url, lastmod, packed = row
        details = Details() if packed is None else _decode_details(packed)
        return Entry(
            url,
            _lastmod(lastmod),
            priority=details.priority,
            images=tuple(map(Image, details.images)),
            alternates=self._alternates(url, details),
        )

    def _alternates(self, url: str, details: Details) -> tuple[Alternate, ...]:
        """The alternates that link back."""
        if not details.alternates:
            return ()
        own = canonical(url)
        known = self._ledger.rows([href for _, href in details.alternates])
        complete = []
        for language, href in details.alternates:
            row = known.get(href)
            is_back = (
                row is not None
                and row.gone is None
                and not row.hidden
                and any(canonical(back) == own for _, back in row.details.alternates)
            )
            if href in (url, own) or is_back:
                complete.append(Alternate(href, language))
            else:
                self._incomplete += 1
        return tuple(complete)

    def _write_single(self, now: float, entries: int) -> None:
        if entries > PROTOCOL_URLS:
            raise UsageError(f"{entries:,} addresses do not fit in one sitemap", hint='set layout = "log" or "auto"')
        sql = (
            f"select id, url, lastmod, details from resources where {self._published} order by section, first_seen, id"
        )
        rows = self._db.execute(sql, self._settings.types).fetchall()
        values = [self._entry(row) for row in rows]
        self._put_alone(
            layout.INDEX, "index", write_urlset(map(url_record, values), gzip=False, prefixes=_prefixes(values)), now
        )

    def _write_index(self, now: float) -> None:
        files = self._db.execute("""
            select name, lastmod from files where kind in ('base', 'delta') and dropped_at is null
            order by kind = 'base', -day, name""")
        children = [Child(self._base + name, _lastmod(lastmod)) for name, lastmod in files]
        self._put_alone(layout.INDEX, "index", write_index(children), now)

    def _write_news(self, now: float) -> None:
        if not self._news.name:
            with self._ledger.writing():
                self._drop("kind = 'news'", now)
            return
        articles = self._db.execute(
            f"""
            select url, title, lastmod, first_seen from resources where {self._published} and title != ''
            and min(first_seen, coalesce(lastmod, first_seen)) >= ? order by first_seen desc, id desc""",
            (*self._settings.types, now - _NEWS_SECONDS),
        )
        prefix = self._base.rstrip("/") + self._news.prefix
        entries: list[Entry] = []
        for url, title, lastmod, first_seen in articles:
            if url.startswith(prefix) and len(entries) < _MOST_NEWS:
                published = _lastmod(min(first_seen, lastmod or first_seen))
                news = News(self._news.name, self._news.language, published, title)
                entries.append(Entry(url, news=(news,)))
        self._put_alone(
            layout.NEWS, "news", write_urlset(map(url_record, entries), gzip=False, prefixes=("news",)), now
        )

    def _put(
        self, name: str, kind: str, day: int, body: bytes, rows: Sequence[_Listed], now: float, *, is_sealed: bool
    ) -> None:
        """Write a data file and note what it lists."""
        digest = digest_of(body)
        before = self._db.execute("select id, digest, lastmod from files where name = ?", (name,)).fetchone()
        changed_at = before[2] if before is not None and before[1] == digest else now
        if before is None or before[1] != digest or not (self._folder / name).exists():
            self._write(name, body)
        values = (kind, day, len(rows), changed_at, digest, is_sealed, name)
        if before is None:
            number = self._db.execute(
                "insert into files(kind, day, entries, lastmod, digest, is_sealed, name) values(?,?,?,?,?,?,?)", values
            ).lastrowid
        else:
            number = before[0]
            self._db.execute(
                "update files set kind=?, day=?, entries=?, lastmod=?, digest=?, is_sealed=?, dropped_at=null"
                " where name=?",
                values,
            )
            self._db.execute("delete from listed where file = ?", (number,))
        self._db.executemany("insert into listed values(?, ?)", [(number, row[0]) for row in rows])

    def _put_alone(self, name: str, kind: str, body: bytes, now: float) -> None:
        """Write a file with a fixed name that readers know, after all files that it names."""
        path = self._folder / name
        digest = digest_of(body)
        before = self._db.execute("select digest from files where name = ? and dropped_at is null", (name,)).fetchone()
        if before is not None and before[0] == digest and path.exists() and digest_of(path.read_bytes()) == digest:
            return
        self._write(name, body)
        with self._ledger.writing():
            self._db.execute(
                "insert or replace into files(name, kind, day, entries, lastmod, digest, is_sealed)"
                " values(?,?,0,0,?,?,0)",
                (name, kind, now, digest),
            )

    def _write(self, name: str, body: bytes) -> None:
        write_file(self._folder / name, body)
        self._files += 1
        self._bytes += len(body)

    def _drop(self, where: str, now: float, *values: object) -> None:
        """Name files no longer. They are removed when no reader can hold an index that names them."""
        self._db.execute(f"delete from listed where file in (select id from files where {where})", values)
        self._db.execute(f"update files set dropped_at = ? where dropped_at is null and {where}", (now, *values))

    def _remove_old(self, now: float) -> int:
        old = self._db.execute(
            "select name from files where dropped_at is not null and dropped_at < ?", (now - layout.KEPT_SECONDS,)
        ).fetchall()
        for (name,) in old:
            (self._folder / name).unlink(missing_ok=True)
        if old:
            with self._ledger.writing():
                self._db.executemany("delete from files where name = ?", old)
        return len(old)


def _prefixes(entries: Iterable[Entry]) -> list[str]:
    used = {"image" for entry in entries if entry.images} | {"xhtml" for entry in entries if entry.alternates}
    return sorted(used)


def _lastmod(at: float | None) -> Lastmod | None:
    return None if at is None else Lastmod(float(at // 1), Granularity.SECOND)
