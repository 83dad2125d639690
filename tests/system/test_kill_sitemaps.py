"""A crawl that is killed while it reads long files: all that they list is there in the end, every row once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.scripted_web import ScriptedWeb, urlset
from tests.system.crawled import Asked, begin, entries_of, finish, rows

FILES, ENTRIES = 3, 2000


@pytest.fixture(scope="module")
def web() -> Iterator[ScriptedWeb]:
    """A site whose index names some long files."""
    said: dict[str, str | bytes] = {"http://a.test/robots.txt": "Sitemap: http://a.test/index.xml\n"}
    names = [f"http://a.test/{number}.xml" for number in range(FILES)]
    for name in names:
        said[name] = urlset(*(f"{name}/{entry} 2026-01-01" for entry in range(ENTRIES)))
    children = "".join(f"<sitemap><loc>{name}</loc></sitemap>" for name in names)
    said["http://a.test/index.xml"] = f'<?xml version="1.0"?><sitemapindex>{children}</sitemapindex>'
    with ScriptedWeb(said) as serving:
        yield serving


def asked(web: ScriptedWeb, **options: object) -> Asked:
    """Nothing but files, committed as often as can be."""
    settings = web.settings | {"engine.checkpoint_interval": 0.001, "engine.checkpoint_share": 1.0}
    settings |= {"engine.checkpoint_outcomes": 1, "tables.rows_per_group": 200, "tables.rows_per_file": 2000}
    return Asked(("http://a.test/",), settings | {name.replace("__", "."): value for name, value in options.items()})


@pytest.mark.slow
def test_files_are_read_on_from_where_they_are_kept(web: ScriptedWeb, tmp_path: Path) -> None:
    """A file that has arrived is not asked for again, however often its reader dies; and no row is there twice."""
    what = asked(web, sitemaps__only=True)
    finish(tmp_path / "whole", what)
    web.asked.clear()
    chance = random.Random(3)
    lives = 0
    for _ in range(12):
        process = begin(tmp_path / "killed", what, chance.randrange(10, 40))
        process.join(600)
        lives += 1
        if process.exitcode == 0:
            break
    finish(tmp_path / "killed", what)
    assert lives > 2
    said = entries_of(tmp_path / "killed")
    assert said == entries_of(tmp_path / "whole")
    assert sum(kind == "page" for _, _, kind in said) == FILES * ENTRIES
    fetched = Counter(row["url"] for row in rows(tmp_path / "killed", "fetches") if row["purpose"] == "sitemap")
    assert set(fetched.values()) == {1}
    assert sum(url.endswith(".xml") for url in web.asked) <= FILES + 1 + lives
