"""Nothing is lost or added by accident: what people and programs rely on is what `recorded` has, line by line.

`python -m tests.record --write` records what the code does now; the diff then says what a change means for users.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from tests.record import replaying, surface
from tests.record.answers import Asked, small_collection
from tests.record.recording import JSON_KEYS, OF_CODE, OF_COLLECTION, RECORDED


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """A small collection, and the keys of everything that was asked of it."""
    return small_collection(tmp_path_factory.mktemp("record"))


def compare(name: str, found: str) -> None:
    """Fail with the difference from what is recorded."""
    recorded = (RECORDED / name).read_text()
    if found != recorded:
        lines = difflib.unified_diff(recorded.splitlines(), found.splitlines(), f"recorded/{name}", "now", lineterm="")
        pytest.fail(
            f"{name} is not what was recorded. If that is meant: python -m tests.record --write\n" + "\n".join(lines),
            pytrace=False,
        )


@pytest.mark.proof
@pytest.mark.parametrize("name", OF_CODE)
def test_the_code_is_as_recorded(name: str) -> None:
    compare(name, OF_CODE[name]())


@pytest.mark.proof
@pytest.mark.parametrize("name", OF_COLLECTION)
def test_a_collection_is_as_recorded(name: str, asked: Asked) -> None:
    compare(name, OF_COLLECTION[name](asked.folder / "small"))


def test_json_has_the_recorded_keys(asked: Asked) -> None:
    compare(JSON_KEYS, asked.text())


@pytest.mark.proof
@pytest.mark.parametrize("name", replaying.CASES)
def test_recorded_inputs_have_the_recorded_effects(name: str, tmp_path: Path) -> None:
    compare(f"replay_{name}.txt", replaying.replayed(name, tmp_path))


def test_every_record_is_compared() -> None:
    """No file is left over from a subject that is gone."""
    compared = {*OF_CODE, *OF_COLLECTION, JSON_KEYS, *(f"replay_{name}.txt" for name in replaying.CASES)}
    assert {path.name for path in RECORDED.iterdir() if path.is_file()} == compared


def test_commands_in_the_docs_can_be_typed() -> None:
    """Every `$ periplus ...` of the docs names a command, options and choices that are there."""
    typed = surface.documented_commands()
    assert len(typed) > 100
    assert [(line, problem) for line, problem in typed if problem] == []


def test_commands_that_cannot_be_typed_are_found() -> None:
    for words in (["crwl"], ["crawl", "--nope"], ["crawl", "--scope", "moon"], ["info"], ["judge", "a", "b"], []):
        assert surface.problem_of(words), words
