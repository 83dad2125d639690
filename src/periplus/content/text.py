"""What a reader sees: all text of a page, and the part of it that is not navigation.

The tree is asked for its text once, in the parser's own language. Before that, signs are put around the regions that
matter (`<main>`, `<nav>`, forms, lists of links, ...), and after that the text is cut at the signs; so the main text
costs hardly more than the text. White space is folded: that of ASCII, and the no-break, ideographic and zero-width
spaces. A border between two elements is a space too, unless punctuation is beside it: "<a>a link</a>, and" is "a link,
and".

Main text is what lies in `<main>`, else in `<article>`, outside of navigation; where a page marks neither, it is what
remains without navigation, header, footer, asides, forms and blocks that are mostly links (link density, Kohlschuetter,
Fankhauser & Nejdl 2010). Where that leaves next to nothing, everything is main: a page of links is about its links.

Not text: scripts, styles, templates and `<noscript>`, which a reader with a browser never sees.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from selectolax.lexbor import LexborHTMLParser, LexborNode

from .elements import ROLE, Elements
from .links import Anchors

MAX_TEXT: Final = 1 << 20
_MAX_MARKED: Final = 500
_LEAST_MAIN: Final = 25
_LEAST_SHARE: Final = 0.1
_LEAST_LINKS: Final = 3
_MAX_BLOCK_TEXT: Final = 4 << 20
_DENSE: Final = 0.6
_ITEMS: Final = frozenset(
    node.tag_id
    for node in LexborHTMLParser("<li><dl><dt><dd><span></span></dl><table><td><th>").css("li,dt,dd,span,td,th")
)
_HEAD, _BODY = (LexborHTMLParser("").create_node(name).tag_id for name in ("head", "body"))
_BOILERPLATE_ROLES: Final = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar"}
)

# Borders and signs are control characters, which have no business in a text: a page that writes some spoils its own.
_BORDER, _SIGN = 0x01, 0x7F
_MAIN, _ASIDE, _HEADER, _FORM = "Mm", "Aa", "Hh", "Ff"
_SIGNED: Final = frozenset((_MAIN + _ASIDE + _HEADER + _FORM).encode())
_WIDE_SPACES: Final = "\xa0\u3000\u200b"
_BLANK: Final = 0x20
"""This character and all below it are white space, borders among them."""


def _is_no_space() -> NDArray[np.bool_]:
    """Does a border vanish, by what is before and after it? One alone is no space beside punctuation or a sign."""
    opens = np.isin(np.arange(256), [*b"([{", _SIGN])
    closes = np.isin(np.arange(256), [*b",.;:!?)]}", _SIGN])
    is_space = (np.arange(256) <= _BLANK) & (np.arange(256) != _BORDER)
    vanishes: NDArray[np.bool_] = (opens[:, None] | closes[None, :]) & ~is_space[:, None]
    return vanishes


_IS_NO_SPACE: Final = _is_no_space()


class Texts(NamedTuple):
    """All text of a page and its main text, in UTF-8, white space folded."""

    text: bytes
    main: bytes
    is_cut: bool = False


def read_text(tree: LexborHTMLParser, found: Elements, anchors: Anchors) -> str:
    """The text of a page as written, with signs around its regions: what `texts_of` is for.

    The tree is spent afterwards: signs are in it, and scripts are gone.
    """
    body = tree.body
    if body is None:
        return ""
    for name in ("script", "style", "noscript"):
        for node in found.get(name, ()):
            parent = node.parent
            if parent is not None and parent.tag_id != _HEAD:
                node.decompose()
    if not _mark_regions(found) and len(anchors.nodes) >= _LEAST_LINKS:
        _mark(_link_blocks(anchors), _ASIDE)
    return body.text(separator=chr(_BORDER), skip_empty=True)[: 2 * MAX_TEXT]


def without_signs(text: str) -> str:
    """A text that is not from a tree, without what would be a sign or a border."""
    return text.translate({_BORDER: " ", _SIGN: " "})


def texts_of(written: Sequence[str]) -> list[Texts]:
    """The texts of several pages, given what `read_text` found."""
    return [_texts(folded) for folded in fold_all(written)]


def fold(written: str) -> bytes:
    """A text in UTF-8 with white space folded, none at either end, and borders made into a space or nothing."""
    return fold_all([written])[0]


def fold_all(written: Sequence[str]) -> list[bytes]:
    """Several texts folded, each as if it were alone: the cost of looking at some bytes is mostly that of beginning.

    Of a run of spaces and borders the last one stands for all.
    """
    if not written:
        return []
    parts = [b" %b " % _utf8(text) for text in written]
    codes = np.frombuffer(b"".join(parts), dtype=np.uint8)
    is_blank = codes <= _BLANK
    is_gone = is_blank[:-1] & is_blank[1:]
    borders = (codes == _BORDER).nonzero()[0]
    is_gone[borders] |= _IS_NO_SPACE[codes[borders - 1], codes[borders + 1]]
    is_kept = np.append(~is_gone, False)
    folded = np.maximum(codes, _BLANK)[is_kept].tobytes()
    texts = []
    start = end = 0
    for part in parts:
        size = int(np.count_nonzero(is_kept[start : start + len(part)]))
        texts.append(folded[end : end + size].strip(b" "))
        start, end = start + len(part), end + size
    return texts


def _utf8(text: str) -> bytes:
    if not text.isascii():
        for space in _WIDE_SPACES:
            if space in text:
                text = text.replace(space, " ")
    return text.encode("utf-8", "replace")


def _texts(folded: bytes) -> Texts:
    is_cut = len(folded) > MAX_TEXT
    first, *signed = (_cut(folded) if is_cut else folded).split(b"\x7f")
    if not signed:
        return Texts(first, first, is_cut)
    least = max(_LEAST_MAIN, _LEAST_SHARE * (len(first) + sum(map(len, signed))))
    parts = [_part(piece) for piece in signed]
    first = first.strip(b" ")
    text = _joined([first, *parts])
    main = _main(first, [piece[:1] for piece in signed], parts)
    return Texts(text, main if len(main) >= least else text, is_cut)


def _part(piece: bytes) -> bytes:
    """What follows a sign; a page may have written its own, which is not followed by a letter of ours."""
    return (piece[1:] if piece and piece[0] in _SIGNED else piece).strip(b" ")


def _main(first: bytes, signs: list[bytes], parts: list[bytes]) -> bytes:
    """The main text, of the parts that each follow a sign: those in the right regions. It may be next to nothing."""
    main: list[bytes] = []
    bare, in_forms = [first], list[bytes]()
    depth = dict.fromkeys((b"M", b"A", b"H", b"F"), 0)
    for sign, part in zip(signs, parts, strict=True):
        if sign in depth:
            depth[sign] += 1
        elif (opened := sign.upper()) in depth and depth[opened]:
            depth[opened] -= 1
        if depth[b"A"] or not part:
            continue
        if depth[b"M"] and not depth[b"F"]:
            main.append(part)
        if not depth[b"H"]:
            (in_forms if depth[b"F"] else bare).append(part)
    chosen = _joined(main)
    if len(chosen) < _LEAST_MAIN:
        chosen, forms = _joined(bare), _joined(in_forms)
        if len(forms) > len(chosen):  # a page that is one form as a whole is no form in a page
            chosen = _joined([chosen, forms])
    return chosen


def _joined(parts: list[bytes]) -> bytes:
    return b" ".join(filter(None, parts))


def _cut(data: bytes) -> bytes:
    """At most as much as we keep, and no half of a character."""
    return data[:MAX_TEXT].decode("utf-8", "ignore").encode()


def _mark_regions(found: Elements) -> bool:
    """Put signs around what is plainly main, plainly navigation, a header or a form; is anything main?"""
    roles = [(node, (node.attributes.get("role") or "").lower()) for node in found.get(ROLE, ())]
    main = found.get("main", []) + [node for node, role in roles if role == "main"]
    main = main or found.get("article", [])
    _mark(main, _MAIN)
    for name in ("nav", "aside", "footer"):
        _mark(found.get(name, ()), _ASIDE)
    _mark([node for node, role in roles if role in _BOILERPLATE_ROLES], _ASIDE)
    _mark(found.get("header", ()), _HEADER)
    _mark(found.get("form", ()), _FORM)
    return bool(main)


def _mark(nodes: Sequence[LexborNode], signs: str) -> None:
    before, after = chr(_SIGN) + signs[0], chr(_SIGN) + signs[1]
    for node in nodes[:_MAX_MARKED]:
        if node.tag_id != _BODY:
            node.insert_before(before)
            node.insert_after(after)


def _link_blocks(anchors: Anchors) -> list[LexborNode]:
    """Blocks that are mostly links: lists, rows and lines with several links and little else.

    A block is the parent of links that stand side by side, or, as in a list, the parent of their parents.
    """
    parents = [node.parent for node in anchors.nodes]
    blocks = [parent.parent if parent is not None and parent.tag_id in _ITEMS else parent for parent in parents]
    places: defaultdict[int, list[int]] = defaultdict(list)
    for place, block in enumerate(blocks):
        if block is not None:
            places[block.mem_id].append(place)
    dense = []
    budget = _MAX_BLOCK_TEXT  # blocks may lie in blocks, so that their texts add up
    for linked in places.values():
        block = blocks[linked[0]]
        if len(linked) >= _LEAST_LINKS and block is not None and budget > 0:
            text = block.text_lexbor()
            budget -= len(text)
            if sum(len(anchors.texts[place]) for place in linked) >= _DENSE * len("".join(text.split())):
                dense.append(block)
    return dense
