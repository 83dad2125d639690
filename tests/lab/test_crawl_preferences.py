"""Preferences about use, from robots.txt, headers and pages, in the tables and the index of a crawl."""

from __future__ import annotations

from pathlib import Path

from tests.lab.crawling import crawl
from tests.lab.scripted_web import ScriptedWeb, page

from periplus.assembly.collection import existing
from periplus.config import Config
from periplus.insight.views import Views

HOME = "http://a.test/"
ROBOTS = """\
User-agent: *
Content-Usage: train-ai=n
Content-Usage: /hidden search=n
Content-Signal: ai-input=no, use=reference
Allow: /
"""


def test_what_a_site_says_is_recorded_and_obeyed(tmp_path: Path) -> None:
    """The page that does not want to be searched is crawled, its link is followed, and it is not in the index."""
    said: dict[str, str | bytes] = {
        HOME: page("home", "/hidden"),
        f"{HOME}hidden": page("hidden", "/beyond"),
        f"{HOME}beyond": page("beyond"),
        f"{HOME}robots.txt": ROBOTS,
    }
    with ScriptedWeb(said) as web:
        crawl(tmp_path, [HOME], web.settings)
    (tmp_path / "periplus.toml").write_text(Config().with_options({"crawl.seeds": [HOME]}).dump())
    with Views(tmp_path, spooled=existing(tmp_path).layout.spooled) as views:
        rows = {row["url"]: row for row in views.rows("select * from pages")}
        indexed = {row["url"] for row in views.rows("select url from indexed")}
    home, hidden = rows[HOME], rows[f"{HOME}hidden"]
    assert [home[use] for use in ("search", "ai_input", "train", "use", "tdm")] == [
        None, "disallow", "disallow", "reference", None
    ]  # fmt: skip
    assert home["said_by"] == [
        "robots.txt Content-Usage: train-ai=n",
        "robots.txt Content-Signal: ai-input=no, use=reference",
    ]
    assert (hidden["search"], hidden["train"]) == ("disallow", None)
    assert indexed == {HOME, f"{HOME}beyond"}
