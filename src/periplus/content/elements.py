"""The tree of a page, and one walk over it: the elements its readers ask for, by tag name, in document order.

The parser hands over all elements in one call, and telling those we want by the number of their name costs less than
to search for them, because a selector is compared with every element, name by name. In a large page it is the other way
round: there are thousands of elements, and its tags, which were looked at already, tell which names to search for.

Scripting is off, as in a browser without scripts: what is in `<noscript>` is part of the page. `<template>` is not.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from .tags import TagCounter, Tags

ROLE: Final = "[role]"
"""Under this name are the elements that have a role and none of the names we look for, links apart."""

_NAMES: Final = (
    *("a", "meta", "link", "base", "title", "area", "iframe", "frame", "img", "video", "audio", "source", "form"),
    *("main", "article", "nav", "aside", "footer", "header", "script", "style", "noscript"),
)
_NO_EVENTS: Final = LexborDocumentOptions.WO_EVENTS.value

Elements = dict[str, list[LexborNode]]
Counts = dict[str, int]


def _numbers() -> dict[int, str]:
    """The parser's number of each name."""
    tree = LexborHTMLParser("")
    return {tree.create_node(name).tag_id: name for name in _NAMES}


_NAME_OF: Final = _numbers()
_BEFORE_ROLE: Final = {number: name for number, name in _NAME_OF.items() if name != "a"}
_COUNTER: Final = TagCounter(_NAMES[1:], {"image": "img"})  # the parser makes one of the other


def parse(html: bytes) -> LexborHTMLParser:
    """The tree of a page in UTF-8, by the parsing algorithm of the HTML Standard."""
    return LexborHTMLParser(html, options=_NO_EVENTS)


def count_names(tags: Tags) -> Counts:
    """How many elements of each name there can be at most, in a page whose tags were looked at."""
    return dict(zip(_NAMES[1:], _COUNTER.counts(tags), strict=False))


def elements_of(tree: LexborHTMLParser, counts: Counts | None = None) -> Elements:
    """The elements of a page that somebody reads, by name. In a large page, counts of them help to find them."""
    if counts is not None:
        return _searched(tree, counts)
    found: Elements = defaultdict(list)
    for node in [node for node in tree.tags("*") if node.tag_id in _NAME_OF]:
        found[_NAME_OF[node.tag_id]].append(node)
    for node in tree.css(ROLE):
        if node.tag_id not in _BEFORE_ROLE:
            found[ROLE].append(node)
    return found


def _searched(tree: LexborHTMLParser, counts: Counts) -> Elements:
    """The same by a search for the names of which the page holds more than its head has children."""
    found: Elements = defaultdict(list)
    for node in tree.head.iter() if tree.head is not None else ():
        found[_BEFORE_ROLE.get(node.tag_id, "")].append(node)
    names = [name for name, count in counts.items() if count and count > len(found[name])]
    for name in names:
        found[name].clear()
    last = 0
    for node in tree.css(", ".join((*names, ROLE))):
        if node.mem_id != last:  # an element with a name and a role comes twice
            last = node.mem_id
            found[_BEFORE_ROLE.get(node.tag_id, ROLE)].append(node)
    found["a"] = tree.tags("a")
    return found
