"""The scanner in Python: one pass over the tokens of a page, with a stack of open elements and no tree.

`walk` goes over the page, `tokens` and `markup` read tags, and each tag acts (`steps`) on the state of the pass: on the
stack (`stack`), links, pictures, forms and the head (`elements`). Text is gathered as it is written; in the end
`folding` folds all of it at once, `main_text` chooses blocks, and `folding` sorts them by where they stand.

Nearly all tags of a page were seen before, on it or on another page of its site. So the page is split at every "<", and
what is before the next ">" is looked up among the tags that are known (`steps`): if it is one, it is this tag, as
nothing in a tag depends on what is around it. All else is read with the care of `tokens`: comments, texts with a
"<", tags with a "<" or ">" in a value, content without tags, and what is not plain body: the head, drawings, templates.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import msgpack

from .columns import Columns, Event, EventKind
from .elements import (
    add_other_link,
    add_script,
    add_textarea,
    anchor_texts,
    form_elements,
    open_link_again,
    start_anchor,
    title_of,
)
from .folding import Folded, contents_by_way, fold_runs
from .main_text import chosen_blocks
from .markup import Tag
from .sections import sections_of
from .stack import add_event, add_open_event, has_events, leave_foreign, pop_to, push
from .state import NONE, PageScan, WrittenEvent
from .steps import add_gap, known, new_tag, tag_of
from .tags import BLOCK, BREAKOUT, HEAD, NUMBERS, PUSH, RAW, RCDATA, SPACED, VOID, numbers_of
from .tokens import decode_text, raw_text_end, text_end, token_at

_WINDOW: Final = 1 << 16
"""Bytes of a page that are split at once: a page may consist of "<" alone, which takes much memory when it is split."""
_SPACE: Final = b"\t\n\f\r "
_A: Final = NUMBERS["a"]
_FONT: Final = NUMBERS["font"]
_FRAME: Final = NUMBERS["frame"]
_FRAMESET: Final = NUMBERS["frameset"]
_PLAINTEXT: Final = NUMBERS["plaintext"]
_TEMPLATE: Final = NUMBERS["template"]
_OF_FOREIGN: Final = numbers_of("svg", "math", "annotation", "foreignobject", "desc", "title")
_SCRIPT_OR_STYLE: Final = numbers_of("script", "style")
_SVG: Final = NUMBERS["svg"]
_LONGEST_SIGN: Final = 16
"""Bytes of the sign of a permalink, as written."""
_SIGN: Final = re.compile("(?:#|\xb6|\xa7|\U0001f517)(?:\ufe0e|\ufe0f)?".encode())
"""Number sign, pilcrow, section sign or chain, perhaps with a variation selector."""


def walk(page: PageScan) -> None:
    """Read a page from beginning to end."""
    at = _read_with_care(page, 0)
    while at < len(page.html):
        window = _Window(page.html, at)
        at = _read_window(page, window) if window.has_tags else _read_with_care(page, at, is_one=True)


class _Window:
    """A part of a page, split at every "<"."""

    def __init__(self, html: bytes, start: int) -> None:
        self._html = html
        self._pieces = html[start : start + _WINDOW].split(b"<")
        self.is_last = start + _WINDOW >= len(html)
        if not self.is_last:
            del self._pieces[-1]  # it may go on
        self.has_tags = len(self._pieces) > 1
        self.text = self._pieces[0] if self._pieces else b""
        """The text before the next tag that was not yet added to the texts of the page."""
        self.tags = enumerate(self._pieces)
        """The text behind each "<", with its number."""
        next(self.tags, None)
        self._number = 1
        self._place = start + len(self.text)

    def place(self, number: int) -> int:
        """The position of the "<" before a piece. Numbers do not get smaller from call to call."""
        self._place += sum(map(len, self._pieces[self._number : number])) + number - self._number
        self._number = number
        return self._place

    @property
    def end(self) -> int:
        """The position where the window ends, without the text at its end."""
        return self.place(len(self._pieces)) - len(self.text)

    def go_to(self, place: int) -> bool:
        """Go on at a place that is not in a piece read before; false if it is behind the window."""
        while self._number < len(self._pieces):
            piece_end = self._place + 1 + len(self._pieces[self._number])
            if place <= piece_end:
                self.text = self._html[place:piece_end]
                return True
            self._place = piece_end
            self._number += 1
            next(self.tags, None)
        return False


def _read_window(page: PageScan, window: _Window) -> int:
    """Read a window, or the part of it before the last text. Returns where to go on."""
    while True:
        after = _read_known(page, window)
        if after is None:
            break
        if not window.go_to(after):
            return after
    if window.is_last:
        _add_text(page, window.text)
        return len(page.html)
    return window.end


def _read_known(page: PageScan, window: _Window) -> int | None:
    """Read tags until one needs care. Returns where to go on, nothing at the end of the window.

    This is where nearly all of a page is read, so that calls are few.
    """
    runs, text, wants_events = page.runs, window.text, page.wants_events
    for number, piece in window.tags:
        source, bracket, behind = piece.partition(b">")
        tag = known.get(source) or tag_of(source)
        if tag is None or not bracket:
            window.text = text
            return _read_unknown(page, window, number)
        if text:
            if page.is_linked or page.sinks or wants_events:
                _add_text(page, text)
            elif page.is_visible and (not text.isspace() or (runs and runs[-1][2] == page.block)):
                runs.append((text, page.element, page.block, page.is_linked))
        act = tag.act
        if act is not None and act(page, tag):
            return _read_with_care(page, _after_stop(page, tag, window.place(number) + len(source) + 2))
        if wants_events:
            _report(page, tag)
        text = behind
    window.text = text
    return None


def _read_unknown(page: PageScan, window: _Window, number: int) -> int:
    """Read text with a "<" in it, or one token and what needs care behind it."""
    place = window.place(number)
    start = place - len(window.text)
    end = text_end(page.html, start)
    _add_text(page, page.html[start:end])
    return end if end > place else _read_with_care(page, place, is_one=True)


def _read_with_care(page: PageScan, at: int, *, is_one: bool = False) -> int:
    """Read tokens (at least one if `is_one`) until those that follow are plain body. Returns where to go on."""
    size = len(page.html)
    while at < size and (is_one or not _is_plain(page)):
        end = text_end(page.html, at)
        _add_text(page, page.html[at:end])
        at = _read_token(page, end) if end < size else size
        is_one = False
    return at


def _is_plain(page: PageScan) -> bool:
    return page.is_in_body and not page.is_foreign and not page.templates


def _read_token(page: PageScan, at: int) -> int:
    """Read one token where tokens are read with care: before the body, in drawings and templates, and for events."""
    token = token_at(page.html, at, is_foreign=page.is_foreign and not page.templates)
    if token.source is None:
        if token.text:
            _add_text(page, _escaped(token.text))
        return token.end
    tag = known.get(token.source) or new_tag(token.source)
    return (_read_end_tag if tag.is_end else _read_start_tag)(page, tag, token.end)


def _after_stop(page: PageScan, tag: Tag, after: int) -> int:
    """Apply a tag that changes how tokens are read. `after` is where it ends."""
    if tag.is_end:
        return after
    if tag.flags & (RAW | RCDATA):
        return _read_raw_element(page, tag, after)
    if tag.number == _TEMPLATE:
        page.templates += 1
    elif tag.number == _PLAINTEXT:
        page.block += 1
        _add_text(page, _escaped(page.html[after:]))
        return len(page.html)
    return after


def _read_start_tag(page: PageScan, tag: Tag, after: int) -> int:
    if page.templates:
        return _read_in_template(page, tag, after)
    if page.is_foreign:
        if not _breaks_out(tag):
            return _read_foreign(page, tag, after)
        leave_foreign(page)
    if not page.is_in_body:
        _note_body(page, tag)
    if tag.act is not None and tag.act(page, tag):
        return _after_stop(page, tag, after)
    if page.wants_events:
        _report(page, tag)
    return after


def _read_end_tag(page: PageScan, tag: Tag, after: int) -> int:
    if page.templates:
        page.templates -= tag.number == _TEMPLATE
        return after
    if tag.act is not None:
        tag.act(page, tag)
    if page.wants_events:
        _report(page, tag)
    return after


def _report(page: PageScan, tag: Tag) -> None:
    """Report the event of a tag that is not on the stack."""
    if tag.flags & PUSH or not has_events(page, tag.number):
        return
    if not tag.is_end:
        add_event(page, WrittenEvent(EventKind.OPEN, tag.name, tag.event_attributes(), NONE))
    elif not tag.flags & VOID and not page.is_foreign:
        add_event(page, WrittenEvent(EventKind.CLOSE, tag.name, None, NONE))


def _read_in_template(page: PageScan, tag: Tag, after: int) -> int:
    """Inside a template there is nothing of the page; only where it ends matters."""
    if tag.number == _TEMPLATE:
        page.templates += 1
    elif tag.flags & (RAW | RCDATA):
        return raw_text_end(page.html, tag.name, after)[1]
    return after


def _read_foreign(page: PageScan, tag: Tag, after: int) -> int:
    """A start tag in svg or math. Links count; inside foreignobject, desc and title is HTML again."""
    if page.stack[-1] == _SVG:
        add_gap(page)  # each text of a drawing has a place of its own
    if tag.number == _A:
        start_anchor(page, tag)
    elif tag.is_self_closing:
        return after
    elif tag.number in _OF_FOREIGN:
        push(page, tag)
    elif tag.number in _SCRIPT_OR_STYLE:
        return raw_text_end(page.html, tag.name, after)[1]
    return after


def _breaks_out(tag: Tag) -> bool:
    """Whether a tag ends a drawing or a formula, because its end tag was forgotten."""
    if tag.number == _FONT:
        return not tag.raw.keys().isdisjoint((b"color", b"face", b"size"))
    return bool(tag.flags & BREAKOUT)


def _note_body(page: PageScan, tag: Tag) -> None:
    """The body begins with the first tag that does not belong to the head."""
    if tag.number == _FRAMESET:
        page.is_frameset = True
        page.is_visible = False
    elif not tag.flags & HEAD and not (page.is_frameset and tag.number == _FRAME):
        page.is_in_body = True


def _read_raw_element(page: PageScan, tag: Tag, start: int) -> int:
    """An element whose content is text without tags. Returns what follows its end tag."""
    end, after = raw_text_end(page.html, tag.name, start)
    has_event = page.wants_events and add_open_event(page, tag)
    page.block += bool(tag.flags & BLOCK)
    _add_raw_content(page, tag, page.html[start:end])
    page.block += bool(tag.flags & BLOCK)
    if tag.flags & SPACED:
        add_gap(page)
    if has_event:
        add_event(page, WrittenEvent(EventKind.CLOSE, tag.name, None, NONE))
    return after


def _add_raw_content(page: PageScan, tag: Tag, content: bytes) -> None:
    match tag.name:
        case "script":
            add_script(page, tag, content)
        case "title":
            page.title = content if page.title is None else page.title
            if page.is_in_body:
                _add_text(page, content.replace(b"<", b"&lt;"))
        case "textarea":
            add_textarea(page, tag, content)
            _add_textarea_text(page, content.replace(b"<", b"&lt;"))
        case "iframe":
            add_other_link(page, tag)
        case "xmp":
            _show_text(page, _escaped(content))


def _escaped(content: bytes) -> bytes:
    """Raw text, written as text with references."""
    return content.replace(b"&", b"&amp;").replace(b"<", b"&lt;")


def _add_text(page: PageScan, text: bytes) -> None:
    """Text between tags: for the page, for the open link, and for the open label, option or button."""
    if not text or page.templates:
        return
    if not page.is_in_body:
        if not page.is_visible or not text.strip(_SPACE):
            return
        page.is_in_body = True
    if page.sinks:
        _collect(page, text)
    if not (page.is_linked and _is_permalink_sign(page, text)):
        _show_text(page, text)


def _is_permalink_sign(page: PageScan, text: bytes) -> bool:
    """Whether a text in a link is only the sign by which the link of a heading is copied."""
    text = text.strip(_SPACE)
    if len(text) > _LONGEST_SIGN or not _SIGN.fullmatch(decode_text(text)):
        return False
    return page.is_link_to_itself or (page.link_tag is not None and page.link_tag.is_permalink)


def _add_textarea_text(page: PageScan, text: bytes) -> None:
    """The text of a textarea is not part of the label around it."""
    sinks = page.sinks
    if page.text_owner != NONE:
        page.sinks = sinks[:-1]
    _add_text(page, text)
    page.sinks = sinks


def _collect(page: PageScan, text: bytes) -> None:
    if page.is_split:
        open_link_again(page)
    for sink in page.sinks:
        sink.append(text)


def _show_text(page: PageScan, text: bytes) -> None:
    """Text that a reader sees, unless it is for browsers without scripts or frames."""
    if text and page.is_visible:
        page.runs.append((text, page.element, page.block, page.is_linked))
        if page.wants_events:
            add_event(page, WrittenEvent(EventKind.TEXT, "", None, len(page.runs) - 1))


MAX_PAGE: Final = 16 << 20
"""Bytes of a page that are read."""


def scan(html: bytes, _: str, wants_blocks: bool, wants_events: bool, wants_sections: bool) -> Columns:
    """Scan a page once. Links are left to the URL parser, whatever the page's URL is."""
    page = PageScan(html[:MAX_PAGE], wants_blocks=wants_blocks, wants_events=wants_events or wants_sections)
    walk(page)
    pop_to(page, 1)
    return _columns(page, wants_events, wants_sections)


def resolve(_: str, hrefs: list[str]) -> list[str | None]:
    """Leave links to the URL parser."""
    return [None] * len(hrefs)


def _columns(page: PageScan, wants_events: bool, wants_sections: bool) -> Columns:
    folded = fold_runs(page.runs, has_signs=page.has_signs, wants_events=page.wants_events)
    tags = [tag.number if tag else NUMBERS["body"] for _, tag in page.elements]
    hints = [tag.hints if tag else 0 for _, tag in page.elements]
    parents = [parent for parent, _ in page.elements]
    is_main = chosen_blocks(
        folded.text, folded.starts, folded.ends, folded.links, folded.elements, parents, tags, hints
    )
    anchors = anchor_texts(page)
    return Columns(
        text=folded.text,
        main=_main_text(folded, is_main),
        is_cut=folded.is_cut,
        title=title_of(page),
        urls=[None] * len(page.hrefs),
        anchors=anchors,
        rels=page.rels,
        kinds=page.kinds,
        marks=page.marks,
        unresolved=[(number, href.decode("utf-8", "replace")) for number, href in enumerate(page.hrefs)],
        media=page.media,
        head=page.head,
        forms=msgpack.encode(form_elements(page)) if page.form_count else b"",
        sketch=None,
        blocks=contents_by_way(page, folded) if page.wants_blocks else [],
        events=_events(page, folded, is_main) if wants_events else [],
        own=page.own_links,
        masked=None,
        targets=None,
        counts=None,
        anchor_words=" ".join(anchors).count(" ") + 1 if anchors else 0,
        sections=sections_of(page, folded, is_main) if wants_sections else [],
    )


def _main_text(folded: Folded, is_main: list[bool]) -> bytes:
    blocks = zip(folded.starts, folded.ends, is_main, strict=True)
    return b" ".join([folded.text[start:end] for start, end, is_chosen in blocks if is_chosen])


def _events(page: PageScan, folded: Folded, is_main: list[bool]) -> list[Event]:
    return [
        Event(event.kind, event.value, event.attributes, False)
        if event.run == NONE
        else _text_event(page, folded, is_main, event.run)
        for event in page.events
    ]


def _text_event(page: PageScan, folded: Folded, is_main: list[bool], run: int) -> Event:
    text = decode_text(page.runs[run][0]).decode("utf-8", "replace")
    block = folded.block_of_run[run] if folded.block_of_run else NONE
    return Event(EventKind.TEXT, text, None, 0 <= block < len(is_main) and is_main[block])
