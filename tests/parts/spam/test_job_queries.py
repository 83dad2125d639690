"""Queries of the jobs over many domains: none has more rows on the way than there are links."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from periplus.content import read_page
from periplus.insight.views import Views
from periplus.model import Discovery, PageRead, Source, Url, UrlDiscovered
from periplus.parts.mirrors.job import judge_hosts
from periplus.parts.spam.job import SpamJob
from periplus.parts.spam.model import shipped
from periplus.parts.spam.settings import SpamSettings
from periplus.store.tables import Tables

DOMAINS = 3000
LINKED = 10
NOW = 1_800_000_000.0


class ObservedViews(Views):
    """Views that count the rows that pass through each step of every query."""

    most_rows = 0

    def ask(self, sql: str, parameters: Sequence[object] | dict[str, object] = ()) -> pa.RecordBatchReader:
        self.prepare(sql)
        plan = self.database.execute(f"explain analyze {sql}", parameters or None).fetchall()[0][1]
        rows = [int(count.replace(",", "")) for count in re.findall(r"([\d,]+) rows", plan)]
        assert rows, plan
        self.most_rows = max(self.most_rows, *rows)
        return super().ask(sql, parameters)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A page of each of 3,000 domains, which links to ten others; and the number of links."""
    folder = tmp_path_factory.mktemp("domains")
    chance = Random(1)
    tables = Tables(folder / "tables", folder / "spool", shard=0, mark=None)
    tables.record([UrlDiscovered(Discovery(Url("http://s0.test/"), Source.SEED, NOW), True)])
    links = 0
    for number in range(DOMAINS):
        others = chance.sample(range(DOMAINS), LINKED)
        anchors = "".join(f'<a href="http://s{other}.test/">to {other}</a> ' for other in others)
        page = read_page(f"<p>{number} <a href=/more>more</a> {anchors}".encode(), f"http://s{number}.test/")
        tables.record([PageRead(page, NOW)])
        links += len(page.links)
    tables.settle()
    tables.close()
    return folder, links


def test_spam(collection: tuple[Path, int]) -> None:
    """All domains are judged, and no step joins domains with each other."""
    folder, links = collection
    with ObservedViews(folder) as views:
        found = SpamJob(views, shipped(), SpamSettings()).judge(NOW)
    assert len(found.hosts) == DOMAINS
    assert views.most_rows <= 2 * links


def test_mirrors(collection: tuple[Path, int]) -> None:
    """Hosts are compared by what they have in common, not each with every other."""
    folder, links = collection
    with ObservedViews(folder) as views:
        judge_hosts(views, NOW)
    assert views.most_rows <= 2 * links
