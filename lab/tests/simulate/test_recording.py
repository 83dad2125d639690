"""A simulated crawl leaves the seven tables of a live one."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pytest

from periplus.model import UsageError
from periplus.store.tables import SCHEMAS, read
from periplus_lab.simulate.generated import WebSettings, generate
from periplus_lab.simulate.graph_files import ranked
from periplus_lab.simulate.histories import HistorySettings, generate_histories
from periplus_lab.simulate.network import NetworkSettings
from periplus_lab.simulate.recording import record_crawl, record_refresh
from periplus_lab.simulate.runs import PolicyChoice

WEB = ranked(generate(WebSettings(pages=300, sites=12, ok=0.8, seed=4)))


def record(folder: Path) -> None:
    record_crawl(folder, WEB, PolicyChoice("opic"), NetworkSettings(), seed=1)


def test_a_crawl_is_in_its_tables_to_the_last_link(tmp_path: Path) -> None:
    """Every page that answers is a row of `pages`, every link of these a row of `links`, every URL was discovered."""
    record(tmp_path)
    tables = {name: read(tmp_path, name) for name in SCHEMAS}
    web = WEB.web
    well = web.status == 200
    assert tables["pages"].num_rows == int(well.sum())
    links = (web.starts[1:] - web.starts[:-1])[well]
    assert tables["links"].num_rows == int(links.sum())
    assert set(tables["discoveries"]["url"].to_pylist()) == set(web.names())
    fetched = tables["fetches"].filter(pc.field("status") == 200)
    assert pc.sum(fetched["bytes"]).as_py() == int(web.size[well].sum())
    assert tables["sitemap_entries"].num_rows == tables["changes"].num_rows == 0
    assert not list(tmp_path.glob(".spool*"))


def test_tables_are_never_written_over(tmp_path: Path) -> None:
    """Two runs in one folder would be a table of nothing."""
    record(tmp_path)
    with pytest.raises(UsageError, match="already"):
        record(tmp_path)


def test_a_refresh_is_in_its_tables_fetch_by_fetch(tmp_path: Path) -> None:
    """A row of `fetches` and one of `changes` for every fetch; changed rows are the fetches that were not needless."""
    histories = generate_histories(HistorySettings(pages=200, days=20, seed=2))
    told = record_refresh(tmp_path, histories, "conventional", 0.3, seed=2)
    changes = read(tmp_path, "changes")
    assert read(tmp_path, "fetches").num_rows == changes.num_rows == told.fetches
    changed = changes.filter(pc.field("is_change")).num_rows
    assert changed / told.fetches == pytest.approx(1 - told.needless)
    assert read(tmp_path, "discoveries").num_rows == 200
