"""Single pages that a program has, without a collection."""

from __future__ import annotations

from periplus.formats.encodings import decode
from periplus.store.export import markdown
from periplus.store.export.documents import markdown_of, read_body

_NOWHERE = "file:///pages/page.html"
"""What stands for the URL of a page that has none."""


def to_markdown(html: str | bytes, url: str = "") -> str:
    """The main text of a page in Markdown. Bytes are decoded as the page declares.

    Links are made absolute with `url`; without it, relative links are written as their texts.
    """
    body = html.encode("utf-8", "replace") if isinstance(html, str) else html
    fields = [("content-type", "text/html; charset=utf-8")] if isinstance(html, str) else []
    read = read_body(body, url or _NOWHERE, fields)
    page, source = read.page, read.made_html or body
    if url:
        return markdown_of(page, source, read.shown)
    text = read.shown or decode(source, page.charset).encode("utf-8", "replace")
    return markdown.to_markdown(text, "", title=page.title) or page.text
