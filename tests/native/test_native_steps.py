"""Time is linear in the size of a page, whatever it holds: counted in steps, which are the same at every run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.native.scanner_driver import BLOCKS, EVENTS, HOSTILE, SECTIONS, build_counted, read_all

SIZE = 1 << 14
MOST_STEPS = 100
"""Steps a byte. References without semicolons take most, about 50."""

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler")


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C part of the scanner, counting its steps."""
    return build_counted(tmp_path_factory.mktemp("driver"))


@pytest.mark.parametrize(
    "flags", [pytest.param(0, marks=pytest.mark.slow, id="columns"), pytest.param(BLOCKS | EVENTS | SECTIONS, id="all")]
)
def test_steps_are_linear_in_size(driver: Path, flags: int) -> None:
    """Twice the size takes about twice the steps."""
    once = read_all(driver, [shape(SIZE) for shape in HOSTILE.values()], flags)
    twice = read_all(driver, [shape(2 * SIZE) for shape in HOSTILE.values()], flags)
    ratios = {name: b.steps / a.steps for name, a, b in zip(HOSTILE, once, twice, strict=True)}
    assert {name: ratio for name, ratio in ratios.items() if ratio > 2.3} == {}
    costs = {name: round(read.steps / (2 * SIZE)) for name, read in zip(HOSTILE, twice, strict=True)}
    assert {name: cost for name, cost in costs.items() if cost > MOST_STEPS} == {}


def test_steps_are_counted(driver: Path) -> None:
    """The counter sees both the code and the bytes that are looked at on its behalf."""
    tags, comment = read_all(driver, [b"<p>a" * 1000, b"<!--" + b"x" * 4000], 0)
    assert tags.steps > 10_000
    assert 250 <= comment.steps < tags.steps
