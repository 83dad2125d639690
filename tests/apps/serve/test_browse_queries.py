"""The page about what people searched for."""

from __future__ import annotations

from pathlib import Path

from tests.apps.serve.asking import PATIENCE, Site
from tests.apps.serve.manual import change_settings

from periplus.apps.search.query_log import FILE, read_queries
from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings


def test_owners_see_what_was_not_found(manual_folder: Path) -> None:
    """First; strangers see nothing, and nothing is kept unless the settings say so."""
    token = "o" * 20
    own = {"Authorization": f"Bearer {token}"}
    settings = ServeSettings(port=0, timeout=PATIENCE, token=token, public_search=True)
    with running(Served((manual_folder,), settings)) as url:
        site = Site(url)
        site.get("/", q="locks")
        assert "query_log = true" in site.get("/collection/queries", own).text
        change_settings(manual_folder, serve__query_log=True)
        site.get("/", q="locks")
        site.get("/", q="locks", page="2")
        for query in ("caching", "xyzzy", "plugh", "Xyzzy"):
            site.get("/api/search", q=query)
        found = site.get("/api/collection/queries", own).json
        missing, frequent = found["tables"]
        assert [(row["query"], row["times"]) for row in missing["rows"]] == [("Xyzzy", 1), ("plugh", 1)]
        assert {row["query"] for row in frequent["rows"]} == {"locks", "caching", "Xyzzy", "plugh"}
        shown = site.get("/collection/queries", own).text
        assert shown.index("Not found") < shown.index("Most frequent")
        assert site.get("/api/collection/queries").status == 401
        assert site.get("/api/collection/queries", own, table="missing", format="csv").text.count("\n") == 3
        site.get("/", q="late")
    assert [each.query for each in read_queries(manual_folder)][-1] == "late"
    assert "127.0.0.1" not in (manual_folder / FILE).read_text()
    change_settings(manual_folder, serve__query_log=False)
