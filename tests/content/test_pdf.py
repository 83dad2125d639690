from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.content import read_page
from periplus.content.pdf import PdfText, html_of, is_pdf, pdf_title


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (b"%PDF-1.7\n", None, True),
        (b"%PDF-1.7\n", "text/html", True),
        (b"\r\n\xef\xbb\xbf%PDF-1.4", "Application/PDF; x=y", True),
        (b"\r\n%PDF-1.4", "text/html", False),
        (b"<html>%PDF-1.4", "", False),
        (b"", "application/pdf", False),
    ],
)
def test_what_a_pdf_is(body: bytes, content_type: str | None, expected: bool) -> None:
    assert is_pdf(body, content_type) is expected


@pytest.mark.parametrize(
    ("title", "heading", "expected"),
    [
        ("A Title", "A heading", "A Title"),
        ("", "A  heading\n", "A heading"),
        ("untitled", "A heading", "A heading"),
        ("(anonymous)", "A heading", "A heading"),
        ("Untitled-1", "A heading", "A heading"),
        ("[Untitled]", "A heading", "A heading"),
        ("Untitled Document 2", "A heading", "A heading"),
        ("<unknown>", "A heading", "A heading"),
        ("Presentation1", "A heading", "A heading"),
        ("Microsoft Word - Document1", "A heading", "A heading"),
        ("my thesis.doc", "A heading", "A heading"),
        ("final_draft_v2", "A heading", "A heading"),
        ("C:\\work\\a", "A heading", "A heading"),
        ("index.html", "A heading", "A heading"),
        ("/tmp/x.ps", "A heading", "A heading"),
        ("The robots.txt of 2,000 sites", "A heading", "The robots.txt of 2,000 sites"),
        ("Title 9 of the code", "A heading", "Title 9 of the code"),
        ("TCP/IP", "A heading", "TCP/IP"),
        ("Slides about microsoft word", "A heading", "Slides about microsoft word"),
        ("Microsoft Word - thesis.doc", "A heading", "A heading"),
        ("final.pdf", "", ""),
        ("x" * 999, "", "x" * 300),
    ],
)
def test_titles(title: str, heading: str, expected: str) -> None:
    assert pdf_title(PdfText(title=title, heading=heading)) == expected


def test_long_lines_continue_and_short_ones_do_not() -> None:
    text = (
        "Contents\r\nA sentence that goes on and on to the end of its\r\nline ends here.\r\n"
        "Another one that is not div\x02\r\nided at the end of the\r\nline.\r\nx = 1\r\ny = 2\r\n"
        "• the first item of a list, which is rather long\r\n• the second"
    )
    html = html_of(PdfText((text,))).decode()
    assert "<p>Contents<br>A sentence that goes on and on to the end of its line ends here.</p>" in html
    assert "not divided at the end of the line.</p>" in html
    assert "<p>x = 1<br>y = 2<br>• the first item of a list, which is rather long<br>• the second</p>" in html


def test_pages_without_text_have_no_section() -> None:
    html = html_of(PdfText(("", "one", " \r\n "))).decode()
    assert 'id="page=2"' in html
    assert html.count("<h2") == 1


@given(st.lists(st.text(max_size=200), max_size=5), st.text(max_size=40), st.text(max_size=20))
def test_any_text_is_text(pages: list[str], title: str, language: str) -> None:
    page = read_page(
        html_of(PdfText(tuple(pages), title, language=language)),
        "https://example.org/a.pdf",
        "text/html; charset=utf-8",
    )
    assert not page.links.urls
    assert not page.forms
    assert "<" not in page.text or any("<" in each for each in pages)
