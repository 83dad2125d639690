"""The sections of a page that answer a query: where a result leads. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from periplus.model import PageSection

from .names import defined_name
from .reranking import AskedTerms, Floats, JoinedLists, Places, name_matches
from .term_numbers import DEFINITION, Numbers, PageTerms

MAX_SECTIONS: Final = 3
"""Sections of one page that a result shows."""
_NAME: Final = 2.0
"""How much the name of a section counts beside the words in it."""
_LEAST: Final = 0.5
"""Share of the query that a section must have, in its name or in its text."""
_PASSAGE: Final = 40
"""Words of a passage."""
_NEARLY: Final = 0.7
"""Share of the best section's score from which others are shown."""


class BestSection(Struct, frozen=True):
    """A section with where it ends in the text; `is_page` if it is the beginning of the page."""

    section: PageSection
    end: int
    is_page: bool


class ReadPage(Struct, frozen=True):
    """Where words of the query are in the text of a page, and which; how much each section is called what was typed."""

    starts: Numbers
    places: Places
    words: Places
    names: Floats


def read_pages(asked: AskedTerms, pages: Sequence[PageTerms]) -> list[ReadPage]:
    """Look for the query in pages, all at once."""
    if not pages:
        return []
    body = JoinedLists([page.body for page in pages])
    places, words = asked.found_in(body.numbers)
    names = np.maximum(
        name_matches(asked, np.concatenate([page.sections for page in pages])),
        name_matches(asked, np.concatenate([page.ids for page in pages])),
    )
    found = np.searchsorted(places, np.append(body.starts, len(body.numbers))).tolist()
    sections = np.cumsum([0, *(len(page.levels) for page in pages)]).tolist()
    return [
        ReadPage(
            page.starts,
            places[found[number] : found[number + 1]] - body.starts[number],
            words[found[number] : found[number + 1]],
            names[sections[number] : sections[number + 1]],
        )
        for number, page in enumerate(pages)
    ]


def best_sections(asked: AskedTerms, page: ReadPage, sections: Sequence[PageSection], typed: str) -> list[BestSection]:
    """The sections that can be led to and have most of the query, the best first: a name as it was typed before all."""
    linked = [place for place, section in enumerate(sections) if section.anchor]
    if not linked or len(page.starts) != len(sections):
        return []
    are_linked = np.array(linked)
    names = page.names[are_linked]
    places, words = page.places, page.words
    of_section = np.searchsorted(page.starts[are_linked], places, "right") - 1
    has = np.zeros((len(linked), len(asked)), np.bool_)
    is_inside = of_section >= 0
    has[of_section[is_inside], words[is_inside]] = True
    shares = (has @ asked.rarities) / asked.total
    name = typed.lower()
    is_called = np.zeros(len(linked), np.bool_)
    if " " not in name:
        is_called[:] = [_is_called(sections[place], name) for place in linked]
    scores = _NAME * names + shares + is_called
    order = np.argsort(-scores, kind="stable")[:MAX_SECTIONS]
    least = _NEARLY * float(scores[order[0]])
    return [
        BestSection(
            sections[linked[place]],
            sections[linked[place + 1]].offset if place + 1 < len(linked) else -1,
            is_page=_is_page(sections, linked[place]),
        )
        for place in map(int, order)
        if scores[place] >= least and max(names[place], shares[place], is_called[place]) >= _LEAST
    ]


def _is_called(section: PageSection, name: str) -> bool:
    """Whether a section is the definition of a name in lower case: `json.dumps` and not `json.dump`."""
    if section.level != DEFINITION:
        return False
    anchor, title = section.anchor.lower(), section.title.lower()
    if anchor == name or anchor.endswith(f".{name}"):
        return True
    bare = title.replace("_", "")
    return (name in title or name in bare) and name in (defined_name(title), defined_name(bare))


def best_stretch(asked: AskedTerms, page: ReadPage, sections: Sequence[PageSection]) -> tuple[int, int | None]:
    """The first and last character of the section that has the passage with most of the query; all if unknown."""
    places, words = page.places, page.words
    if not len(places) or len(page.starts) != len(sections) or not sections:
        return 0, None
    windows = places // _PASSAGE
    has = np.zeros((int(windows[-1]) + 1, len(asked)), np.bool_)
    has[windows, words] = True
    place = int(np.argmax(has @ asked.rarities)) * _PASSAGE
    first = places[np.searchsorted(places, place)]
    section = int(np.searchsorted(page.starts, first, "right")) - 1
    begin = 0 if section < 0 else sections[section].offset
    return begin, next((each.offset for each in sections[section + 1 :] if each.offset > begin), None)


def _is_page(sections: Sequence[PageSection], place: int) -> bool:
    """Whether a section is the title of the page: its first, and above the others."""
    return place == 0 and all(section.level > sections[0].level for section in sections[1:])
