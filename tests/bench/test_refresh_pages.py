"""docs/refresh_policies.md has every refresh policy: what it follows, its rule, its curve and its numbers."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench.policy_pages import BEGIN, END
from bench.refresh_pages import PAGE, PLOTS, measure_refreshing, write_refresh_pages
from tests.each_case import each_case

from bench import refresh_pages
from periplus.model import UsageError
from periplus_lab.simulate.histories import HistorySettings
from periplus_lab.simulate.refresh import refresh_policies

DOCS = Path(__file__).resolve().parents[2] / "docs"


@each_case("name", refresh_policies())
def test_every_refresh_policy_is_described_and_has_its_plot(name: str) -> None:
    """With numbers between the marks."""
    text = (DOCS / PAGE).read_text()
    assert f"\n| `{name}`" in text
    measured = text.partition(BEGIN)[2].partition(END)[0]
    assert f"| [`{name}`]({PLOTS}/{name}.svg) |" in measured
    assert ElementTree.parse(DOCS / PLOTS / f"{name}.svg").getroot().tag.endswith("svg")


def test_no_plot_is_of_nothing_here() -> None:
    """A policy that was renamed takes its plot along."""
    assert {path.stem for path in (DOCS / PLOTS).glob("*.svg")} == set(refresh_policies())


def test_numbers_go_between_the_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written by hand stays; a page without a place for numbers is an error."""
    monkeypatch.setattr(refresh_pages, "REPETITIONS", 1)
    monkeypatch.setattr(refresh_pages, "BUDGETS", (0.05, 0.1, 0.2, 0.5))
    small = HistorySettings(pages=8, sites=2, days=6)
    told: list[tuple[int, int]] = []
    found = measure_refreshing(chance=small, regular=small, progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1]
    with pytest.raises(UsageError, match=r"refresh_policies\.md"):
        write_refresh_pages(tmp_path, found)
    (tmp_path / PLOTS).mkdir(parents=True)
    (tmp_path / PAGE).write_text(f"# Policies\n\nby hand\n\n{BEGIN}\nold\n{END}\n\nafter\n")
    assert len(write_refresh_pages(tmp_path, found)) == 1 + len(refresh_policies())
    text = (tmp_path / PAGE).read_text()
    assert text.startswith("# Policies\n\nby hand\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
