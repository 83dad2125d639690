"""One pass over a page: from bytes to columns.

`scan` chooses between two scanners with the same results: `native`, in C, several times as fast, if it was built when
Periplus was installed; and `python`. The environment can choose: with `PERIPLUS_PURE=1` the Python scanner is used,
with `PERIPLUS_NATIVE=1` it is an error if the native one is missing. What a scan gives is in `columns`, how the main
text is chosen in `main_text`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from .columns import Columns, EventKind, ListedTag, TagList

__all__ = [
    "READER",
    "Columns",
    "EventKind",
    "ListedTag",
    "TagList",
    "list_tags",
    "resolve",
    "scan",
    "write_markdown",
]


Scan = Callable[[bytes, str, bool, bool, bool], Columns]
Resolve = Callable[[str, list[str]], list[str | None]]


def _choose() -> tuple[str, Scan, Resolve]:
    if os.environ.get("PERIPLUS_PURE") == "1":
        return _pure()
    try:
        from . import _native
    except ImportError:
        if os.environ.get("PERIPLUS_NATIVE") == "1":
            raise
        return _pure()
    return "native", _native.scan, _native.resolve


def _pure() -> tuple[str, Scan, Resolve]:
    """Import the scanner in Python: its tables and patterns take a tenth of the start of a program."""
    from . import python

    return "python", python.scan, python.resolve


_READER, _SCAN, _RESOLVE = _choose()
READER: Final = _READER
"""Which scanner is used: "native" or "python"."""


def scan(
    html: bytes, url: str, *, wants_blocks: bool = False, wants_events: bool = False, wants_sections: bool = False
) -> Columns:
    """Scan a page once. `html` is in UTF-8, perhaps with invalid bytes; only the first 16 MiB are read."""
    return _SCAN(html, url, wants_blocks, wants_events, wants_sections)


def list_tags(html: bytes) -> TagList:
    """The tags of a page that say something of it; `html` is in UTF-8 (see `tag_list`)."""
    if _READER == "python":
        from .tag_list import list_tags as list_in_python

        return list_in_python(html)
    from ._native import list_tags as list_natively

    tags, ids, sample, has_items = list_natively(html)
    return TagList(list(map(_LISTED, tags)), ids, sample, has_items)


def write_markdown(
    html: bytes, url: str, base: str, hooks: tuple[Any, ...]
) -> tuple[str, list[tuple[Any, ...]]] | None:
    """The main text of a page in Markdown and its blocks, if the native scanner can write it; `html` is in UTF-8.

    `hooks` are what is left to Python (`native/markdown.h` names it).
    """
    if _READER == "python":
        return None
    from ._native import write_markdown as write_natively

    return write_natively(html, url, base, hooks)


_LISTED: Final = partial(tuple.__new__, ListedTag)
"""`ListedTag._make` without a call in Python: there are hundreds of tags a page."""


def resolve(url: str, hrefs: list[str]) -> list[str | None]:
    """Resolve links that need no URL parser, `None` for others: in Python, all of them."""
    return _RESOLVE(url, hrefs)
