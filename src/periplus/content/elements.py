"""The tree of a page, and one walk over it: the elements its readers ask for, by tag name, in document order.

A walk costs less than several, and looking for few names less than looking for many. So one walk looks for everything
but anchors, of which there are so many that telling them from the rest would cost more than a walk of their own (see
`links`), and it looks only for names of which the bytes of the page hold more (see `tags`) than the head has children.

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
_IS_NAME: Final = frozenset(_NAMES)
_PLACES: Final = np.full(KEYS, len(_NAMES), dtype=np.intp)
_PLACES[[key_of(name) for name in _NAMES]] = np.arange(len(_NAMES))
_PLACES[key_of("image")] = _NAMES.index("img")  # the parser makes one of the other
_NO_EVENTS: Final = LexborDocumentOptions.WO_EVENTS.value

Elements = dict[str, list[LexborNode]]


def parse(html: bytes) -> LexborHTMLParser:
    """The tree of a page in UTF-8, by the parsing algorithm of the HTML Standard."""
    return LexborHTMLParser(html, options=_NO_EVENTS)


def elements_of(tree: LexborHTMLParser, tags: Tags) -> Elements:
    """The elements of a page that somebody reads, by name."""
    found: Elements = defaultdict(list)
    if tree.head is not None:
        for node in tree.head.iter():
            found[node.tag or ""].append(node)
    counts = np.bincount(_PLACES[tags.keys], minlength=len(_NAMES)).tolist()
    names = tuple(name for name, count in zip(_NAMES, counts, strict=False) if count > len(found[name]))
    for name in names:
        found[name].clear()
    last = 0
    for node in tree.css(_selector(names)):
        if node.mem_id != last:  # an element with a name and a role comes twice
            last = node.mem_id
            name = node.tag or ""
            found[name if name in _IS_NAME else ROLE].append(node)
    return found


@lru_cache(maxsize=4096)
def _selector(names: tuple[str, ...]) -> str:
    return ", ".join((*names, ROLE))
