"""Preferences about use, and llms.txt, in the tables and the index of a crawl."""

from __future__ import annotations

from pathlib import Path

from tests.lab.crawling import crawl
from tests.lab.scripted_web import ScriptedWeb, page

from periplus.collection.collection import existing
from periplus.collection.config.settings import Config
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
    """The page that does not want to be searched is crawled, its link is followed, and it is not in the index.

    The links of llms.txt are read as those of a sitemap, with their names; other sites are not listed by it.
    """
    said: dict[str, str | bytes] = {
        HOME: page("home", "/hidden"),
        f"{HOME}hidden": page("hidden", "/beyond"),
        f"{HOME}beyond": page("beyond"),
        f"{HOME}guided": page("guided"),
        f"{HOME}robots.txt": ROBOTS,
        f"{HOME}llms.txt": "# Site\n\n## Docs\n- [A guided page](/guided): note\n- [Elsewhere](http://b.test/x)\n",
    }
    with ScriptedWeb(said) as web:
        crawl(tmp_path, [HOME], web.settings | {"sitemaps.follow": True, "sitemaps.llms_txt": True})
    (tmp_path / "periplus.toml").write_text(Config().with_options({"crawl.seeds": [HOME]}).dump())
    with Views(tmp_path, spooled=existing(tmp_path).layout.spooled) as views:
        rows = {row["url"]: row for row in views.rows("select * from pages")}
        found = views.rows("select * from discoveries where source = 'sitemap' and is_new")
        listed = {row["url"]: row["title"] for row in views.rows("select * from sitemap_entries where title <> ''")}
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
    assert indexed == {HOME, f"{HOME}beyond", f"{HOME}guided"}
    assert [(row["url"], row["source"], row["referrer"]) for row in found] == [
        (f"{HOME}guided", "sitemap", f"{HOME}llms.txt")
    ]
    assert listed == {f"{HOME}guided": "A guided page", "http://b.test/x": "Elsewhere"}
