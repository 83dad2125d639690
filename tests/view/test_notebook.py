"""What a notebook shows of results."""

from __future__ import annotations

import pytest

from periplus.view.notebook import MOST_ROWS, Displayed, ProgressLine, facts_html, rows_html


class _Row(Displayed, frozen=True):
    url: str
    score: float


class _Result(Displayed, frozen=True):
    pages: int
    name: str = ""
    reasons: dict[str, int] = {}  # noqa: RUF012 - msgspec copies it
    rows: tuple[_Row, ...] = ()


def test_fields_are_shown_and_markup_is_not() -> None:
    """Counts are grouped, empty fields are left out, rows are a table, and text of strangers is escaped."""
    shown = _Result(12_345, "", {"<b>": 2}, (_Row("http://a.test/<i>", 0.51234),))._repr_html_()
    assert "12,345" in shown
    assert ">name<" not in shown
    assert "&lt;b&gt; 2" in shown
    assert "0.5123" in shown
    assert "<i>" not in shown
    assert "<b>" not in shown


def test_long_tables_say_that_they_are_cut() -> None:
    """Only a screen of rows is shown, and read."""
    rows = iter([[number] for number in range(1000)])
    shown = rows_html(["number"], rows)
    assert shown.count("<tr>") == MOST_ROWS + 1
    assert f"the first {MOST_ROWS} rows" in shown
    assert next(rows) == [MOST_ROWS + 1]


def test_links_are_links() -> None:
    """A URL can be clicked; another scheme cannot."""
    assert '<a href="https://a.test/"' in facts_html([("seed", "https://a.test/")])
    assert "<a" not in facts_html([("seed", "javascript:alert(1)")])


def test_no_line_outside_of_a_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    """Scripts print nothing."""
    line = ProgressLine()
    line.show("one", is_last=True)
    line.count(1, 2)
    assert capsys.readouterr() == ("", "")
