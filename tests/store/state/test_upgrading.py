"""States of the last format, in which a site record had a field for each part, are opened and rewritten."""

from __future__ import annotations

import math
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

import msgspec
import pytest
from msgspec import Struct

from periplus.content import ChurnRecord
from periplus.engine.revisit.gains import SiteGains
from periplus.engine.revisit.signals import ArchiveProof, SiteEvidence
from periplus.engine.sitemaps.scores import Priorities
from periplus.model import CollectionDamaged, Site, Url
from periplus.parts.absence.policy import SiteAbsence
from periplus.parts.cloaking.policy import SiteProbes, SiteRedirections
from periplus.parts.dust.learning import SiteDust
from periplus.parts.forms.part import SiteForms
from periplus.parts.render.templates import SiteRendering, TemplateTest
from periplus.policy.balance import BalanceRecord
from periplus.policy.filters.site_states import Paths, SiteFilterState, Window
from periplus.store import DiskState, Replica, SiteState
from periplus.store.state import linked, upgrading
from periplus.store.state.environment import Environment
from periplus.store.state.linked import LinkedUrls
from periplus.store.state.marks import FORMAT
from periplus.store.state.rows import name_key
from periplus.store.state.upgrading import upgraded

PLAIN, LEARNT, SHORT = Site("plain.test"), Site("learnt.test"), Site("short.test")
FILTERS = SiteFilterState(7, 1, {3: Window(1, 2, 1)}, dated=[5], ahead={6: [7]}, paths=Paths(b"1234"))
OF_FILTERS = SiteDust(pages=3, split=["ref"]), SiteRendering({4: TemplateTest()})
OF_SITE = (
    Priorities({50: 3}),
    SiteEvidence(rate=0.5, pages=7),
    SiteGains(asked=0.25),
    ArchiveProof(right=2.0),
    SiteAbsence(targets=[Url("http://learnt.test/none")]),
    SiteProbes(compared=1),
    SiteRedirections({"other.test": 2}),
    SiteForms(9),
)
SITE = SiteState(
    LEARNT, "192.0.2.1", 1.5, 2.5, 0.5, 3.5, 0.25, 1, 4, 5, "no-address", None, Url("http://a.test/"), 1, 2,
    BalanceRecord(100, 40), 6, 7, 8, 9, ChurnRecord(1), 10, True, True, 11,
)  # fmt: skip
OLD_FILTERS = [7, 1, {3: Window(1, 2, 1)}, {}, OF_FILTERS[0], [5], {6: [7]}, OF_FILTERS[1], [], Paths(b"1234")]
OLD_SITE = [
    LEARNT, "192.0.2.1", 1.5, 2.5, 0.5, 3.5, 0.25, 1, 4, 5, "no-address", OLD_FILTERS, Url("http://a.test/"), 1, 2,
    BalanceRecord(100, 40), OF_SITE[0], 6, OF_SITE[1], 7, 8, 9, ChurnRecord(1), OF_SITE[2], 10, True, True, 11,
    OF_SITE[3], OF_SITE[4], OF_SITE[5], OF_SITE[6], 9,
]  # fmt: skip
OLD_PLAIN = [
    PLAIN, None, 0.0, 0.0, None, 0.0, 0.0, 0, 0, 0, "", None, None, 0, 0, None, None, 0, None, 0, 0, 0, ChurnRecord(),
    None, 0, False, False, 0, None, None, None, None, 0,
]  # fmt: skip
OLD_SHORT = [SHORT, None, 0.0, 0.0, None, 0.0, 0.0, 0, 3, 0, "", [5, 0, {}, {}, OF_FILTERS[0]]]
ROWS = {
    name_key(site): msgspec.msgpack.encode(row)
    for site, row in ((PLAIN, OLD_PLAIN), (LEARNT, OLD_SITE), (SHORT, OLD_SHORT))
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A state of the last format."""
    state = DiskState(tmp_path)
    write_old(state)
    state.close()
    return tmp_path


def write_old(state: DiskState) -> None:
    """Commit what the version before would have."""
    state.environment.table("sites").put_many(sorted(ROWS.items()))
    state.environment.table("counters").put(b"format", b"3")
    state.commit()


def values(record: SiteState | SiteFilterState, given: tuple[Struct, ...]) -> tuple[Struct | None, ...]:
    return tuple(record.value(type(each)) for each in given)


def check(state: DiskState) -> None:
    plain, learnt, short = state.sites.get([PLAIN, LEARNT, SHORT])
    assert plain == SiteState(PLAIN)
    assert learnt is not None
    assert learnt.traps is not None
    assert values(learnt, OF_SITE) == OF_SITE
    assert values(learnt.traps, OF_FILTERS) == OF_FILTERS
    learnt.traps.values.clear()
    assert learnt.traps == FILTERS
    learnt.values.clear()
    learnt.traps = None
    assert learnt == SITE
    assert short is not None
    assert short.traps is not None
    assert (short.pages, short.values, short.traps.admitted) == (3, {}, 5)
    assert values(short.traps, OF_FILTERS) == (OF_FILTERS[0], None)
    assert {each.site for each in state.sites} == {PLAIN, LEARNT, SHORT}


def test_the_last_format_is_rewritten_once(folder: Path) -> None:
    """Nothing is lost, and what is stored afterwards is of the new format."""
    state = DiskState(folder)
    check(state)
    rows = dict(state.environment.table("sites").walk())
    assert state.environment.table("counters").get(b"format") == FORMAT
    state.close()
    again = DiskState(folder)
    check(again)
    assert dict(again.environment.table("sites").walk()) == rows
    again.close()


def test_readers_understand_the_last_format(folder: Path) -> None:
    """They rewrite nothing; and they go on when a writer has."""
    reader = DiskState.read_only(folder)
    check(reader)
    assert dict(reader.environment.table("sites").walk()) == ROWS
    write = "import sys, pathlib; from periplus.store import DiskState; DiskState(pathlib.Path(sys.argv[1])).close()"
    subprocess.run([sys.executable, "-c", write, str(folder)], check=True)
    reader.commit()
    check(reader)
    assert dict(reader.environment.table("sites").walk()) != ROWS
    reader.close()


def test_an_interrupted_upgrade_is_done_again(folder: Path) -> None:
    """Records that were rewritten before are left as they are."""
    writer = DiskState(folder)
    table = writer.environment.table("sites")
    table.put(name_key(PLAIN), ROWS[name_key(PLAIN)])
    writer.environment.table("counters").put(b"format", b"3")
    writer.commit()
    writer.close()
    again = DiskState(folder)
    check(again)
    again.close()


def test_readers_of_a_copy_leave_it_as_its_writer_wrote_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version before may still add to it; once this one writes, the copy has the new format."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    writer = DiskState(tmp_path / "node", replica=Replica(tmp_path / "home"))
    for _ in range(2):
        write_old(writer)
        reader = DiskState.read_only(tmp_path / "home")
        check(reader)
        assert dict(reader.environment.table("sites").walk()) == ROWS
        reader.close()
    writer.close()
    DiskState(tmp_path / "node", replica=Replica(tmp_path / "home")).close()
    reader = DiskState.read_only(tmp_path / "home")
    check(reader)
    assert reader.environment.table("counters").get(b"format") == FORMAT
    reader.close()


def test_bits_of_256_urls_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No bit is lost or gained, a reader leaves them as they are, and what was interrupted is continued."""
    chance = Random(1)
    sites = [*range(3), 255, 1 << 31]
    wanted = {site.to_bytes(4, "big") + chance.randrange(9000).to_bytes(4, "big") for site in sites for _ in range(200)}
    times = {place[:-1]: chance.choice((-math.inf, -1.0, 5.0, 1.7e9)) for place in sorted(wanted)}
    latest: dict[bytes, float] = {}
    state = DiskState(tmp_path)
    for key, time in times.items():
        first = linked._key(key + b"0")
        latest[first] = max(time, latest.get(first, -math.inf))
        bits = bytearray(32)
        for place in wanted:
            if place.startswith(key):
                bits[place[-1] >> 3] |= 1 << (place[-1] & 7)
        state.environment.table("linked").put(key, struct.pack(">d", time) + bits)
    state.environment.table("counters").put(b"format", b"5")
    state.commit()
    state.close()
    reader = DiskState.read_only(tmp_path)
    assert len(reader.environment.table("linked")) == len(times)
    reader.close()
    environment = Environment(tmp_path)
    monkeypatch.setattr(upgrading, "_COMMIT_EVERY", 40)
    commits: list[int] = []

    def commit() -> None:
        Environment.commit(environment)
        commits.append(1)
        if len(commits) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(environment, "commit", commit)
    with pytest.raises(KeyboardInterrupt):
        upgrading.join_bits(environment)
    environment.close()
    state = DiskState(tmp_path)
    assert len(state.environment.table("linked")) == len(latest) < len(times) / 5
    joined = LinkedUrls(state.environment)
    for number in range(9000):
        places: list[bytes | None] = [site.to_bytes(4, "big") + number.to_bytes(4, "big") for site in sites]
        for at in (4.0, 1.8e9):
            expected = [place in wanted and latest[linked._key(place)] <= at for place in places if place is not None]
            assert joined.find(places, [at] * len(places)) == expected
    state.close()


def test_rows_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(CollectionDamaged):
        upgraded(b"\xc1")
    with pytest.raises(CollectionDamaged):
        upgraded(msgspec.msgpack.encode([*OLD_PLAIN[:11], 3]))
