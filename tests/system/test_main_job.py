"""The main job as a person types it: crawl, a kill, the same command again, watch, index, search, serve."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

from tests.lab.scripted_web import ScriptedWeb, page, urlset
from tests.system.typed import Run, running, wait_until

from periplus.collection.config.settings import Config

SITES = [f"http://{name}.test/" for name in ("anchor", "bow", "cable", "deck", "ebb", "fathom")]
PAGES = 40
NEW = "a rare cormorant was seen from the quay"


def scripted() -> dict[str, str | bytes]:
    """Six sites of forty pages that link to each other; half of the pages are only listed."""
    said: dict[str, str | bytes] = {}
    for number, site in enumerate(SITES):
        links = [f"{site}p{n}" for n in range(0, PAGES, 2)]
        said[site] = page(f"home of {site}", SITES[number - 1], *links)
        said |= {f"{site}p{n}": page(f"page {n} of {site} about knots and harbours {n}") for n in range(PAGES)}
        said[f"{site}robots.txt"] = f"Sitemap: {site}s.xml"
        said[f"{site}s.xml"] = urlset(*(f"{site}p{n}" for n in range(1, PAGES, 2)))
    return said


def test_crawl_kill_continue_watch_index_search_serve(run: Run, tmp_path: Path) -> None:
    """With two processes; what was asked for before the kill and answered is not asked for again."""
    folder = str(tmp_path / "sea")
    with ScriptedWeb(scripted()) as web:
        settings = web.settings | {"crawl.workers": 2, "refresh.shortest": 0.2, "churn.instant": 0.0}
        (tmp_path / "asked.toml").write_text(Config().with_options(settings).dump())
        crawl = ("crawl", *SITES, "-o", folder, "--config", str(tmp_path / "asked.toml"), "--json")

        with running(*crawl) as process:
            wait_until(lambda: len(web.asked) > len(SITES) * PAGES // 4, process)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        ended = run(*crawl)
        assert ended.returncode == 0, ended.stderr
        assert json.loads(ended.stdout)["pages"] == len(SITES) * (PAGES + 1)
        twice = Counter(web.asked)
        assert set(web.said) <= set(twice)
        assert sum(twice[url] > 1 for url in web.said) < len(web.said) / 4

        web.said[f"{SITES[1]}p7"] = page(NEW)
        web.asked.clear()
        with running("watch", folder, "--budget", "100,000,000/day", "--json") as process:
            wait_until(lambda: f"{SITES[1]}p7" in web.asked and len(web.asked) > len(web.said), process)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=600)
        assert process.returncode == 130

    assert run("index", folder).returncode == 0
    found = json.loads(run("search", folder, "cormorant", "--json").stdout)
    assert [hit["url"] for hit in found["hits"]] == [f"{SITES[1]}p7"]

    with running("serve", folder, "--port", "0") as process:
        assert process.stderr is not None
        while (said := re.search(r"http://127\.0\.0\.1:(\d+)", process.stderr.readline())) is None:
            assert process.poll() is None
        with closing(HTTPConnection("127.0.0.1", int(said[1]))) as served:
            served.request("GET", "/?q=cormorant")
            assert b"cormorant</mark> was seen" in served.getresponse().read()
