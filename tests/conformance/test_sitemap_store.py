"""What every `SitemapRows` promises."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from periplus.model import InvariantError, Site, SitemapFileRow, SitemapRows
from periplus.store import DiskState, State

A, B = Site("a.test"), Site("b.test")


@pytest.fixture
def forest(state: State) -> SitemapRows:
    return state.forest


def row(name: str, due_at: float = 0.0, site: Site = A, content: bytes | None = None) -> SitemapFileRow:
    return SitemapFileRow(f"https://{site}/{name}", site, due_at, name.encode() if content is None else content)


def keys(*rows: SitemapFileRow) -> list[str]:
    return [each.key for each in rows]


def test_what_was_put_is_got(state: State, forest: SitemapRows) -> None:
    """Aligned with what is asked for; what was not put is None; keys may be longer than those of any table."""
    one, long, empty = row("one"), row("x" * 5_000), row("empty", content=b"")
    forest.put([one, long, empty])
    for _ in range(2):
        found = forest.get(["https://nobody.test/", *keys(long, one, empty, one)])
        assert found == [None, long.row, b"one", b"", b"one"]
        assert len(forest) == 3
        state.commit()


def test_what_is_put_again_replaces_what_was(forest: SitemapRows) -> None:
    """Its row, its site and its time; also within a batch. It is one file."""
    key = "https://a.test/map.xml"
    forest.put([SitemapFileRow(key, A, 1.0, b"1"), SitemapFileRow(key, A, 2.0, b"2")])
    assert (forest.get([key]), forest.next_due(), len(forest)) == ([b"2"], 2.0, 1)
    forest.put([SitemapFileRow(key, B, 3.0, b"3")])
    assert (forest.get([key]), forest.next_due(), len(forest)) == ([b"3"], 3.0, 1)
    assert (list(forest.of_site(A)), list(forest.of_site(B)), list(forest)) == ([], [b"3"], [b"3"])


def test_the_longest_due_comes_first(forest: SitemapRows) -> None:
    """Of those due at the same time, who was put first; a negative time is a time."""
    rows = [row("d", 7.0), row("b", 5.0), row("c", 5.0), row("a", -1e9), row("e", 7.5)]
    forest.put(rows)
    assert forest.due(7.0, 99) == keys(rows[3], rows[1], rows[2], rows[0])
    assert forest.due(7.0, 2) == keys(rows[3], rows[1])
    assert (forest.due(-2e9, 99), forest.due(7.0, 0)) == ([], [])


def test_who_is_due_stays_due_until_put_again(state: State, forest: SitemapRows) -> None:
    """Asking changes nothing, so that nothing is lost when a process dies between asking and fetching."""
    forest.put([row("a", 1.0), row("b", 2.0)])
    for _ in range(2):
        assert forest.due(5.0, 9) == keys(row("a"), row("b"))
        state.commit()
    forest.put([row("a", 9.0)])
    assert (forest.due(5.0, 9), forest.next_due()) == (keys(row("b")), 2.0)
    forest.put([row("b", 9.0)])
    assert forest.due(9.0, 9) == keys(row("a"), row("b")), "b was put later"


def test_what_is_never_due_is_kept_and_not_due(forest: SitemapRows) -> None:
    """A file that retired stays known; somebody may wake it."""
    forest.put([row("a", math.inf), row("b", 1.0)])
    assert (forest.due(math.inf, 9), forest.next_due()) == (keys(row("b")), 1.0)
    forest.put([row("b", math.inf)])
    assert (forest.due(math.inf, 9), forest.next_due(), len(forest)) == ([], None, 2)
    forest.put([row("a", 3.0)])
    assert forest.due(3.0, 9) == keys(row("a"))


def test_a_time_that_is_not_a_number_is_refused(forest: SitemapRows) -> None:
    """And nothing of its batch is kept."""
    with pytest.raises(InvariantError):
        forest.put([row("a", 1.0), row("b", math.nan)])
    assert (len(forest), forest.next_due()) == (0, None)


def test_files_are_found_by_site(forest: SitemapRows) -> None:
    """Each once, and only those that lie there; also while they are put again."""
    forest.put([row(str(number), number) for number in range(600)] + [row("x", 0.0, B)])
    seen = []
    for content in forest.of_site(A):
        seen.append(content)
        forest.put([row(content.decode(), 9_999.0)])
    assert sorted(seen) == sorted(str(number).encode() for number in range(600))
    assert list(forest.of_site(B)) == [b"x"]
    assert list(forest.of_site(Site("nobody.test"))) == []
    assert len(list(forest)) == len(forest) == 601


def test_nothing_is_known_at_first(forest: SitemapRows) -> None:
    """Nothing is found, and nothing fails."""
    assert (forest.get(["x"]), forest.due(9.0, 9), forest.next_due(), len(forest)) == ([None], [], None, 0)
    assert (list(forest), list(forest.of_site(A)), forest.memory("x")) == ([], [], b"")
    forest.remember("x", b"")
    forest.put([])
    assert len(forest) == 0


@pytest.mark.parametrize("size", [1, 4_079, 4_080, 4_081, 600_020, 2_000_000])
def test_what_a_file_said_is_remembered(state: State, forest: SitemapRows, size: int) -> None:
    """Whatever its size; for each file its own, whether or not there is a row of it."""
    memory = bytes(number * 7 % 251 for number in range(251)) * (size // 251 + 1)
    forest.remember("one", memory[:size])
    forest.remember("other", b"other")
    for _ in range(2):
        assert forest.memory("one") == memory[:size]
        assert (forest.memory("other"), forest.memory("nobody")) == (b"other", b"")
        state.commit()
    assert len(forest) == 0


def test_what_a_file_said_is_replaced_and_forgotten(forest: SitemapRows) -> None:
    """A longer memory leaves nothing behind a shorter one."""
    for memory in (b"l" * 50_000, b"s" * 5_000, b"m" * 20_000, b"", b"t", b""):
        forest.remember("one", memory)
        assert forest.memory("one") == memory


def test_many_times_over(forest: SitemapRows) -> None:
    """Putting files again and again, each time due later, does not leave their old times behind."""
    for turn in range(40):
        forest.put([row(str(number), turn * 10.0 + number) for number in range(20)])
    assert forest.due(1e9, 99) == keys(*(row(str(number)) for number in range(20)))
    assert forest.next_due() == 390.0


def test_it_is_kept_with_the_rest(tmp_path: Path) -> None:
    """On disk: what was committed is there after a crash, what was not is not, rows and memories alike."""
    state = DiskState(tmp_path)
    state.forest.put([row("a", 1.0)])
    state.forest.remember("https://a.test/a", b"said" * 5_000)
    state.commit()
    state.forest.put([row("a", 9.0), row("b", 0.0)])
    state.forest.remember("https://a.test/a", b"")
    state.close()
    state = DiskState(tmp_path)
    assert (state.forest.due(9.0, 9), state.forest.next_due()) == (keys(row("a")), 1.0)
    assert state.forest.memory("https://a.test/a") == b"said" * 5_000
    state.close()


def test_it_is_read_by_those_who_cannot_write(tmp_path: Path) -> None:
    """A reader sees the last commit, and nothing where there is no forest; it cannot write."""
    DiskState(tmp_path).close()
    reader = DiskState.read_only(tmp_path)
    assert (list(reader.forest), reader.forest.memory("x"), len(reader.forest)) == ([], b"", 0)
    reader.close()
    state = DiskState(tmp_path)
    state.forest.put([row("a", 1.0)])
    state.commit()
    state.close()
    reader = DiskState.read_only(tmp_path)
    assert (list(reader.forest), list(reader.forest.of_site(A))) == ([b"a"], [b"a"])
    with pytest.raises(InvariantError):
        reader.forest.put([row("b", 1.0)])
    reader.close()
