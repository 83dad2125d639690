"""Chooses the blocks of a page that are its main text: what visitors come to read.

The rule looks at blocks (text without a border of a block element inside) and at the elements they stand in, and uses
no words of any language. It goes from the page to the block:

1. *Prose.* A block of some length with little of it in links is prose: length and link density distinguish text from
   boilerplate better than anything else (Kohlschuetter, Fankhauser & Nejdl 2010).
2. *Hints.* Elements that are called navigation, advertising, comments and the like (`hints`) are clutter, unless the
   page's title stands in them, and unless most prose of the page would be clutter then. Navigation, asides and footers
   that are marked up as such are clutter even then: the only sentence of a page of links is often its copyright. In
   code (`<pre>`) names say nothing: they are often those of functions and classes.
3. *The container.* From the body down, the rule steps into the child that holds three quarters of the prose (density
   summed over the tree, as in CETD: Sun, Song & Liao 2011; scores of paragraphs handed to their parents, as in
   Readability). It stops where elements beside that child are of the same kind, and prose too: the sections of a
   manual, the posts of a thread.
4. *In the container*, clutter, controls of forms and link-dense blocks are left out; a list or a table is judged as a
   whole, so that single linked items are not lost, and code is kept whole. A heading without a text behind it goes too.
5. *The introduction* often stands apart, between the title and the container: it is added.
6. A page of links, or of very short texts, has no container: all of it that is not clutter is main text; if all is
   clutter, what is neither hidden nor an aside nor a footer; otherwise it has no main text.

Sizes are in characters; those of Chinese, Japanese and Korean count twice, for they say about twice as much. Only
integers are used, so that the compiled scanner (`native/main_text.h`) chooses exactly the same blocks. The time is
linear in the number of blocks and elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from .hints import (
    ASIDE,
    BY_ID,
    BY_NAME,
    CAPTION,
    CLUTTER,
    COMMENT,
    FOOTER,
    HIDDEN,
    KIND,
    LEAD,
    PICTURE,
    SECTION,
    SIDE,
    TEASER,
)
from .tags import NUMBERS, numbers_of

LEAST_PROSE: Final = 25
"""Characters of the shortest block that counts as prose: a short sentence."""
LEAST_LEAD: Final = 60
"""Characters of the shortest block of an introduction: longer than dates, names of authors and "share this"."""
LEAST_EDGE: Final = 15
"""Blocks before the first and behind the last prose that are shorter are left out: dates, times, "Tags"."""
LARGEST_CAPTION: Final = 200
"""Characters from which on a text in a place for a picture is more than a caption."""
FEW: Final = 1000
"""Characters of main text below which a page may be a page of links."""
FULL: Final = 16
"""The weight of prose in the choice of the container."""
DOUBTFUL: Final = 6
"""The weight of prose in clutter: names are not always right."""
SLIGHT: Final = 2
"""The weight of prose in comments. In what is hidden, in `<nav>`, `<aside>` and footers prose has no weight."""
TAG_WEIGHTS: Final = {
    **dict.fromkeys(numbers_of("p", "pre", "blockquote"), 24),
    **dict.fromkeys(numbers_of("li", "dd", "dt", "td", "th", "ul", "ol"), 11),
}
"""The weight of a character of prose by the tag around it, in parts of `FULL`; `FULL` elsewhere."""

_CLUTTER: Final = CLUTTER | SIDE | TEASER | CAPTION
_DOUBTED: Final = (CLUTTER, SIDE, TEASER, CAPTION, HIDDEN)
_H1, _H2 = NUMBERS["h1"], NUMBERS["h2"]
_CODE, _FORM, _FIGCAPTION = NUMBERS["pre"], NUMBERS["form"], NUMBERS["figcaption"]
_HEADINGS: Final = frozenset(numbers_of("h1", "h2", "h3", "h4", "h5", "h6"))
_EDGES: Final = _HEADINGS | frozenset(numbers_of("td", "th", "dd", "dt"))
"""Tags whose blocks may be short at the edges of a main text with prose."""
_PARAGRAPHS: Final = frozenset(numbers_of("p", "blockquote"))
_CONTROLS: Final = frozenset(numbers_of("button", "label", "legend", "option", "select", "datalist"))
_NO_PROSE: Final = _HEADINGS | _CONTROLS
_ASIDES: Final = frozenset(numbers_of("nav", "aside", "footer", "menu", "dialog", "search"))
_LISTS: Final = frozenset(numbers_of("ul", "ol", "dl", "table"))
_PARTS: Final = frozenset(
    numbers_of("p", "pre", "blockquote", "ul", "ol", "li", "dl", "dt", "dd", "tbody", "thead", "tfoot", "tr", "td")
)
"""Parts of a text, which are not its container."""
_SECTIONS: Final = frozenset(numbers_of("section", "article"))
_NAMED_BY_CONTENT: Final = frozenset(numbers_of("section", "p", "li", "dt"))
"""Tags whose ids are made of what their text is about."""

_CONTINUATION: Final = bytes(range(0x80, 0xC0))
_WIDE: Final = bytes(range(0xE3, 0xEE))
"""First bytes of the characters U+3000 to U+DFFF: Chinese, Japanese and Korean, and hardly anything else."""


def chosen_blocks(
    text: bytes,
    starts: Sequence[int],
    ends: Sequence[int],
    links: Sequence[int],
    elements: Sequence[int],
    parents: Sequence[int],
    tags: Sequence[int],
    hints: Sequence[int],
) -> list[bool]:
    """Whether each block is main text.

    Of a block are given the range of its bytes in `text`, how many of them are in links, and the number of its element;
    of an element its parent, which has a smaller number (element 0 is the body), its tag and its hints.
    """
    sizes = _sizes(text, starts, ends)
    linked = [
        link * size // (end - start) if link else 0
        for link, size, start, end in zip(links, sizes, starts, ends, strict=True)
    ]
    page = _Page(sizes, linked, elements, parents, tags, hints)
    return page.chosen()


def _sizes(text: bytes, starts: Sequence[int], ends: Sequence[int]) -> list[int]:
    """The sizes of blocks: their characters, wide ones counted twice."""
    if text.isascii():
        return [end - start for start, end in zip(starts, ends, strict=True)]
    sizes = []
    for start, end in zip(starts, ends, strict=True):
        piece = text[start:end]
        if not piece.isascii():
            wide = len(piece) - len(piece.translate(None, _WIDE))
            sizes.append(len(piece.translate(None, _CONTINUATION)) + wide)
        else:
            sizes.append(end - start)
    return sizes


class _Page:
    """The blocks and elements of a page. All lists are by the number of the block or element."""

    def __init__(
        self,
        sizes: list[int],
        linked: list[int],
        elements: Sequence[int],
        parents: Sequence[int],
        tags: Sequence[int],
        hints: Sequence[int],
    ) -> None:
        self._sizes, self._linked, self._elements = sizes, linked, elements
        self._parents, self._tags, self._hints = parents, tags, hints
        self._block_tags = [tags[element] for element in elements]
        self._is_prose = [
            size >= LEAST_PROSE and link * 2 < size and tag not in _NO_PROSE
            for size, link, tag in zip(sizes, linked, self._block_tags, strict=True)
        ]
        self._total = self._summed(sizes)
        self._in_links = self._summed(linked)
        self._prose = self._summed(
            [size if is_prose else 0 for size, is_prose in zip(sizes, self._is_prose, strict=True)]
        )
        self._titles = self._summed([tag == _H1 for tag in self._block_tags])
        self._is_first = self._above(elements[0] if elements else 0)
        """Whether the page begins in an element: then it is not a footer, though it be called "has-footer"."""
        self._is_code = self._in_code()
        self._weights = [FULL] * len(parents)
        self._is_clutter = [False] * len(parents)
        self._weigh()
        self._container = self._find_container()
        self._is_inside = [False] * len(parents)
        self._is_cut = [False] * len(parents)
        self._lists = [0] * len(parents)
        self._cut()

    def _summed(self, values: Iterable[int]) -> list[int]:
        """For each element the sum of a value over all blocks in it."""
        parents = self._parents
        sums = [0] * len(parents)
        for element, value in zip(self._elements, values, strict=True):
            sums[element] += value
        for element in range(len(parents) - 1, 0, -1):
            sums[parents[element]] += sums[element]
        return sums

    def _in_code(self) -> list[bool]:
        """Whether each element is code, or in it."""
        is_code = [tag == _CODE for tag in self._tags]
        for element in range(1, len(is_code)):
            is_code[element] |= is_code[self._parents[element]]
        return is_code

    # ---- hints

    def _weigh(self) -> None:
        """Find out which elements are clutter, and how much prose counts in each."""
        kinds = self._believed(
            [
                hint & HIDDEN if is_code else _kinds(hint, tag)
                for hint, tag, is_code in zip(self._hints, self._tags, self._is_code, strict=True)
            ]
        )
        is_lead = [False] * len(kinds)
        for element in range(1, len(kinds)):
            parent = self._parents[element]
            is_lead[element] = is_lead[parent] or kinds[element] & LEAD != 0
            weight = self._own_weight(element, kinds[element], is_lead[element])
            self._is_clutter[element] = weight < FULL
            self._weights[element] = min(weight, self._weights[parent])

    def _believed(self, kinds: list[int]) -> list[int]:
        """Leave out a kind of hint that would make clutter of more than three quarters of the prose."""
        seen = kinds.copy()
        for element in range(1, len(seen)):
            seen[element] |= seen[self._parents[element]]
        covered = dict.fromkeys(_DOUBTED, 0)
        for element, size, is_prose in zip(self._elements, self._sizes, self._is_prose, strict=True):
            if is_prose and seen[element]:
                for kind in _DOUBTED:
                    if seen[element] & kind:
                        covered[kind] += size
        doubted = sum(kind for kind in _DOUBTED if covered[kind] * 4 > self._prose[0] * 3)
        return [kind & ~doubted for kind in kinds] if doubted else kinds

    def _own_weight(self, element: int, kinds: int, is_lead: bool) -> int:
        """How much prose counts by what an element itself is."""
        tag = self._tags[element]
        if kinds & HIDDEN:
            return 0
        if kinds & COMMENT:
            return SLIGHT
        if self._titles[element]:
            return FULL
        if tag in _ASIDES or kinds & ASIDE or (kinds & FOOTER and not self._is_first[element]):
            return 0
        if is_lead:
            kinds &= ~TEASER
        if kinds & SIDE and self._reads_like_text(element):
            kinds &= ~SIDE
        is_caption = kinds & PICTURE and self._total[element] < LARGEST_CAPTION
        return DOUBTFUL if kinds & _CLUTTER or is_caption or tag in (_FORM, _FIGCAPTION) else FULL

    def _reads_like_text(self, element: int) -> bool:
        """Whether an element is prose nearly without links: the boxes of a book are sidebars too."""
        total = self._total[element]
        return self._prose[element] * 4 >= total * 3 and self._in_links[element] * 10 < total

    # ---- the container

    def _find_container(self) -> int:
        """Step from the body into the child with most of the prose, as long as there is one."""
        scores = self._scores()
        heaviest = [0] * len(scores)
        for element in range(1, len(scores)):
            rival = heaviest[self._parents[element]]
            if scores[element] > (scores[rival] if rival else 0):
                heaviest[self._parents[element]] = element
        alike = self._alike(heaviest, scores)
        at = 0
        while (child := heaviest[at]) and scores[child] * 4 >= scores[at] * 3 and alike[at] * 10 <= scores[at]:
            at = child
        while at and (self._tags[at] in _PARTS or self._is_code[at]):
            at = self._parents[at]
        return at

    def _scores(self) -> list[int]:
        """The prose in each element, by weight."""
        weights = self._weights
        return self._summed(
            [
                (size - link) * TAG_WEIGHTS.get(tag, FULL) * weights[element] if is_prose else 0
                for size, link, tag, element, is_prose in zip(
                    self._sizes, self._linked, self._block_tags, self._elements, self._is_prose, strict=True
                )
            ]
        )

    def _alike(self, heaviest: list[int], scores: list[int]) -> list[int]:
        """For each element the scores of those children that are prose, and of the same kind as the heaviest one."""
        alike = [0] * len(scores)
        for element in range(1, len(scores)):
            parent = self._parents[element]
            child = heaviest[parent]
            if child and element != child and self._is_same_kind(element, child) and self._is_section(element):
                alike[parent] += scores[element]
        return alike

    def _is_same_kind(self, element: int, other: int) -> bool:
        """Whether two elements have the same tag and classes; a `<div>` without a class has no kind."""
        tag, kind = self._tags[element], self._hints[element] >> KIND
        return tag == self._tags[other] and kind == self._hints[other] >> KIND and (kind != 0 or tag in _SECTIONS)

    def _is_section(self, element: int) -> bool:
        total = self._total[element]
        is_prose = self._prose[element] * 5 >= total * 3 and self._in_links[element] * 5 <= total
        return is_prose and not self._is_clutter[element]

    # ---- what is chosen

    def _cut(self) -> None:
        """Find out what is in the container, what is cut away, and which list or table things are in."""
        is_above = self._above(self._container)
        self._is_inside[self._container] = True
        most = self._prose[self._container]
        for element in range(1, len(self._parents)):
            parent = self._parents[element]
            self._is_inside[element] |= self._is_inside[parent]
            is_little = self._weights[element] == 0 or self._prose[element] * 2 <= most
            is_clutter = self._is_clutter[element] and not is_above[element] and is_little
            self._is_cut[element] = self._is_cut[parent] or is_clutter
            is_list = self._tags[element] in _LISTS and not is_above[element]
            self._lists[element] = element if is_list else self._lists[parent]

    def _above(self, element: int) -> list[bool]:
        """Whether each element is this one, or around it."""
        is_above = [False] * len(self._parents)
        while element:
            is_above[element] = True
            element = self._parents[element]
        return is_above

    def chosen(self) -> list[bool]:
        """Whether each block is main text."""
        is_main = [
            self._is_inside[element] and not self._is_cut[element] and not self._is_dropped(block)
            for block, element in enumerate(self._elements)
        ]
        self._drop_empty_headings(is_main)
        self._add_introduction(is_main)
        self._trim(is_main, range(len(is_main)))
        self._trim(is_main, range(len(is_main) - 1, -1, -1))
        uncluttered = self._uncluttered()
        size, rest = self._chosen_size(is_main), self._chosen_size(uncluttered)
        is_page_of_links = size == 0 or (size < FEW and size * 2 < rest)
        return uncluttered if is_page_of_links else is_main

    def _is_dropped(self, block: int) -> bool:
        """Whether a block of the container is a control, or mostly links; in a list, whether the list is, too."""
        size, linked, tag = self._sizes[block], self._linked[block], self._block_tags[block]
        element = self._elements[block]
        if tag in _CONTROLS or self._is_code[element]:
            return tag in _CONTROLS
        if within := self._lists[element]:
            is_list_dense = self._in_links[within] * 2 > self._total[within]
            return is_list_dense and (linked * 2 > size or size < LEAST_PROSE)
        return linked * 5 > size * 4 if tag in _PARAGRAPHS else linked * 2 > size

    def _drop_empty_headings(self, is_main: list[bool]) -> None:
        """Drop headings of which the text behind was not chosen."""
        is_next_main = False
        for block in range(len(is_main) - 1, -1, -1):
            if self._is_inside[self._elements[block]]:
                if self._block_tags[block] in _HEADINGS:
                    is_main[block] &= is_next_main
                else:
                    is_next_main = is_main[block]

    def _add_introduction(self, is_main: list[bool]) -> None:
        """Choose what is long enough between the title and the container."""
        first = next((block for block, element in enumerate(self._elements) if self._is_inside[element]), 0)
        for block in range(self._title_before(first, is_main) + 1, first):
            size, tag = self._sizes[block], self._block_tags[block]
            is_cut = self._is_cut[self._elements[block]]
            is_main[block] = (
                size >= LEAST_LEAD and self._linked[block] * 3 < size and not is_cut and tag not in _CONTROLS
            )

    def _title_before(self, first: int, is_main: list[bool]) -> int:
        """The last `<h1>` before a block; if the page has none, the last `<h2>`; otherwise the block itself."""
        for title in (_H1, _H2):
            for block in range(first - 1, -1, -1):
                if self._block_tags[block] == title and not self._is_cut[self._elements[block]]:
                    return block
            if any(is_chosen and tag == title for is_chosen, tag in zip(is_main, self._block_tags, strict=True)):
                break
        return first

    def _trim(self, is_main: list[bool], blocks: range) -> None:
        """Drop short blocks up to the first that is prose, a heading or, beside prose, code or a cell (a price)."""
        has_prose = any(is_prose and is_chosen for is_prose, is_chosen in zip(self._is_prose, is_main, strict=True))
        edges = _EDGES if has_prose else _HEADINGS
        for block in blocks:
            if is_main[block]:
                is_short = self._sizes[block] < LEAST_EDGE and not self._is_prose[block]
                is_code = has_prose and self._is_code[self._elements[block]]
                if not is_short or is_code or self._block_tags[block] in edges:
                    return
                is_main[block] = False

    def _uncluttered(self) -> list[bool]:
        """Whether each block is outside of clutter; if none is, whether it is where prose has weight."""
        is_clutter = self._is_clutter.copy()
        for element in range(1, len(is_clutter)):
            is_clutter[element] |= is_clutter[self._parents[element]]
        chosen = [not is_clutter[element] for element in self._elements]
        return chosen if self._chosen_size(chosen) else [self._weights[element] > 0 for element in self._elements]

    def _chosen_size(self, is_main: list[bool]) -> int:
        return sum(size for size, is_chosen in zip(self._sizes, is_main, strict=True) if is_chosen)


def _kinds(hint: int, tag: int) -> int:
    """The kinds of part that hints name, with those of an id where it can be believed."""
    if tag in _HEADINGS:
        return hint & (HIDDEN | COMMENT)
    kinds = hint & (BY_NAME | ASIDE)
    if not hint & SECTION and tag not in _NAMED_BY_CONTENT:
        kinds |= hint >> BY_ID & BY_NAME
    return kinds
