"""The tree of a page, and one walk over it: the elements its readers ask for, by tag name, in document order.

A walk costs less than several, and looking for few names less than looking for many. So one walk looks for everything
but anchors, of which there are so many that telling them from the rest would cost more than a walk of their own (see
`links`), and it looks only for names that the bytes of the page hold (see `tags`).

Scripting is off, as in a browser without scripts: what is in `<noscript>` is part of the page. `<template>` is not.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import Final

import numpy as np
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from .tags import KEYS, Tags, key_of

ROLE: Final = "[role]"
"""Under this name are the elements that have a role and none of the names we look for."""

_NAMES: Final = (
    *("meta", "link", "base", "title", "area", "iframe", "frame", "img", "video", "audio", "source", "form"),
    *("main", "article", "nav", "aside", "footer", "header", "script", "style", "noscript"),
)
_KEYS: Final = np.array([key_of(name) for name in _NAMES])
_IS_NAME: Final = frozenset(_NAMES)
_IMG, _IMAGE = key_of("img"), key_of("image")
_NO_EVENTS: Final = LexborDocumentOptions.WO_EVENTS.value

Elements = dict[str, list[LexborNode]]


def parse(html: bytes) -> LexborHTMLParser:
    """The tree of a page in UTF-8, by the parsing algorithm of the HTML Standard."""
    return LexborHTMLParser(html, options=_NO_EVENTS)


def elements_of(tree: LexborHTMLParser, tags: Tags) -> Elements:
    """The elements of a page that somebody reads, by name."""
    is_there = np.zeros(KEYS, dtype=np.bool_)
    is_there[tags.keys] = True
    is_there[_IMG] |= is_there[_IMAGE]  # the parser makes one of the other
    found: Elements = defaultdict(list)
    last = 0
    for node in tree.css(_selector(is_there[_KEYS].tobytes())):
        if node.mem_id != last:  # an element with a name and a role comes twice
            last = node.mem_id
            name = node.tag or ""
            found[name if name in _IS_NAME else ROLE].append(node)
    return found


@lru_cache(maxsize=4096)
def _selector(is_there: bytes) -> str:
    return ", ".join([name for name, there in zip(_NAMES, is_there, strict=True) if there] + [ROLE])
