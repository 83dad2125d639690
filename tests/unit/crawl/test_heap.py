"""The heap in which each item stands once."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from periplus.crawl.frontier.agenda import Agenda


def test_smallest_first_and_among_equals_who_came_first() -> None:
    """An agenda is fair to equals, so that runs can be repeated."""
    agenda: Agenda[float, str] = Agenda()
    for item, key in (("b", 2.0), ("a", 1.0), ("c", 1.0)):
        agenda.put(item, key)
    assert agenda.first == 1.0
    assert [agenda.pop(), agenda.pop(), agenda.pop(), agenda.pop()] == ["a", "c", "b", None]
    assert agenda.first is None


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.one_of(st.none(), st.integers(0, 5).map(float)))))
def test_it_is_a_sorted_dict(steps: list[tuple[str, float | None]]) -> None:
    """Putting again moves, dropping takes out: what is first is what a plain dict says is first."""
    agenda: Agenda[float, str] = Agenda()
    plain: dict[str, float] = {}
    for item, key in steps:
        if key is None:
            agenda.drop(item)
            plain.pop(item, None)
        else:
            agenda.put(item, key)
            plain[item] = key
        assert agenda.first == min(plain.values(), default=None)
        assert len(agenda) == len(plain)
        assert all(agenda.key(each) == plain.get(each) for each in "abcde")
    left = [agenda.pop() for _ in plain]
    assert [plain[item] for item in left if item] == sorted(plain.values())


def test_moving_about_takes_no_room() -> None:
    """Old entries are thrown away before they outnumber the new ones, also those that would never come to the top."""
    agenda: Agenda[float, int] = Agenda()
    chance = Random(1)
    for _ in range(50_000):
        agenda.put(chance.randrange(100), chance.random() * 1e9)
        assert agenda.weight <= 2 * len(agenda) + 17
