"""docs/orderings.md has every ordering: what it follows, its settings, its curve and its numbers."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench.policy_pages import BEGIN, END, PAGE, PLOTS, measure, section_of, write_pages
from tests.each_case import each_case

from bench import policy_pages
from periplus.model import UsageError
from periplus.policy.ordering import ordering, orderings
from periplus_lab.simulate.generated import WebSettings

DOCS = Path(__file__).resolve().parents[2] / "docs"


@each_case("name", orderings())
def test_every_ordering_is_described_and_has_its_plot(name: str) -> None:
    """With its settings and defaults, and numbers between the marks."""
    text = (DOCS / PAGE).read_text()
    made = ordering(name, oracle=lambda _: 0.0)
    for setting in inspect.signature(type(made)).parameters.values():
        if setting.name != "oracle":
            row = rf"^\|[^|]*`{name}`[^|]*\| `{setting.name}` \| {setting.default:g} \|"
            assert re.search(row, text, re.MULTILINE), (name, setting.name)
    measured = text.partition(BEGIN)[2].partition(END)[0]
    assert f"]({PLOTS}/{name}.svg) |" in measured
    assert ElementTree.parse(DOCS / PLOTS / f"{name}.svg").getroot().tag.endswith("svg")


def test_no_plot_is_of_nothing() -> None:
    """An ordering that was renamed takes its plot along."""
    assert {path.stem for path in (DOCS / PLOTS).glob("*.svg")} == set(orderings())


@pytest.mark.slow
def test_numbers_go_between_the_marks_and_the_same_ones_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written by hand stays; the same seeds give the same bytes."""
    monkeypatch.setattr(policy_pages, "REPETITIONS", 2)
    names = ["opic", *policy_pages.BESIDE]
    monkeypatch.setattr(policy_pages, "orderings", lambda: names)
    web = WebSettings(pages=60, sites=3)
    (tmp_path / PLOTS).mkdir()
    (tmp_path / PAGE).write_text(f"# Orderings\n\nby hand\n\n{BEGIN}\nold\n{END}\n\nafter\n")
    told: list[tuple[int, int]] = []
    found = measure(small=web, paper=web, progress=lambda done, total: told.append((done, total)))
    assert len(write_pages(tmp_path, found)) == 1 + len(names)
    text = (tmp_path / PAGE).read_text()
    assert text.startswith("# Orderings\n\nby hand\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert told[-1][0] == told[-1][1]
    again = measure(small=web, paper=web)
    assert section_of(names, again) == section_of(names, found)
    before = (tmp_path / PLOTS / "opic.svg").read_bytes()
    write_pages(tmp_path, again)
    assert (tmp_path / PAGE).read_text() == text
    assert (tmp_path / PLOTS / "opic.svg").read_bytes() == before


def test_a_page_without_a_place_for_numbers_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new ordering needs a page before it gets numbers."""
    monkeypatch.setattr(policy_pages, "REPETITIONS", 1)
    web = WebSettings(pages=20, sites=2)
    with pytest.raises(UsageError, match=r"orderings\.md") as refused:
        write_pages(tmp_path, measure(small=web, paper=web))
    assert BEGIN in refused.value.hint
