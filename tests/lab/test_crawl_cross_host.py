"""A sitemap that lists pages of other hosts is believed where those hosts' own robots.txt name it, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.crawling import crawl, rows
from tests.lab.scripted_web import ScriptedWeb, page, urlset

HOSTS = [f"http://{name}.test/" for name in ("files", "vouches", "silent", "later", "other")]


def listed_by(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in rows(folder, "select url, source from discoveries where refused is null"):
        found.setdefault(row["url"], set()).add(row["source"])
    return found


def said() -> dict[str, str | bytes]:
    web: dict[str, str | bytes] = {host: page(host) for host in HOSTS}
    web |= {f"{host}listed": page(f"{host} listed") for host in HOSTS}
    web["http://files.test/index.xml"] = (
        '<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        "<sitemap><loc>http://files.test/maps.xml</loc></sitemap></sitemapindex>"
    )
    web["http://files.test/maps.xml"] = urlset(*(f"{host}listed" for host in HOSTS))
    web["http://files.test/robots.txt"] = "Sitemap: http://files.test/index.xml\n"
    web["http://vouches.test/robots.txt"] = "Sitemap: http://files.test/index.xml\n"
    web["http://other.test/robots.txt"] = "Sitemap: http://other.test/none.xml\n"
    return web


@pytest.mark.parametrize("workers", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_hosts_that_name_the_file_are_believed_and_no_others(tmp_path: Path, workers: int) -> None:
    """In whatever order the files come, and in whichever shard a host is."""
    with ScriptedWeb(said()) as web:
        crawl(tmp_path, HOSTS, web.settings, workers)
    found = listed_by(tmp_path)
    assert found.get("http://files.test/listed") == {"sitemap"}
    assert found.get("http://vouches.test/listed") == {"sitemap"}
    assert {url for url in found if url.endswith("listed")} == {
        "http://files.test/listed",
        "http://vouches.test/listed",
    }


def test_a_host_that_speaks_up_later_is_believed_then(tmp_path: Path) -> None:
    """What the file says of it was read and not believed: it is read again, though it says what it said."""
    with ScriptedWeb(said()) as web:
        first = [host for host in HOSTS if "later" not in host]
        crawl(tmp_path, first, web.settings)
        assert "http://later.test/listed" not in listed_by(tmp_path)
        web.said["http://later.test/robots.txt"] = "Sitemap: http://files.test/index.xml\n"
        web.asked.clear()
        crawl(tmp_path, HOSTS, web.settings)
    assert listed_by(tmp_path)["http://later.test/listed"] == {"sitemap"}
    assert web.asked.count("http://files.test/maps.xml") == 1
