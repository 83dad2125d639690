"""Texts alone are those of the whole page."""

from __future__ import annotations

from tests.each_case import each_case

from periplus.content import read_page, read_texts

URL = "https://www.example.org/guide/page"
PAGES = {
    "a page": b"""<html lang=de><head><title>T</title><base href=/other/><meta name=description content=D>
    <link rel=canonical href=canonical><meta name=tdm-reservation content=1></head>
    <body><nav><a href=x>menu</a></nav><main><h1>T</h1><p>Words of the page, more of them than of its menu.
    <form action=/q><input name=q></form></main></body></html>""",
    "latin-1": "<title>Stra\xdfe</title><p>Die Stra\xdfe ist lang".encode("latin-1"),
    "plain text": b"only words",
    "nothing": b"",
    "a picture": b"\x89PNG\r\n\x1a\n" + b"\0" * 64,
}


@each_case("name", PAGES)
def test_texts_are_those_of_the_page(name: str) -> None:
    use = [("content-usage", "train-ai=n")]
    whole = read_page(PAGES[name], URL, None, robots_tags=["noarchive"], use_headers=use)
    texts = read_texts(PAGES[name], URL, None, robots_tags=["noarchive"], use_headers=use)
    for field in ("url", "base", "charset", "mime", "title", "description", "language", "text", "main_text"):
        assert getattr(texts, field) == getattr(whole, field)
    assert (texts.canonical, texts.directives, texts.preferences) == (
        whole.canonical,
        whole.directives,
        whole.preferences,
    )
    assert set(texts.problems) <= set(whole.problems)
