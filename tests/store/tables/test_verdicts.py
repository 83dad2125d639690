"""`store.tables.verdicts`: what a crawl judged and what jobs judged, in one shape."""

from __future__ import annotations

from pathlib import Path

from periplus.insight.views import Views
from periplus.model import SubjectJudged
from periplus.store.tables import Spooled, Tables
from periplus.store.tables.reader import rows_of
from periplus.store.tables.verdicts import scan_verdicts, write_verdicts

NOW = 1_700_000_000.0


def test_verdicts_of_a_crawl_and_of_jobs_are_rows_of_one_table(tmp_path: Path) -> None:
    """Those in Parquet, in a spool, and in the file of a judge, which its next run replaces."""
    told = [SubjectJudged(f"{name}.test", "site", "cloaking", "cloaks", 0.5, [name, "é"], NOW) for name in "ab"]
    tables = Tables(tmp_path / "tables", tmp_path / "spool", shard=0, mark=None)
    tables.record(told[:1])
    tables.settle()
    tables.record(told[1:])
    spooled = [Spooled(0, tmp_path / "spool", tables.checkpoint())]
    tables.close()
    write_verdicts(tmp_path, "spam", [SubjectJudged("old.test", "domain", "spam", "spam", 1.0, [], NOW)])
    last = SubjectJudged("c.test", "domain", "spam", "clean", 0.0, [], NOW + 0.25)
    write_verdicts(tmp_path, "spam", [last])
    write_verdicts(tmp_path, "mirrors", [])
    found = [row for batch in scan_verdicts(tmp_path, spooled) for row in rows_of(SubjectJudged, batch)]
    assert found == [*told, last]
    with Views(tmp_path, spooled=spooled) as views:
        asked = views.rows("select subject from verdicts order by subject")
    assert [row["subject"] for row in asked] == ["a.test", "b.test", "c.test"]
