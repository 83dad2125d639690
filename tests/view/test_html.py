"""Tables in HTML: values by their kind, and nothing of strangers that is markup."""

from __future__ import annotations

from tests.markup import elements

from periplus.view.html import html_table
from periplus.view.values import Column, Sheet, counts

EVIL = "<script>alert(1)</script>"
TABLE = Sheet(
    name="t",
    title=EVIL,
    columns=(Column("site", EVIL), Column("url", "URL", "url"), counts("pages"), Column("severity", "", "severity")),
    rows=[
        {"site": EVIL, "url": "http://a.test/", "pages": 1200, "severity": "error"},
        {"site": None, "url": "javascript:alert(2)", "pages": None, "severity": "notice"},
    ],
)


def test_values_are_written_by_their_kind() -> None:
    """Numbers with their value to sort by, URLs as links if they are of the web, a dash for what is not known."""
    cells = [[each.text_content() for each in row.xpath("td")] for row in elements(html_table(TABLE), "//tbody/tr")]
    assert cells == [[EVIL, "http://a.test/", "1,200", "error"], ["–", "javascript:alert(2)", "–", "notice"]]
    assert [each.get("href") for each in elements(html_table(TABLE), "//a")] == ["http://a.test/"]
    assert [each.get("data-v") for each in elements(html_table(TABLE), "//td[@data-v]")] == ["1200", "0", "2"]


def test_text_of_strangers_is_no_markup() -> None:
    """Neither in a cell, nor in a title, nor in a link that sorts."""
    text = html_table(TABLE, sorts=("site",), sort=lambda name: f'?sort={name}"{EVIL}')
    assert elements(text, "//script") == []
    assert len(elements(text, "//th/a")) == 1
