"""What sitemaps say of pages, as weights: in means of a site, where its priorities say anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.store.test_ranks import write

from periplus.engine.sitemaps.ranks import listed_priorities
from periplus.engine.sitemaps.settings import ScoreSettings
from periplus.model import Url

SETTINGS = ScoreSettings(least_entries=2)


def entry(site: str, path: str, priority: float | None) -> dict[str, object]:
    said: dict[str, object] = {"url": f"https://{site}/{path}", "kind": "page", "priority": priority}
    return said | {"sitemap": f"https://{site}/sitemap.xml", "read_at": 1}


def summary(site: str) -> dict[str, object]:
    return {"kind": "summary", "sitemap": f"https://{site}/sitemap.xml", "read_at": 1}


def test_priorities_are_multiples_of_the_mean_of_their_site(tmp_path: Path) -> None:
    """A page without one has the protocol's default; a site that says the same of all pages says nothing."""
    write(
        tmp_path,
        "sitemap_entries",
        [
            *(entry("a.test", path, priority) for path, priority in (("0", 1.0), ("1", 0.5), ("2", None), ("3", 0.0))),
            summary("a.test"),
            *(entry("b.test", str(n), 1.0) for n in range(4)),
            summary("b.test"),
        ],
    )
    ranks = listed_priorities(tmp_path, (), SETTINGS)
    assert [ranks.get(Url(f"https://a.test/{n}")) for n in range(4)] == pytest.approx([2.0, 1.0, 1.0, 0.0])
    assert ranks.get(Url("https://b.test/0")) is None
    assert len(listed_priorities(tmp_path / "nothing", (), SETTINGS)) == 0
