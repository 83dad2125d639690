"""What every `Rows` promises, and what every `State` promises of its typed values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Struct

from periplus.model import (
    AddressVisits,
    CollectionDamaged,
    Delegation,
    DomainVisits,
    Field,
    Form,
    FormRow,
    LinkChunk,
    Rows,
    Site,
    SiteVisits,
    TreeUse,
    Url,
)
from periplus.store import DiskState, State

LONG = "l" * 600 + ".test"
DELEGATIONS = (
    Delegation(Site("c.test"), Url("https://a.test/r"), 1),
    Delegation(Site("d.test"), Url("http://a.test/"), 0),
)
FORM = Form(Url("http://a.test/find"), "GET", (Field("q", "text"), Field("y", "select", "", ("1", "2"), True, "Year")))
ROWS: dict[str, tuple[Callable[[State], Rows[Any]], str, list[Struct]]] = {
    "visits": (
        lambda state: state.visits,
        "site",
        [
            SiteVisits(Site("a.test"), 3, 1.5, 7, 2.5, 3, 4, DELEGATIONS, True, True, True),
            SiteVisits(Site("b.test:81"), 1, float("inf"), 255),
            SiteVisits(Site(LONG), 1, 0.0, 0),
        ],
    ),
    "addresses": (
        lambda state: state.addresses,
        "key",
        [AddressVisits(0, 0.0), AddressVisits(2**64 - 1, float("inf"), 0, True), AddressVisits(2**63, 1.25, 3)],
    ),
    "domains": (
        lambda state: state.domains,
        "domain",
        [DomainVisits("a.test"), DomainVisits(LONG, 2**40, 7, True), DomainVisits("é.test", hosts=1)],
    ),
    "forms": (
        lambda state: state.forms,
        "key",
        [
            FormRow(0, Site("a.test"), Url("http://a.test/"), FORM, "search", "found", "", 1.5),
            FormRow(2**64 - 1, Site(LONG), Url("http://a.test/é"), FORM, "login", "refused", "form-kind", 2.5),
            FormRow(
                7,
                Site("b.test"),
                Url("https://b.test/"),
                FORM,
                "search",
                "open",
                "",
                0.0,
                "latin-1",
                3,
                b"\x00\xff",
                1,
                2,
                1,
                5,
                4,
                1e9,
            ),
        ],
    ),
    "trees": (
        lambda state: state.trees,
        "tree",
        [TreeUse("a.test/map.xml", 3, 2**40, 2**50), TreeUse(LONG), TreeUse("é", entries=1)],
    ),
    "recent links": (
        lambda state: state.recent_links,
        "number",
        [LinkChunk(0, b""), LinkChunk(1, b"\x00\xff" * 30_000), LinkChunk(256, b"x")],
    ),
}


@pytest.fixture(params=ROWS)
def case(request: pytest.FixtureRequest, state: State) -> tuple[Rows[Any], str, list[Any]]:
    """A table of the state, the field by which its rows are known, and some rows."""
    table, key, rows = ROWS[request.param]
    return table(state), key, rows


def test_rows_are_kept_whole(case: tuple[Rows[Any], str, list[Any]]) -> None:
    """Every field comes back, by the key of each row and by iteration; an unknown key has no row."""
    rows, key, given = case
    assert list(rows) == []
    assert rows.get(getattr(given[0], key)) is None
    rows.put(given)
    assert [rows.get(getattr(row, key)) for row in given] == given
    assert sorted(rows, key=lambda row: getattr(row, key)) == sorted(given, key=lambda row: getattr(row, key))


def test_a_row_put_again_replaces_the_last(case: tuple[Rows[Any], str, list[Any]]) -> None:
    """Within one call, too: the last counts."""
    rows, key, (first, second, third) = case
    renamed = [type(row)(getattr(first, key), *_fields(row)[1:]) for row in (first, second, third)]
    rows.put([first, second])
    rows.put(renamed[1:2])
    assert rows.get(getattr(first, key)) == renamed[1]
    rows.put([renamed[1], renamed[2], renamed[0]])
    assert rows.get(getattr(first, key)) == first
    assert len(list(rows)) == 2


def test_rows_are_removed_by_key(case: tuple[Rows[Any], str, list[Any]]) -> None:
    """Also while they are iterated; keys that are not there do not matter."""
    rows, key, given = case
    rows.put(given)
    keys = [getattr(row, key) for row in given]
    rows.remove(keys[:1])
    rows.remove(keys[:2])
    assert list(rows) == given[2:]
    rows.remove(getattr(row, key) for row in rows)
    assert list(rows) == []


def _fields(row: Any) -> list[Any]:
    return [getattr(row, name) for name in row.__struct_fields__]


class Inner(Struct, array_like=True):
    """A part of a value."""

    number: int = 0
    names: list[str] = []


class Outer(Struct):
    """A value with parts."""

    inner: Inner
    maybe: bytes | None = None
    by_number: dict[int, Inner] = {}


class Other(Struct):
    """A value of another type."""

    text: str


def test_there_is_one_value_of_each_type(state: State) -> None:
    """The last one put, whole; none of a type of which none was put."""
    assert state.meta(Outer) is None
    state.put_meta(Outer(Inner(1)))
    value = Outer(Inner(2, ["a", "b"]), b"\x00\xff", {2**40: Inner(3)})
    state.put_meta(value)
    state.put_meta(Other("text"))
    assert state.meta(Outer) == value
    assert state.meta(Other) == Other("text")
    assert state.meta(Inner) is None


def test_values_are_copies(state: State) -> None:
    """Working on what was put, or on what was read, changes nothing that is kept."""
    given = Outer(Inner(1, ["a"]))
    state.put_meta(given)
    given.inner.names.append("b")
    read = state.meta(Outer)
    assert read == Outer(Inner(1, ["a"]))
    read.inner.names.append("c")
    assert state.meta(Outer) == Outer(Inner(1, ["a"]))


def test_a_value_of_another_format_is_damage(tmp_path: Any) -> None:
    """A state on disk that was written by another version says what to do."""
    state = DiskState(tmp_path)
    state.put_meta(_other_outer())
    with pytest.raises(CollectionDamaged, match="cannot be read"):
        state.meta(Outer)
    state.close()


def _other_outer() -> Struct:
    """A value of a type with the same name and other fields."""
    kind = type("Outer", (Struct,), {"__annotations__": {"inner": str}, "inner": "text"})
    made: Struct = kind()
    return made
