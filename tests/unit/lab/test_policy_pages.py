"""Every ordering has a page: what it follows, its settings, its curve and its numbers, measured by one command."""

from __future__ import annotations

import inspect
from pathlib import Path
from xml.etree import ElementTree

import pytest

from periplus.lab.simulate import policy_pages
from periplus.lab.simulate.generated import WebSettings
from periplus.lab.simulate.policy_pages import BEGIN, END, measure, plot_of, section_of, write_page, write_pages
from periplus.model import UsageError
from periplus.policy.ordering import ordering, orderings

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "policies"


@pytest.mark.parametrize("name", orderings())
def test_every_ordering_has_its_page_and_plot(name: str) -> None:
    """With its settings and defaults, and numbers between the marks."""
    text = (FOLDER / f"{name}.md").read_text()
    assert text.startswith(f"# `{name}`")
    made = ordering(name, oracle=lambda _: 0.0)
    for setting in inspect.signature(type(made)).parameters.values():
        if setting.name != "oracle":
            assert f"| `{setting.name}` | {setting.default:g} |" in text
    measured = text.partition(BEGIN)[2].partition(END)[0]
    assert f"({name}.svg)" in measured
    assert f"| **`{name}`** |" in measured
    assert ElementTree.parse(FOLDER / f"{name}.svg").getroot().tag.endswith("svg")


def test_no_page_is_of_nothing() -> None:
    """An ordering that was renamed takes its page along."""
    assert {path.stem for path in FOLDER.glob("*.md")} == set(orderings())
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(orderings())


def test_numbers_go_between_the_marks_and_the_same_ones_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written by hand stays; the same seeds give the same bytes."""
    monkeypatch.setattr(policy_pages, "REPETITIONS", 2)
    names = ["opic", *policy_pages.BESIDE]
    monkeypatch.setattr(policy_pages, "orderings", lambda: names)
    web = WebSettings(pages=60, sites=3)
    for name in names:
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nby hand\n\n{BEGIN}\nold\n{END}\n\nafter\n")
    told: list[tuple[int, int]] = []
    found = measure(small=web, paper=web, progress=lambda done, total: told.append((done, total)))
    written = write_pages(tmp_path, found)
    assert len(written) == 2 * len(names)
    text = (tmp_path / "opic.md").read_text()
    assert text.startswith("# opic\n\nby hand\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert told[-1][0] == told[-1][1]
    again = measure(small=web, paper=web)
    assert {name: section_of(name, again) for name in names} == {name: section_of(name, found) for name in names}
    before = (tmp_path / "opic.svg").read_bytes()
    write_page(tmp_path, "opic", plot_of("opic", again), section_of("opic", again))
    assert (tmp_path / "opic.md").read_text() == text
    assert (tmp_path / "opic.svg").read_bytes() == before


def test_a_page_without_a_place_for_numbers_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new ordering needs a page before it gets numbers."""
    monkeypatch.setattr(policy_pages, "REPETITIONS", 1)
    web = WebSettings(pages=20, sites=2)
    with pytest.raises(UsageError, match=r"batch\.md") as refused:
        write_pages(tmp_path, measure(small=web, paper=web))
    assert BEGIN in refused.value.hint
