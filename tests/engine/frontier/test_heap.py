"""The heap in which each item stands once."""

from __future__ import annotations

from itertools import permutations
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from periplus.engine.frontier import IndexedHeap


def test_smallest_key_first_and_equal_keys_by_name() -> None:
    """The order does not depend on that of arrival, so that a heap filled from disk gives the same."""
    for items in permutations((("b", 2.0), ("c", 1.0), ("a", 1.0))):
        heap: IndexedHeap[float, str] = IndexedHeap()
        for item, key in items:
            heap.put(item, key, item)
        assert heap.first == 1.0
        assert [heap.pop(), heap.pop(), heap.pop(), heap.pop()] == ["a", "c", "b", None]
        assert heap.first is None


def test_pop_until_stops_at_the_limit() -> None:
    """An item whose key is the limit itself is returned."""
    heap: IndexedHeap[float, str] = IndexedHeap()
    for item, key in (("a", 1.0), ("b", 2.0), ("c", 3.0)):
        heap.put(item, key, item)
    heap.drop("a")
    assert [heap.pop_until(2.0), heap.pop_until(2.0)] == ["b", None]
    assert heap.first == 3.0


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.one_of(st.none(), st.integers(0, 5).map(float)))))
def test_it_is_a_sorted_dict(steps: list[tuple[str, float | None]]) -> None:
    """`put` moves an item, `drop` removes it; the first is the smallest of a plain dict."""
    heap: IndexedHeap[float, str] = IndexedHeap()
    plain: dict[str, float] = {}
    for item, key in steps:
        if key is None:
            heap.drop(item)
            plain.pop(item, None)
        else:
            heap.put(item, key, item)
            plain[item] = key
        assert heap.first == min(plain.values(), default=None)
        assert len(heap) == len(plain)
        assert all(heap.key(each) == plain.get(each) for each in "abcde")
    left = [heap.pop() for _ in plain]
    assert [plain[item] for item in left if item] == sorted(plain.values())


def test_moved_items_take_no_memory() -> None:
    """Stale entries are removed before they outnumber the others, also those that never come to the top."""
    heap: IndexedHeap[float, int] = IndexedHeap()
    chance = Random(1)
    for _ in range(50_000):
        item = chance.randrange(100)
        heap.put(item, chance.random() * 1e9, item)
        assert heap.weight <= 2 * len(heap) + 17


def test_stale_entry_of_the_same_key_and_name() -> None:
    """An item that was dropped may be followed by another of its name; items need not be comparable."""
    heap: IndexedHeap[float, object] = IndexedHeap()
    first, second = object(), object()
    heap.put(first, 1.0, "a")
    heap.drop(first)
    heap.put(second, 1.0, "a")
    assert [heap.pop(), heap.pop()] == [second, None]
