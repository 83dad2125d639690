"""Structured fields: every kind of value, what is invalid, and what is written is read again."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from tests.each_case import each_case

from periplus.formats.structured_fields import (
    Date,
    DisplayString,
    FieldItem,
    InnerList,
    Member,
    Token,
    read_dictionary,
    read_item,
    write_member,
)


@each_case(
    "invalid",
    [
        "a=",
        "a=(b",
        "a=(b c",
        "a=1.",
        "a=1.2345",
        'a="x',
        'a="\\x"',
        "a;",
        "a=b;B=1",
        "é=1",
        "a=?2",
        ",a",
        "a=(b)c",
        "=a",
    ],
)
def test_invalid_dictionaries_have_no_members(invalid: str) -> None:
    """RFC 9651 section 4.2: a field that fails to parse is ignored as a whole."""
    assert read_dictionary(invalid) is None


def test_valid_dictionaries() -> None:
    """Every kind of value is read, with its parameters."""
    read = read_dictionary(
        ' a=b/c:d ,\t*k;p=1;q="x\\"y", n=-12.345, d=@1659578233, s=%"f%c3%bc", l=(1 "two" t;x), e=(), b=:aGk:;v=?0 '
    )
    assert read == {
        "a": FieldItem(Token("b/c:d")),
        "*k": FieldItem(True, {"p": 1, "q": 'x"y'}),
        "n": FieldItem(Decimal("-12.345")),
        "d": FieldItem(Date(1659578233)),
        "s": FieldItem(DisplayString("f\u00fc")),
        "l": InnerList((FieldItem(1), FieldItem("two"), FieldItem(Token("t"), {"x": True}))),
        "e": InnerList(()),
        "b": FieldItem(b"hi", {"v": False}),
    }
    assert type(read["a"].value) is Token  # type: ignore[union-attr]
    assert read_dictionary("a=" + "b" * 5000) is None


def test_repeated_keys_and_parameters() -> None:
    """The last counts, in the place of the first; parameters that were repeated are named."""
    read = read_dictionary("a=1, b=2, a=3;x;y;x=?0")
    assert read == {"a": FieldItem(3, {"x": False, "y": True}, ("x",)), "b": FieldItem(2)}
    assert list(read) == ["a", "b"]


@each_case("text", ["", "a b", "a,", ":!:", ":A:", '%"%ff"', "1 2", "(a)"])
def test_what_is_not_an_item(text: str) -> None:
    assert read_item(text) is None


BARE = st.one_of(
    st.integers(-(10**15) + 1, 10**15 - 1),
    st.booleans(),
    st.decimals(-(10**12) + 1, 10**12 - 1, places=3),
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20),
    st.binary(max_size=20),
    st.from_regex(r"[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]{0,20}", fullmatch=True).map(Token),
    st.integers(-(10**15) + 1, 10**15 - 1).map(Date),
    st.text(st.characters(codec="utf-8"), max_size=20).map(DisplayString),
)
KEYS = st.from_regex(r"[a-z*][a-z0-9_.*-]{0,10}", fullmatch=True)
PARAMETERS = st.dictionaries(KEYS, BARE, max_size=4)
ITEMS = st.builds(FieldItem, BARE, PARAMETERS)
MEMBERS = st.one_of(ITEMS, st.builds(InnerList, st.lists(ITEMS, max_size=4).map(tuple), PARAMETERS))


@given(MEMBERS)
def test_what_is_written_is_read_again(member: Member) -> None:
    written = write_member(member)
    read = read_dictionary(f"a={written}")
    assert read == {"a": member}
    assert write_member(read["a"]) == written


@given(st.text(max_size=200))
def test_any_text_is_read_or_invalid(text: str) -> None:
    """Nothing raises; what can be read has one form."""
    for member in (read_dictionary(text) or {}).values():
        written = write_member(member)
        again = read_dictionary(f"a={written}")
        assert again is not None
        assert write_member(again["a"]) == written
