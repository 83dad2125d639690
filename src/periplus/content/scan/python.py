"""The scanner in Python: one pass over the tokens of a page, with a stack of open elements and no tree.

`walk` goes over the page, `tokens` and `markup` read tags, and each tag acts (`steps`) on the state of the pass: on the
stack (`stack`), links and pictures (`anchors`), forms (`form_parts`), the head (`head_parts`). Text is gathered as it
is written; `folding` folds all of it at once in the end, `main_text` chooses blocks, `ways` sorts them by where they
stand.
"""

from __future__ import annotations

from typing import Final

from .anchors import anchor_texts
from .columns import Columns, Event, EventKind
from .folding import Folded, fold_runs
from .form_parts import form_elements
from .head_parts import title_of
from .main_text import chosen_blocks
from .references import decode_text
from .stack import pop_to
from .state import NONE, Page
from .tags import NUMBERS
from .walk import walk
from .ways import contents_by_way

MAX_PAGE: Final = 16 << 20
"""Bytes of a page that are read."""


def scan(html: bytes, _: str, wants_blocks: bool, wants_events: bool) -> Columns:
    """Scan a page once. Links are left to the URL parser, whatever the page's URL is."""
    page = Page(html[:MAX_PAGE], wants_blocks=wants_blocks, wants_events=wants_events)
    walk(page)
    pop_to(page, 1)
    return _columns(page)


def resolve(_: str, hrefs: list[str]) -> list[str | None]:
    """Leave links to the URL parser."""
    return [None] * len(hrefs)


def _columns(page: Page) -> Columns:
    folded = fold_runs(page.runs, has_signs=page.has_signs, wants_events=page.wants_events)
    tags = [tag.number if tag else NUMBERS["body"] for _, tag in page.elements]
    hints = [tag.hints if tag else 0 for _, tag in page.elements]
    parents = [parent for parent, _ in page.elements]
    is_main = chosen_blocks(
        folded.text, folded.starts, folded.ends, folded.links, folded.elements, parents, tags, hints
    )
    return Columns(
        text=folded.text,
        main=_main_text(folded, is_main),
        is_cut=folded.is_cut,
        title=title_of(page),
        urls=[None] * len(page.hrefs),
        anchors=anchor_texts(page),
        rels=page.rels,
        kinds=page.kinds,
        unresolved=[(number, href.decode("utf-8", "replace")) for number, href in enumerate(page.hrefs)],
        media=page.media,
        head=page.head,
        forms=form_elements(page),
        sketch=None,
        blocks=contents_by_way(page, folded) if page.wants_blocks else [],
        events=_events(page, folded, is_main) if page.wants_events else [],
        own=page.own_links,
    )


def _main_text(folded: Folded, is_main: list[bool]) -> bytes:
    blocks = zip(folded.starts, folded.ends, is_main, strict=True)
    return b" ".join([folded.text[start:end] for start, end, is_chosen in blocks if is_chosen])


def _events(page: Page, folded: Folded, is_main: list[bool]) -> list[Event]:
    return [
        Event(event.kind, event.value, event.attributes, False)
        if event.run == NONE
        else _text_event(page, folded, is_main, event.run)
        for event in page.events
    ]


def _text_event(page: Page, folded: Folded, is_main: list[bool], run: int) -> Event:
    text = decode_text(page.runs[run][0]).decode("utf-8", "replace")
    block = folded.block_of_run[run] if folded.block_of_run else NONE
    return Event(EventKind.TEXT, text, None, 0 <= block < len(is_main) and is_main[block])
