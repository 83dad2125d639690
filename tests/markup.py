"""Elements of a page by a parser that is not ours (libxml2's), for tests that look at what was written."""

from __future__ import annotations

from typing import Any, cast

from lxml.html import HTMLParser, document_fromstring


def elements(page: str | bytes, path: str) -> list[Any]:
    """What an XPath expression finds in a page in UTF-8: elements of lxml, or strings."""
    source = page.encode("utf-8", "replace") if isinstance(page, str) else page
    return cast("list[Any]", document_fromstring(source, parser=HTMLParser(encoding="utf-8")).xpath(path))
