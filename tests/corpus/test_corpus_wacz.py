"""WACZ packages of another project, and its WARC files as a collection."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from periplus.collection.importing import import_archives
from periplus.model import Problem
from periplus.store.importing import Package, check_package
from periplus.store.importing.wacz import read_pages

pytestmark = pytest.mark.corpus


def test_packages_are_judged_as_expected(corpus: Path) -> None:
    """Valid ones have no problem; signatures are named and not verified."""
    folder = corpus / "wacz_samples"
    expected = json.loads((folder / "expected.json").read_text())
    checked = 0
    for name, told in expected.items():
        if not name.endswith(".wacz"):
            continue
        found = list(check_package(folder / name))
        problems = [each.reason for each in found if isinstance(each, Problem)]
        assert (problems == []) is told["valid"], name
        [package] = [each for each in found if isinstance(each, Package)]
        assert package.is_signed is told["signed"], name
        checked += 1
    assert checked == 5


def test_lists_of_pages_are_judged_as_expected(corpus: Path) -> None:
    """A list whose first line is not JSON is not one."""
    folder = corpus / "wacz_samples"
    expected = json.loads((folder / "expected.json").read_text())
    for name, told in expected.items():
        if name.endswith(".jsonl"):
            lines = (folder / name).read_bytes().splitlines(keepends=True)
            assert (not any(isinstance(each, Problem) for each in read_pages(lines))) is told["valid"], name


def test_everything_at_once_becomes_a_collection(corpus: Path, tmp_path: Path) -> None:
    """Whole and damaged WARC, ARC and WACZ files: what is whole is imported, the rest counted."""
    done = import_archives(tmp_path / "new", [corpus / "wacz_samples", corpus / "warc_samples" / "warcio"])
    assert (done.files, done.captures) == (20, 19)
    assert {
        "bad-length": 4,
        "not-get": 3,
        "capture-left-out": 3,
        "torn": 1,
        "no-status": 1,
    }.items() <= done.problems.items()
