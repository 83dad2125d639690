"""Every refresh policy has a page: what it follows, its rule, its curve and its numbers, measured by one command."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from periplus.lab.simulate import refresh_pages
from periplus.lab.simulate.histories import HistorySettings
from periplus.lab.simulate.policy_pages import BEGIN, END
from periplus.lab.simulate.refresh import refresh_policies
from periplus.lab.simulate.refresh_pages import measure_refreshing, write_refresh_pages
from periplus.model import UsageError

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "policies" / "refresh"


@pytest.mark.parametrize("name", refresh_policies())
def test_every_refresh_policy_has_its_page_and_plot(name: str) -> None:
    """With whom it follows, and numbers between the marks; and docs/policies.md leads to it."""
    text = (FOLDER / f"{name}.md").read_text()
    assert text.startswith(f"# `{name}`")
    assert "**Follows**" in text
    measured = text.partition(BEGIN)[2].partition(END)[0]
    assert f"({name}.svg)" in measured
    assert f"| **`{name}`** |" in measured
    assert ElementTree.parse(FOLDER / f"{name}.svg").getroot().tag.endswith("svg")
    assert f"policies/refresh/{name}.md" in (FOLDER.parents[1] / "policies.md").read_text()


def test_no_page_is_of_nothing_here() -> None:
    """A policy that was renamed takes its page along."""
    for ending in ("md", "svg"):
        assert {path.stem for path in FOLDER.glob(f"*.{ending}")} == set(refresh_policies())


def test_numbers_go_between_the_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written by hand stays; a page without a place for numbers is an error."""
    monkeypatch.setattr(refresh_pages, "REPETITIONS", 1)
    monkeypatch.setattr(refresh_pages, "BUDGETS", (0.05, 0.1, 0.2, 0.5))
    small = HistorySettings(pages=30, sites=2, days=20)
    told: list[tuple[int, int]] = []
    found = measure_refreshing(chance=small, regular=small, progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1]
    with pytest.raises(UsageError, match=r"adaptive\.md"):
        write_refresh_pages(tmp_path, found)
    for name in refresh_policies():
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nby hand\n\n{BEGIN}\nold\n{END}\n\nafter\n")
    written = write_refresh_pages(tmp_path, found)
    assert len(written) == 2 * len(refresh_policies())
    text = (tmp_path / "learned.md").read_text()
    assert text.startswith("# learned\n\nby hand\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
