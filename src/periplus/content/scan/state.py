"""The state of one pass over a page: what is open, and what was found so far."""

from __future__ import annotations

from typing import Final, NamedTuple

from .columns import Attributes, EventKind, FormElement, Head, Medium
from .markup import IN_FALLBACK, Tag
from .tags import NUMBERS

NONE: Final = -1
"""The number of no link, no form and no element."""
BODY: Final = NUMBERS["body"]


Level = tuple[int, int, bool, bool]
"""An open element beside its tag: the regions it is in, its number, whether it is foreign, whether it has an event.

Bare tuples here and below: there are hundreds in a page, and named ones take three times as long to make.
"""
IS_FOREIGN: Final = 2
HAS_EVENT: Final = 3
Run = tuple[bytes, int, int, bool]
"""A piece of visible text as written: the innermost element, the number of the block, and whether it is in a link."""


class WrittenEvent(NamedTuple):
    """An event before texts are decoded and the main text is known: a text has the number of its run."""

    kind: EventKind
    value: str
    attributes: Attributes | None
    run: int


class PageScan:
    """The state of one pass. Elements are numbered in the order of their start tags; number 0 is the body."""

    def __init__(self, html: bytes, *, wants_blocks: bool, wants_events: bool) -> None:
        self.html = html
        self.has_signs = any(sign in html for sign in (b"\x01", b"\x02"))
        """Whether the page holds bytes that are signs in the texts that are put together of it."""
        self.wants_blocks = wants_blocks
        self.wants_events = wants_events
        self.is_in_body = False
        self.is_frameset = False
        self.is_in_noscript = False
        self.is_visible = True
        """Text is seen: neither of the two above, nor in a fallback."""
        self.templates = 0
        self.is_foreign = False
        """Whether the innermost open element is svg, math or annotation."""

        self.stack = bytearray((BODY,))
        """The numbers of the tags of open elements; one byte each, so that searches are fast."""
        self.levels: list[Level] = [(0, 0, False, False)]
        """The rest of what is known about open elements."""
        self.region = 0
        self.element = 0
        """The number of the innermost open element, as in its level."""
        self.elements: list[tuple[int, Tag | None]] = [(0, None)]
        """Parent and tag of each element that was on the stack."""

        self.runs: list[Run] = []
        self.block = 0
        """Grows at each border of a block."""

        self.hrefs: list[bytes] = []
        """Of links, references decoded."""
        self.texts: list[list[bytes]] = []
        """The pieces of the text of each link, as written."""
        self.rels: dict[int, str] = {}
        self.kinds: dict[int, int] = {}
        self.marks: dict[int, int] = {}
        self.labels: dict[int, bytes] = {}
        """What areas and frames say in place of a text, by the number of the link."""
        self.pictures: dict[int, bytes] = {}
        """The alternative text of the first picture in a link that has one."""
        self.link_elements: list[int] = []
        self.own_links: list[int] = []
        """The numbers of links to the page itself."""
        self.link = NONE
        """The open link."""
        self.is_link_to_itself = False
        self.link_tag: Tag | None = None
        """The tag of the link that was opened last."""
        self.link_depth = 0
        """How many elements were open when it was opened; 0 if it will be opened again."""
        self.is_split = False
        """An element around the open link has ended: the next text opens the link again."""
        self.is_linked = False
        """Whether text is in a link, be it one too many."""

        self.title: bytes | None = None
        self.head = Head([], [], [], [], [])
        self.metas = 0
        self.head_links = 0
        self.has_language = False
        self.has_base = False
        self.media: list[Medium] = []

        self.forms: list[FormElement] = []
        self.form_texts: dict[int, list[bytes]] = {}
        """The pieces of the texts of labels, options and buttons by their position in the list."""
        self.form_count = 0
        self.is_form_open = False
        """Whether the form element pointer of the HTML Standard is set."""
        self.form = NONE
        """The number of that form; none if it is one too many."""
        self.text_owner = NONE
        """The innermost open label, option or button, by its position in the list."""
        self.label = NONE
        self.options = NONE
        """The innermost open select or datalist."""
        self.fieldset = 0
        """Whether controls here are disabled by a fieldset: flags of `elements`."""
        self.outer: list[tuple[int, int, int, int]] = []
        """The text owner, label, options and fieldset flags as they were before each part of a form on the stack."""

        self.sinks: tuple[list[bytes], ...] = ()
        """What gets text besides the page: the open link, and the text owner."""
        self.events: list[WrittenEvent] = []

    def update_visibility(self) -> None:
        """Determine again whether text is seen."""
        self.is_visible = not (self.is_in_noscript or self.is_frameset or self.region & IN_FALLBACK)
