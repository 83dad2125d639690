"""The scanner in Python: one pass over the tokens of a page, with a stack of open elements and no tree.

`tokens` finds tags, `markup` reads them, and each tag acts (`steps`) on the state of the pass: on the stack (`stack`),
links and pictures (`anchors`), forms (`form_parts`), the head (`head_parts`). Text is gathered as it is written;
`folding` folds all of it at once in the end, `main_text` chooses blocks, `ways` sorts them by where they stand.
"""

from __future__ import annotations

from typing import Final

from .anchors import add_other_link, anchor_texts, open_link_again, start_anchor
from .columns import Columns, Event, EventKind
from .folding import Folded, fold_runs
from .form_parts import add_textarea, form_elements
from .head_parts import add_script, title_of
from .markup import Tag, chosen_blocks
from .stack import add_event, add_open_event, has_events, leave_foreign, pop_to, push
from .references import decode_text
from .state import NONE, Page, WrittenEvent
from .steps import known, tag_of
from .tags import BLOCK, BREAKOUT, HEAD, NUMBERS, PUSH, RAW, RCDATA, VOID, numbers_of
from .tokens import BODY_TOKEN, FOREIGN_TOKEN, INLINE_TAG, TEXT, TOKEN, raw_text_end
from .ways import contents_by_way

MAX_PAGE: Final = 16 << 20
"""Bytes of a page that are read."""
_SPACE: Final = b"\t\n\f\r "
_A: Final = NUMBERS["a"]
_FONT: Final = NUMBERS["font"]
_FRAME: Final = NUMBERS["frame"]
_FRAMESET: Final = NUMBERS["frameset"]
_PLAINTEXT: Final = NUMBERS["plaintext"]
_TEMPLATE: Final = NUMBERS["template"]
_TITLE: Final = NUMBERS["title"]
_OF_FOREIGN: Final = numbers_of("svg", "math", "foreignobject", "desc", "title")
_SCRIPT_OR_STYLE: Final = numbers_of("script", "style")


def scan(html: bytes, _: str, wants_blocks: bool, wants_events: bool) -> Columns:
    """Scan a page once. Links are left to the URL parser, whatever the page's URL is."""
    page = Page(html[:MAX_PAGE], wants_blocks=wants_blocks, wants_events=wants_events)
    _read(page)
    pop_to(page, 1)
    return _columns(page)


def resolve(_: str, hrefs: list[str]) -> list[str | None]:
    """Leave links to the URL parser."""
    return [None] * len(hrefs)


def _columns(page: Page) -> Columns:
    folded = fold_runs(page.runs, has_signs=page.has_signs)
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
    )


def _main_text(folded: Folded, is_main: list[bool]) -> bytes:
    blocks = zip(folded.starts, folded.ends, is_main, strict=True)
    return b" ".join([folded.text[start:end] for start, end, is_chosen in blocks if is_chosen])


# ---- tokens ----


def _read(page: Page) -> None:
    html, size = page.html, len(page.html)
    at = 0
    while at < size:
        text = TEXT.match(html, at)
        if text and text[1]:
            _add_text(page, text[1])
            at = text.end()
        elif page.is_in_body and not (page.is_foreign or page.templates or page.wants_events):
            at = _read_body(page, at)
        else:
            at = _read_token(page, at)


def _read_body(page: Page, at: int) -> int:
    """Read tokens until one changes how tokens are read. Returns where to go on.

    This is where nearly all of a page is read, so calls are few: most tags are known, and inline tags are text.
    """
    html, runs = page.html, page.runs
    for found in BODY_TOKEN.finditer(html, at):
        source, text = found.groups()
        tag = known.get(source) or tag_of(source)
        act = tag.act
        if act is not None and act(page, tag):
            return _after_stop(page, tag, found.end(1) + 1)
        if text:
            if page.sinks:
                _collect(page, text)
            if page.is_visible and not text.isspace():
                runs.append((text, page.element, page.block, page.is_linked))
    return len(html)


def _read_token(page: Page, at: int) -> int:
    """Read one token where tokens are read with care: before the body, in drawings and templates, and for events."""
    is_foreign = page.is_foreign and not page.templates
    found = (FOREIGN_TOKEN if is_foreign else TOKEN).match(page.html, at)
    if found is None:
        return len(page.html)
    source = found[1]
    if source is None:
        if is_foreign and found[2] is not None:
            _add_text(page, _escaped(found[2]))
        return found.start(found.re.groups)
    tag = known.get(source) or tag_of(source)
    after = found.end(1) + 1
    return _read_end_tag(page, tag, after) if tag.is_end else _read_start_tag(page, tag, after)


def _after_stop(page: Page, tag: Tag, after: int) -> int:
    """What a tag does that changes how tokens are read. `after` is where it ends."""
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


def _read_start_tag(page: Page, tag: Tag, after: int) -> int:
    if page.templates:
        return _read_in_template(page, tag, after)
    if page.is_foreign:
        if not _breaks_out(tag):
            return _read_foreign(page, tag, after)
        leave_foreign(page)
    if not page.is_in_body:
        _note_body(page, tag)
    if tag.act is not None and tag.act(page, tag):
        after = _after_stop(page, tag, after)
    if page.wants_events and not tag.flags & (PUSH | RAW | RCDATA) and tag.number != _PLAINTEXT:
        add_open_event(page, tag)
    return after


def _read_end_tag(page: Page, tag: Tag, after: int) -> int:
    if page.templates:
        page.templates -= tag.number == _TEMPLATE
        return after
    if tag.act is not None:
        tag.act(page, tag)
    is_reported = page.wants_events and not tag.flags & (PUSH | VOID) and not page.is_foreign
    if is_reported and has_events(page, tag.number):
        add_event(page, WrittenEvent(EventKind.CLOSE, tag.name, None, NONE))
    return after


def _read_in_template(page: Page, tag: Tag, after: int) -> int:
    """Inside a template there is nothing of the page; only where it ends matters."""
    if tag.number == _TEMPLATE:
        page.templates += 1
    elif tag.flags & (RAW | RCDATA):
        return raw_text_end(page.html, tag.name, after)[1]
    return after


def _read_foreign(page: Page, tag: Tag, after: int) -> int:
    """A start tag in svg or math. Links count; inside foreignobject, desc and title is HTML again."""
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


def _note_body(page: Page, tag: Tag) -> None:
    """The body begins with the first tag that does not belong to the head."""
    if tag.number == _FRAMESET:
        page.is_frameset = True
        page.is_visible = False
    elif not tag.flags & HEAD and not (page.is_frameset and tag.number == _FRAME):
        page.is_in_body = True


# ---- text ----


def _read_raw_element(page: Page, tag: Tag, start: int) -> int:
    """An element whose content is text without tags. Returns what follows its end tag."""
    end, after = raw_text_end(page.html, tag.name, start)
    content = page.html[start:end]
    has_event = page.wants_events and add_open_event(page, tag)
    if tag.flags & BLOCK:
        page.block += 1
    match tag.name:
        case "script":
            add_script(page, tag, content)
        case "style":
            pass
        case "title":
            page.title = content if page.title is None else page.title
            if page.is_in_body:
                _add_text(page, content.replace(b"<", b"&lt;"))
        case "textarea":
            add_textarea(page, tag, content)
            _add_textarea_text(page, content.replace(b"<", b"&lt;"))
        case "iframe":
            add_other_link(page, tag)
            _show_text(page, _escaped(content))
        case _:
            if page.is_in_body:
                _show_text(page, _escaped(content))
    if tag.flags & BLOCK:
        page.block += 1
    if has_event:
        add_event(page, WrittenEvent(EventKind.CLOSE, tag.name, None, NONE))
    return after


def _escaped(content: bytes) -> bytes:
    """Raw text, written as text with references."""
    return content.replace(b"&", b"&amp;").replace(b"<", b"&lt;")


def _add_text(page: Page, text: bytes) -> None:
    """Text between tags: for the page, for the open link, and for the open label, option or button."""
    if not text or page.templates:
        return
    if not page.is_in_body:
        if not page.is_visible or not text.strip(_SPACE):
            return
        page.is_in_body = True
    if page.sinks:
        _collect(page, text)
    _show_text(page, text)


def _add_textarea_text(page: Page, text: bytes) -> None:
    """The text of a textarea is not part of the label around it."""
    sinks = page.sinks
    if page.text_owner != NONE:
        page.sinks = sinks[:-1]
    _add_text(page, text)
    page.sinks = sinks


def _collect(page: Page, text: bytes) -> None:
    if page.is_split and INLINE_TAG.sub(b"", text):
        open_link_again(page)
    for sink in page.sinks:
        sink.append(text)


def _show_text(page: Page, text: bytes) -> None:
    """Text that a reader sees, unless it is for browsers without scripts or frames."""
    if text and page.is_visible:
        page.runs.append((text, page.element, page.block, page.is_linked))
        if page.wants_events:
            add_event(page, WrittenEvent(EventKind.TEXT, "", None, len(page.runs) - 1))


# ---- events ----


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
