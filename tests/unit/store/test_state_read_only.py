"""The state of a shard, looked at by another process than the one that crawls."""

from __future__ import annotations

from pathlib import Path

from periplus.model import FirstSeen, Site, Source, Url, UrlRecord
from periplus.store import DiskState, SiteState

URL = Url("https://a.test/1")


def test_a_reader_sees_what_was_committed_in_every_table(tmp_path: Path) -> None:
    """Every table can be read, in one transaction after another."""
    writer = DiskState(tmp_path)
    writer.records.add_new([UrlRecord(URL, (FirstSeen(Source.SEED, 1.0),))])
    writer.sites.put([SiteState(Site("a.test"), pages=3), SiteState(Site("b.test"))])
    writer.mark("tally", b"one")
    writer.commit()
    writer.close()
    reader = DiskState.read_only(tmp_path)
    assert reader.records.get([URL])[0] is not None
    assert {state.site: state.pages for state in reader.sites} == {"a.test": 3, "b.test": 0}
    assert reader.marked("tally") == b"one"
    reader.commit()
    assert reader.marked("tally") == b"one"
    assert (len(reader.records), len(reader.queues), len(reader.sites)) == (1, 0, 2)
    reader.close()
