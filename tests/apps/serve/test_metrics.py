"""`/metrics` says what the page promises, in both formats, with figures that are the crawl's own."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parsed_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parsed
from tests.apps.serve.conftest import Serving
from tests.apps.serve.crawled_live import crawling, small_lab

import periplus
from periplus.collection.collection import tally_of
from periplus.collection.control import ControlClient
from periplus.store.layout import Layout
from periplus_lab.server import RunningLab, Server

pytest_plugins = ["periplus_lab.pytest_plugin"]

DOCS = Path(__file__).parents[3] / "docs"
DOCUMENTED = re.findall(r"^\| `(periplus_[a-z_]+)` \|", (DOCS / "live.md").read_text(), re.MULTILINE)


@pytest.fixture
def web(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    return small_lab(start_lab)


def name_of(kind: str, name: str) -> str:
    """As it is written in queries: counters end with `_total`."""
    return f"{name.removesuffix('_total')}_total" if kind == "counter" else name


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parsed(text)
        for sample in family.samples
    }


@pytest.mark.proof
def test_every_name_is_documented_and_every_documented_name_is_there(folder: Path, serving: Serving) -> None:
    text = serving(folder).get("/metrics", {"Accept": "text/plain"}).text
    assert sorted(name_of(family.type, family.name) for family in parsed(text)) == sorted(DOCUMENTED)
    assert len(DOCUMENTED) == len(set(DOCUMENTED)) > 20


def test_openmetrics_is_for_those_who_accept_it(folder: Path, serving: Serving) -> None:
    site = serving(folder)
    reply = site.get("/metrics", {"Accept": "application/openmetrics-text; version=1.0.0"})
    assert reply.headers["content-type"].startswith("application/openmetrics-text")
    assert reply.text.endswith("# EOF\n")
    families = parsed_openmetrics(reply.text)  # type: ignore[no-untyped-call]
    names = {name_of(family.type, family.name) for family in families}
    assert names == set(DOCUMENTED)
    assert site.get("/metrics").headers["content-type"].startswith("text/plain")


def test_figures_are_those_of_the_collection(folder: Path, serving: Serving) -> None:
    """And of this server's searches."""
    site = serving(folder)
    for _ in range(3):
        site.get("/api/search", q="product")
    found = samples(site.get("/metrics").text)
    tally = tally_of(Layout(folder))
    own = ("collection", folder.name)
    assert found["periplus_pages_total", (own, ("kind", "new"))] == tally.new > 15
    assert found["periplus_fetch_bytes_total", (own,)] == tally.downloaded
    assert found["periplus_fetches_total", (own, ("outcome", "fetched"), ("purpose", "page"))] >= tally.pages
    fetches = sum(value for (name, _), value in found.items() if name == "periplus_fetches_total")
    assert found["periplus_fetch_duration_seconds_count", (own,)] == fetches > 0
    assert found["periplus_fetch_duration_seconds_bucket", (own, ("le", "+Inf"))] == fetches
    assert found["periplus_search_queries_total", (own,)] == 3
    assert found["periplus_search_duration_seconds_count", (own,)] == 3
    assert found["periplus_index_documents", (own,)] == periplus.open(folder).index().total
    assert found["periplus_build_info", (("version", periplus.__version__),)] == 1
    assert found["periplus_process_resident_memory_bytes", ()] > 10_000_000
    assert ("periplus_leases", (own,)) not in found


def test_figures_of_a_running_crawl_grow_and_it_is_ready(web: RunningLab, tmp_path: Path, serving: Serving) -> None:
    out = tmp_path / "c"
    own = ("collection", "c")
    with crawling(web, out), ControlClient(out) as crawl:
        site = serving(out)
        found = samples(site.get("/metrics").text)
        assert found["periplus_checkpoint_timestamp_seconds", (own,)] > 1.7e9
        assert found["periplus_checkpoint_duration_seconds", (own,)] > 0
        assert found["periplus_cut_off", (own,)] == 0
        states = {dict(labels)["state"] for name, labels in found if name == "periplus_sites"}
        assert states == {"ready", "resting", "visited", "backing_off"}
        crawl.ask("pause")
        progress = crawl.ask("status")["progress"]
        found = samples(site.get("/metrics").text)
        assert found["periplus_pages_total", (own, ("kind", "new"))] >= progress["tally"]["new"] > 0
        assert found["periplus_queue_urls", (own,)] > 0
        assert site.get("/healthz").status == 200
        ready = site.ask("GET", "/readyz", {})
        assert (ready.status, ready.json) == (200, {"is_ready": True, "reasons": []})


def test_a_lost_collection_is_not_ready(folder: Path, tmp_path: Path, serving: Serving) -> None:
    """It says which; the server itself is well."""
    out = tmp_path / "c"
    shutil.copytree(folder, out)
    site = serving(out)
    (out / "state" / "shard-00" / "data.mdb").write_bytes(b"damaged" * 1000)
    reply = site.ask("GET", "/readyz", {})
    assert reply.status == 503
    assert reply.json == {"is_ready": False, "reasons": ["c cannot be opened"]}
    assert site.get("/healthz").status == 200


def test_metrics_need_a_token_where_there_is_one(folder: Path, serving: Serving) -> None:
    site = serving(folder, token="o" * 20, viewer_token="v" * 20)
    assert site.ask("GET", "/metrics", {}).status == 401
    assert site.ask("GET", "/metrics", {"Authorization": f"Bearer {'v' * 20}"}).status == 200
    assert site.ask("GET", "/healthz", {}).status == 200


def test_the_dashboard_asks_for_names_that_exist() -> None:
    board = json.loads((DOCS / "grafana.json").read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked = {name for query in queries for name in re.findall(r"periplus_[a-z_]+", query)}
    assert len(queries) > 10
    assert {re.sub(r"_bucket$", "", name) for name in asked} <= set(DOCUMENTED)
