"""A collection of a few rows, written down in a test, to be asked in SQL.

    made = Made(tmp_path)
    made.told("http://a.test/", "seed", 0)
    made.got("http://a.test/", text=1, links=["http://a.test/x"])
    with made.views() as views: ...

Times are seconds after `NOW`. Pages with the same `text` say the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from periplus.content import sketch_of
from periplus.insight.views import Views
from periplus.model import Url
from periplus.store.tables import SCHEMAS
from periplus.urls import site_of

NOW = datetime(2026, 1, 5, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def site(url: str) -> str:
    return site_of(Url(url))


class Made:
    """Rows, until they are written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self._files = 0
        self._sketches: dict[int, bytes] = {}

    def told(self, url: str, source: str, when: float = 0, **more: Any) -> None:
        """Somebody told of a URL."""
        fate = {} if "refused" in more else {"is_new": True}
        row = {"url": url, "site": site(url), "source": source, "found_at": at(when), "depth": 1}
        self.rows["discoveries"].append(row | fate | more)

    def asked(self, url: str, status: int | None = 200, when: float = 100, **more: Any) -> None:
        """A page was asked for."""
        outcome = "failed" if status is None else "redirected" if status in (301, 302) else "fetched"
        row = {"url": url, "site": site(url), "purpose": "page", "outcome": outcome, "status": status}
        times = {"started_at": at(when), "ended_at": at(when + 1)}
        self.rows["fetches"].append(row | times | {"attempt": 1, "bytes": 1000, "duration": 0.5} | more)

    def read(self, url: str, text: int, links: Sequence[str] = (), when: float = 101, **more: Any) -> None:
        """A page was read; `text` is what it says, 0 nothing."""
        if text not in self._sketches:
            self._sketches[text] = sketch_of(" ".join(f"w{text}-{place}" for place in range(200))) if text else b""
        row = {"url": url, "site": site(url), "read_at": at(when), "mime": "text/html", "noindex": False}
        facts = {"text_length": 900, "main_length": 900 if text else 0, "main_digest": text, "resources": 0}
        self.rows["pages"].append(row | facts | {"links": len(links), "sketch": self._sketches[text]} | more)
        for target in links:
            self.link(url, target, when)

    def got(self, url: str, text: int, links: Sequence[str] = (), when: float = 100, **more: Any) -> None:
        """A page was asked for, came, and was read."""
        self.asked(url, when=when)
        self.read(url, text, links, when + 1, **more)

    def link(self, page: str, target: str, when: float = 101, rel: str = "") -> None:
        """A link of a page that was read."""
        row = {"page": page, "site": site(page), "read_at": at(when), "target": target, "target_site": site(target)}
        is_internal = site(page) == site(target)
        self.rows["links"].append(row | {"anchor": "x", "rel": rel, "kind": "a", "is_internal": is_internal})

    def write(self) -> None:
        """One file more of each table that has rows."""
        self._files += 1
        for table, rows in self.rows.items():
            schema = SCHEMAS[table]
            columns = {name: [row.get(name) for row in rows] for name in schema.names}
            (self.folder / "tables" / table).mkdir(parents=True, exist_ok=True)
            path = self.folder / "tables" / table / f"00-{self._files:06}.parquet"
            pq.write_table(pa.Table.from_pydict(columns, schema), path)
        self.rows.clear()

    def views(self) -> Views:
        """Everything that was said so far, to be asked."""
        self.write()
        return Views(self.folder)
