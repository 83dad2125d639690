"""Bits of URLs: both ways to ask give the same answers, and rows in memory are those of the table."""

from __future__ import annotations

import struct
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from periplus.model import FirstSeen, Granularity, Lastmod, Source, Url, UrlRecord
from periplus.store.state import linked
from periplus.store.state.compiled import compiled
from periplus.store.state.environment import Environment
from periplus.store.state.linked import LinkedUrls, unchanged_in_python
from periplus.store.state.rows import pack_record

PLACES = st.integers(0, 20_000).map(lambda number: number.to_bytes(8, "big"))
TIMES = st.floats(allow_nan=False)
ROWS = st.builds(lambda time, bits: struct.pack(">d", time) + bits, TIMES, st.binary(max_size=512))
SEEN = st.lists(
    st.builds(FirstSeen, st.sampled_from([Source.LINK, Source.SITEMAP]), st.sampled_from([1.0, 2.0, 3.0])),
    min_size=1,
    max_size=3,
)
LASTMODS = st.none() | st.just(Lastmod(5.0, Granularity.SECOND))
RECORDS = st.builds(
    lambda seen, lastmod, visits, reason: UrlRecord(
        Url("https://a.test/"), tuple(seen), 1, lastmod=lastmod, visits=visits, reason=reason
    ),
    SEEN,
    LASTMODS,
    st.integers(0, 1),
    st.sampled_from(["", "robots"]),
)


@given(
    asked=st.lists(st.tuples(st.none() | PLACES, st.none() | TIMES), max_size=40),
    rows=st.dictionaries(PLACES.map(linked._key), ROWS, max_size=5),
)
def test_compiled_and_python_answer_the_same(
    asked: list[tuple[bytes | None, float | None]], rows: dict[bytes, bytes]
) -> None:
    unchanged = compiled("unchanged")
    if unchanged is None:
        pytest.skip("nothing is compiled")
    missing: tuple[list[bytes], list[bytes]] = ([], [])
    lists = [place for place, _ in asked], [at for _, at in asked]
    assert unchanged(*lists, rows, missing[0]) == unchanged_in_python(*lists, rows, missing[1])
    assert missing[0] == missing[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ([b"12345678"], [], {}, []),
        ([b"1234567"], [1.0], {}, []),
        (["12345678"], [1.0], {}, []),
        ([b"12345678"], ["1"], {}, []),
        ([b"12345678"], [1.0], {b"1234560": b"short"}, []),
        ([b"12345678"], [1.0], {b"1234560": 1}, []),
    ],
)
def test_wrong_arguments_raise(arguments: tuple[object, ...]) -> None:
    unchanged = compiled("unchanged")
    if unchanged is None:
        pytest.skip("nothing is compiled")
    with pytest.raises((TypeError, ValueError)):
        unchanged(*arguments)


@given(record=RECORDS)
def test_the_time_of_a_link_is_that_of_the_record(record: UrlRecord) -> None:
    times = [seen.at for seen in record.first_seen if seen.source is Source.LINK]
    is_refused = bool(record.reason) and not record.visits
    assert linked._linked_at(pack_record(record, "/")) == (None if is_refused else max(times, default=None))


def test_rows_in_memory_are_bounded_and_follow_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read once, and forgotten when they are many."""
    monkeypatch.setattr(linked, "REMEMBERED", 3)
    environment = Environment(tmp_path)
    bits = LinkedUrls(environment)
    places = [number.to_bytes(8, "big") for number in range(0, 40_960, 2_048)]
    rows = {
        refused: pack_record(
            UrlRecord(Url("https://a.test/"), (FirstSeen(Source.LINK, 1.0),), reason="robots" if refused else ""), "/"
        )
        for refused in (False, True)
    }
    for is_refused in (False, True, False):
        bits.put([(place, rows[is_refused]) for place in places])
        for start in range(0, len(places), 4):
            part: list[bytes | None] = list(places[start : start + 4])
            assert bits.find(part, [1.0] * 4) == [not is_refused] * 4
            assert bits.find(part, [0.5] * 4) == [False] * 4
            assert len(bits._rows) <= 3 + 2
    read: list[object] = []
    monkeypatch.setattr(bits._table, "get_many", read.append)
    assert bits.find([places[-1], None], [1.0, 1.0]) == [True, False]
    assert not read
    bits.forget_site(bytes(4))
    monkeypatch.undo()
    assert bits.find([*places], [1.0] * len(places)) == [False] * len(places)
    environment.close()
