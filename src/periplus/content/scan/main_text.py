"""Which blocks of a page are its main text: what someone who opened the page came to read.

The rule looks at blocks (text without a border of a block element inside) and at the elements they stand in, and uses
no words of any language. It goes from the page to the block:

1. *Prose.* A block of some length with little of it in links is prose: length and link density tell text from
   boilerplate better than anything else (Kohlschuetter, Fankhauser & Nejdl 2010).
2. *Hints.* Elements that are called navigation, advertising, comments and the like (`hints`) are clutter, unless the
   page's title stands in them, and unless nearly all prose of the page would be clutter then.
3. *The container.* From the body down, the rule steps into the child that holds three quarters of the prose (density
   summed over the tree, as in CETD: Sun, Song & Liao 2011; scores of paragraphs handed to their parents, as in
   Readability). It stops where the others beside that child are of the same kind and prose too: sections of a manual,
   posts of a thread.
4. *In the container*, clutter, controls of forms and link-dense blocks are left out; a list or a table is judged as a
   whole, so that some linked items do not get lost. A heading without a text behind it goes too.
5. *The introduction* often stands apart, between the title and the container: it is added.
6. A page of links, or of very short texts, has no container: all of it that is not clutter is main text.

Sizes are in characters; those of Chinese, Japanese and Korean count twice, for they say about twice as much. Only
integers are used, so that the compiled scanner (`native/main_text.h`) chooses exactly the same blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .hints import (
    ASIDE, BODY, BY_ID, CAPTION, CLUTTER, COMMENT, HIDDEN, KIND, LEAD, PICTURE, SECTION, SIDE, TEASER, attribute_hints,
)  # fmt: skip
from .tags import NUMBERS, numbers_of

__all__ = ["attribute_hints", "chosen_blocks"]

LEAST_PROSE: Final = 25
"""Characters of the shortest block that counts as prose: a short sentence."""
LEAST_LEAD: Final = 60
"""Characters of the shortest block of an introduction: longer than dates, names of authors and "share this"."""
LEAST_EDGE: Final = 15
"""Blocks before the first and behind the last prose that are shorter are left out: dates, times, "Tags"."""
LARGEST_PICTURE: Final = 200
"""Characters of the largest text that is a caption because it stands in a place for a picture."""
FEW: Final = 1000
"""Characters of main text below which a page may be a page of links, see `_is_page_of_links`."""
FULL: Final = 16
"""The weight of prose in the choice of the container; the next ones are parts of it."""
DOUBTFUL: Final = 6
"""The weight of prose in clutter: names are not always right."""
SLIGHT: Final = 2
"""The weight of prose in comments and in `<nav>`, `<aside>`, `<footer>`, which hardly ever hold the main text."""
TAG_WEIGHTS: Final = {
    **dict.fromkeys(numbers_of("p", "pre", "blockquote"), 24),
    **dict.fromkeys(numbers_of("li", "dd", "dt", "td", "th", "ul", "ol"), 11),
}
"""The weight of a character of prose by the tag around it; 16 elsewhere."""

_KINDS: Final = CLUTTER | SIDE | TEASER | CAPTION | PICTURE | COMMENT | HIDDEN | LEAD | BODY
_CLUTTER: Final = CLUTTER | SIDE | TEASER | CAPTION
_DOUBTED: Final = (CLUTTER, SIDE, TEASER, CAPTION, HIDDEN)
_HEADINGS: Final = frozenset(numbers_of("h1", "h2", "h3", "h4", "h5", "h6"))
_TITLES: Final = (NUMBERS["h1"], NUMBERS["h2"])
_PARAGRAPHS: Final = frozenset(numbers_of("p", "blockquote"))
_CODE: Final = NUMBERS["pre"]
_CONTROLS: Final = frozenset(numbers_of("button", "label", "legend", "option", "select", "datalist"))
_ASIDES: Final = frozenset(numbers_of("nav", "aside", "footer", "menu", "dialog", "search"))
_FORM: Final = NUMBERS["form"]
_FIGCAPTION: Final = NUMBERS["figcaption"]
_LISTS: Final = frozenset(numbers_of("ul", "ol", "dl", "table"))
_PARTS: Final = frozenset(
    numbers_of("p", "pre", "blockquote", "ul", "ol", "li", "dl", "dt", "dd", "tbody", "thead", "tfoot", "tr", "td")
)
"""Parts of a text, which are not its container."""
_SECTIONS: Final = frozenset(numbers_of("section", "article"))
_NAMED_BY_CONTENT: Final = frozenset(numbers_of("section", "h1", "h2", "h3", "h4", "h5", "h6", "p", "li", "dt"))
"""Tags whose ids are made of what the text is about."""

_CONTINUATION: Final = bytes(range(0x80, 0xC0))
_WIDE: Final = bytes(range(0xE3, 0xEE))
"""First bytes of U+3000 to U+DFFF: Chinese, Japanese and Korean, nearly alone."""


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
    page = _Page(elements, parents, tags)
    page.measure(text, starts, ends, links)
    page.weigh(hints)
    page.find_container(hints)
    page.cut_clutter()
    page.choose()
    return page.is_main if not page.is_page_of_links() else page.uncluttered()


class _Page:
    """Blocks and elements of a page, and what is known about them so far. All lists are by their numbers."""

    def __init__(self, elements: Sequence[int], parents: Sequence[int], tags: Sequence[int]) -> None:
        self.elements, self.parents, self.tags = elements, parents, tags
        self.block_tags = [tags[element] for element in elements]
        self.is_main = [False] * len(elements)
        self.container = 0

    def measure(self, text: bytes, starts: Sequence[int], ends: Sequence[int], links: Sequence[int]) -> None:
        """Find out how long blocks are, which are prose, and sum both up the tree."""
        self.sizes = _sizes(text, starts, ends)
        self.linked = [
            linked * size // (end - start) if end > start else 0
            for linked, size, start, end in zip(links, self.sizes, starts, ends, strict=True)
        ]
        self.is_prose = [
            size >= LEAST_PROSE and linked * 2 < size and tag not in _HEADINGS and tag not in _CONTROLS
            for size, linked, tag in zip(self.sizes, self.linked, self.block_tags, strict=True)
        ]
        self.total = self._summed(self.sizes)
        self.in_links = self._summed(self.linked)
        self.prose = self._summed([size * is_prose for size, is_prose in zip(self.sizes, self.is_prose, strict=True)])
        self.titles = self._summed([tag == _TITLES[0] for tag in self.block_tags])

    def _summed(self, values: Sequence[int]) -> list[int]:
        """The sum of a value of blocks in each element, with all that is in it."""
        parents = self.parents
        sums = [0] * len(parents)
        for element, value in zip(self.elements, values, strict=True):
            sums[element] += value
        for element in range(len(parents) - 1, 0, -1):
            sums[parents[element]] += sums[element]
        return sums

    def weigh(self, hints: Sequence[int]) -> None:
        """Find out what is clutter, and how much prose counts in each element."""
        kinds = self._believed([_kinds_of(hint, tag) for hint, tag in zip(hints, self.tags, strict=True)])
        self.is_clutter = [False] * len(kinds)
        self.weights = [FULL] * len(kinds)
        is_lead = [False] * len(kinds)
        for element in range(1, len(kinds)):
            parent = self.parents[element]
            is_lead[element] = is_lead[parent] or bool(kinds[element] & LEAD)
            weight = self._own_weight(element, kinds[element], is_lead[element])
            self.is_clutter[element] = weight < FULL
            self.weights[element] = min(weight, self.weights[parent])

    def _believed(self, kinds: list[int]) -> list[int]:
        """Hints without those that would make clutter of three quarters of the prose, all of one kind together."""
        seen = kinds.copy()
        for element in range(1, len(seen)):
            seen[element] |= seen[self.parents[element]]
        covered = dict.fromkeys(_DOUBTED, 0)
        for element, size, is_prose in zip(self.elements, self.sizes, self.is_prose, strict=True):
            if is_prose and seen[element]:
                for kind in _DOUBTED:
                    covered[kind] += size if seen[element] & kind else 0
        doubted = sum(kind for kind in _DOUBTED if covered[kind] * 4 > self.prose[0] * 3)
        return [kind & ~doubted for kind in kinds] if doubted else kinds

    def _own_weight(self, element: int, kinds: int, is_lead: bool) -> int:
        """How much prose counts by what an element itself is called."""
        tag = self.tags[element]
        if kinds & HIDDEN:
            return 0
        if kinds & COMMENT:
            return SLIGHT
        if self.titles[element]:
            return FULL
        if tag in _ASIDES or kinds & ASIDE:
            return SLIGHT
        if kinds & TEASER and (is_lead or kinds & BODY):
            kinds &= ~TEASER
        if kinds & SIDE and self._reads_like_text(element):
            kinds &= ~SIDE
        is_picture = kinds & PICTURE and self.total[element] < LARGEST_PICTURE
        return DOUBTFUL if kinds & _CLUTTER or is_picture or tag in (_FORM, _FIGCAPTION) else FULL

    def _reads_like_text(self, element: int) -> bool:
        """Whether an element is prose nearly without links: the boxes of a book are sidebars too."""
        total = self.total[element]
        return self.prose[element] * 4 >= total * 3 and self.in_links[element] * 10 < total

    def find_container(self, hints: Sequence[int]) -> None:
        """Step from the body into the child with most of the prose, as long as there is one."""
        scores = self._summed([
            (size - linked) * TAG_WEIGHTS.get(tag, FULL) * self.weights[element] if is_prose else 0
            for size, linked, tag, element, is_prose in zip(
                self.sizes, self.linked, self.block_tags, self.elements, self.is_prose, strict=True
            )
        ])  # fmt: skip
        heaviest = [0] * len(scores)
        for element in range(1, len(scores)):
            parent = self.parents[element]
            if scores[element] > (scores[heaviest[parent]] if heaviest[parent] else 0):
                heaviest[parent] = element
        alike = self._alike(hints, heaviest, scores)
        at = 0
        while (child := heaviest[at]) and scores[child] * 4 >= scores[at] * 3 and alike[at] * 10 <= scores[at]:
            at = child
        while at and self.tags[at] in _PARTS:
            at = self.parents[at]
        self.container = at

    def _alike(self, hints: Sequence[int], heaviest: list[int], scores: list[int]) -> list[int]:
        """The scores of the children of each element that are of the same kind as its heaviest child, and prose."""
        alike = [0] * len(scores)
        for element in range(1, len(scores)):
            parent = self.parents[element]
            child = heaviest[parent]
            if not child or element == child or self.tags[element] != self.tags[child] or self.is_clutter[element]:
                continue
            kind = hints[element] >> KIND
            if kind != hints[child] >> KIND or not (kind or self.tags[element] in _SECTIONS):
                continue
            total = self.total[element]
            if self.prose[element] * 5 >= total * 3 and self.in_links[element] * 5 <= total:
                alike[parent] += scores[element]
        return alike

    def cut_clutter(self) -> None:
        """Find out what is in the container, what is cut away everywhere, and which list things are in."""
        parents, container = self.parents, self.container
        is_above = {0}
        at = container
        while at:
            is_above.add(at)
            at = parents[at]
        count = len(parents)
        self.is_inside, self.is_cut, self.lists = [False] * count, [False] * count, [0] * count
        self.is_inside[container] = True
        for element in range(1, count):
            parent = parents[element]
            self.is_inside[element] |= self.is_inside[parent]
            is_most = self.prose[element] * 2 > self.prose[container]
            is_clutter = self.is_clutter[element] and element not in is_above and not is_most
            self.is_cut[element] = self.is_cut[parent] or is_clutter
            is_list = self.tags[element] in _LISTS and element not in is_above
            self.lists[element] = element if is_list else self.lists[parent]

    def choose(self) -> None:
        """Choose blocks of the container, and the introduction before it."""
        for block, element in enumerate(self.elements):
            if self.is_inside[element] and not self.is_cut[element] and self.block_tags[block] not in _CONTROLS:
                self.is_main[block] = not self._is_dense(block)
        self._drop_empty_headings()
        self._add_introduction()
        self._trim(range(len(self.is_main)))
        self._trim(range(len(self.is_main) - 1, -1, -1))

    def _is_dense(self, block: int) -> bool:
        """Whether a block is mostly links; in a list, whether the list is, too."""
        size, linked, tag = self.sizes[block], self.linked[block], self.block_tags[block]
        if tag == _CODE:
            return False
        within = self.lists[self.elements[block]]
        if within:
            is_list_dense = self.in_links[within] * 2 > self.total[within]
            return is_list_dense and (linked * 2 > size or size < LEAST_PROSE)
        return linked * 5 > size * 4 if tag in _PARAGRAPHS else linked * 2 > size

    def _drop_empty_headings(self) -> None:
        """Drop headings whose text was not chosen."""
        is_next_main = False
        for block in range(len(self.is_main) - 1, -1, -1):
            if not self.is_inside[self.elements[block]]:
                continue
            if self.block_tags[block] in _HEADINGS:
                self.is_main[block] &= is_next_main
            else:
                is_next_main = self.is_main[block]

    def _add_introduction(self) -> None:
        """Choose what is long enough between the title and the container."""
        first = next((block for block, element in enumerate(self.elements) if self.is_inside[element]), 0)
        for block in range(self._title_before(first) + 1, first):
            size, is_cut = self.sizes[block], self.is_cut[self.elements[block]]
            if size >= LEAST_LEAD and self.linked[block] * 3 < size and not is_cut:
                self.is_main[block] = self.block_tags[block] not in _CONTROLS

    def _title_before(self, first: int) -> int:
        """The last title before a block, of the highest level that the page has; otherwise the block itself."""
        for tag in _TITLES:
            for block in range(first - 1, -1, -1):
                if self.block_tags[block] == tag and not self.is_cut[self.elements[block]]:
                    return block
            if tag in (self.block_tags[block] for block in range(first, len(self.is_main)) if self.is_main[block]):
                break
        return first

    def _trim(self, blocks: range) -> None:
        """Drop short blocks up to the first one that is prose or a heading, or not that short."""
        for block in blocks:
            if not self.is_main[block]:
                continue
            if self.is_prose[block] or self.block_tags[block] in _HEADINGS or self.sizes[block] >= LEAST_EDGE:
                return
            self.is_main[block] = False

    def is_page_of_links(self) -> bool:
        """Whether so little was chosen of what is not clutter that the page is about its links or short texts."""
        chosen = sum(size for size, is_main in zip(self.sizes, self.is_main, strict=True) if is_main)
        rest = sum(size for size, is_main in zip(self.sizes, self.uncluttered(), strict=True) if is_main)
        return chosen == 0 or (chosen < FEW and chosen * 4 < rest)

    def uncluttered(self) -> list[bool]:
        """All blocks that are not clutter; all blocks if there is nothing else."""
        is_clutter = self.is_clutter.copy()
        for element in range(1, len(is_clutter)):
            is_clutter[element] |= is_clutter[self.parents[element]]
        chosen = [not is_clutter[element] for element in self.elements]
        return chosen if any(chosen) else [True] * len(chosen)


def _sizes(text: bytes, starts: Sequence[int], ends: Sequence[int]) -> list[int]:
    """The sizes of blocks: their characters, wide ones counted twice."""
    if text.isascii():
        return [end - start for start, end in zip(starts, ends, strict=True)]
    sizes = []
    for start, end in zip(starts, ends, strict=True):
        piece = text[start:end]
        wide = len(piece) - len(piece.translate(None, _WIDE))
        sizes.append(len(piece.translate(None, _CONTINUATION)) + wide)
    return sizes


def _kinds_of(hint: int, tag: int) -> int:
    """The kinds of part that hints name, those of an id among them where it can be believed."""
    if tag in _HEADINGS:
        return hint & (HIDDEN | COMMENT)
    kinds = hint & (_KINDS | ASIDE)
    if not hint & SECTION and tag not in _NAMED_BY_CONTENT:
        kinds |= hint >> BY_ID & _KINDS
    return kinds
