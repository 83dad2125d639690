"""Settings: whatever they are, what is written is read back as the same; whatever a file holds, errors are ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from periplus.collection.config.fields import duration_text, parse_duration, parse_size, settings_of, size_text
from periplus.collection.config.settings import Config
from periplus.model import ConfigError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ADDRESSES = st.dictionaries(TEXT, st.sampled_from(["127.0.0.1", "::1"]), max_size=3)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(1, 2**62),
    float: st.floats(0.0, 1e12, allow_nan=False),
    bool: st.booleans(),
    str: TEXT,
    tuple[str, ...]: st.lists(TEXT, max_size=30).map(tuple),
    dict[str, str]: ADDRESSES,
    dict[str, float]: st.dictionaries(TEXT, st.floats(0.0, 1000.0), max_size=3),
}


def _values(kind: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(get_args(kind)) if get_origin(kind) is Literal else VALUES[kind]


SETTINGS = [
    (f"{table}.{name}", field.type)
    for table, room in settings_of(Config).items()
    for name, field in settings_of(room.type).items()
]
OPTIONS = st.lists(st.sampled_from(SETTINGS), max_size=12, unique=True).flatmap(
    lambda chosen: st.fixed_dictionaries({name: _values(kind) for name, kind in chosen})
)


def mistake(action: Callable[[], object]) -> ConfigError | None:
    try:
        action()
    except ConfigError as error:
        return error
    return None


@pytest.mark.proof
@given(OPTIONS)
def test_settings_survive_the_file(options: dict[str, Any]) -> None:
    """`parse(dump(c)) == c` for every configuration that can be."""
    try:
        config = Config().with_options(options)
    except ConfigError:
        assume(False)
    assert Config.parse(config.dump()) == config


@given(st.text(max_size=200) | TEXT.map(lambda text: f"[crawl]\n{text} = 1") | TEXT.map(lambda text: f"[{text}]"))
def test_any_text_is_settings_or_an_error_with_a_hint(text: str) -> None:
    """Never another exception, and always something to type next."""
    error = mistake(lambda: Config.parse(text))
    assert error is None or error.hint


@given(st.dictionaries(st.sampled_from([name for name, _ in SETTINGS]), st.none() | TEXT | st.lists(st.integers())))
def test_any_value_is_taken_or_refused(options: dict[str, Any]) -> None:
    """Whatever type a value has."""
    error = mistake(lambda: Config().with_options(options))
    assert error is None or str(error)


@given(st.floats(0.001, 1e9), st.integers(0, 2**62))
def test_quantities_are_read_back(seconds: float, size: int) -> None:
    """What is written for people says exactly the same."""
    assume("e" not in repr(seconds))
    assert parse_duration(duration_text(seconds)) == seconds
    assert parse_size(size_text(size)) == size
