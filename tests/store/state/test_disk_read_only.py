"""The state of a shard, looked at by another process than the one that crawls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from msgspec.structs import replace

from periplus.model import FirstSeen, Lane, Queued, Site, Source, Url, UrlRecord
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


_WRITER = """
import sys
from pathlib import Path
from periplus.model import FirstSeen, Lane, Site, Source, Url, UrlRecord
from periplus.store import DiskState

state = DiskState(Path(sys.argv[1]))
state.queues.remove(state.queues.heads(Site("a.test"), Lane.DISCOVERY, 1))
state.records.put([UrlRecord(Url("https://a.test/1"), (FirstSeen(Source.SEED, 1.0),), visits=7)])
state.commit()
state.close()
"""


def test_a_reader_moves_on_with_a_commit(tmp_path: Path) -> None:
    """What it has read before is not held over `commit`."""
    writer = DiskState(tmp_path)
    known = UrlRecord(URL, (FirstSeen(Source.SEED, 1.0),))
    writer.records.add_new([known])
    first, second = writer.queues.push(
        [Queued(Url(f"https://a.test/{number}"), Site("a.test"), Lane.DISCOVERY, 0) for number in (1, 2)]
    )
    writer.commit()
    writer.close()
    reader = DiskState.read_only(tmp_path)
    assert reader.queues.heads(Site("a.test"), Lane.DISCOVERY, 1) == [first]
    assert reader.records.get([URL]) == [known]
    subprocess.run([sys.executable, "-c", _WRITER, tmp_path], check=True)
    assert reader.records.get([URL]) == [known]
    reader.commit()
    assert reader.queues.heads(Site("a.test"), Lane.DISCOVERY, 1) == [second]
    assert reader.records.get([URL]) == [replace(known, visits=7)]
    reader.close()
