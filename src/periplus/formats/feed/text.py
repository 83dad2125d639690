"""Plain text of what feeds put in titles and summaries: text, HTML in text, or XHTML."""

from __future__ import annotations

import re
from html import unescape

_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--[^<>]*-->")


def plain(text: str, longest: int) -> str:
    """Text that may be HTML, without its markup, white space folded, of at most `longest` characters.

    RSS never said whether a title is HTML; most that look like it are.
    """
    text = text[: longest * 16]
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "&" in text:
        text = unescape(text)
    return folded(text, longest)


def folded(text: str, longest: int) -> str:
    """White space folded, of at most `longest` characters."""
    return " ".join(text[: longest * 16].split())[:longest].rstrip()
