"""Elements of a page by a parser that is not ours (libxml2's), for tests that look at what was written."""

from __future__ import annotations

from typing import Any, cast

from lxml.html import fromstring


def elements(page: str | bytes, path: str) -> list[Any]:
    """What an XPath expression finds: elements of lxml, or strings."""
    return cast("list[Any]", fromstring(page).xpath(path))
