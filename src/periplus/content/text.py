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
from collections.abc import Iterable
from itertools import product
from typing import Final, NamedTuple

import numpy as np
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
_BOILERPLATE_ROLES: Final = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar"}
)

# Borders and signs are control characters, which have no business in a text: a page that writes some spoils its own.
_BORDER, _SIGN = 1, 2
_MAIN, _ASIDE, _HEADER, _FORM = "Mm", "Aa", "Hh", "Ff"
NO_SIGNS: Final = {_BORDER: " ", _SIGN: " "}
"""What `str.translate` needs to take them out of a text that is not from a tree."""
_SIGNED: Final = frozenset(letter.encode() for letter in _MAIN + _ASIDE + _HEADER + _FORM)
_WIDE_SPACES: Final = "\xa0\u3000\u200b"
_OTHER, _SPACE, _EDGE, _OPENS, _CLOSES, _PARTS = range(6)
"""What a character is to a gap beside it: nothing special, a space, a border, a bracket, punctuation, or a sign."""


def _roles() -> bytes:
    roles = bytearray(256)
    roles[:0x21] = bytes([_SPACE]) * 0x21
    for characters, role in (b"\x01", _EDGE), (b"\x02", _PARTS), (b"([{", _OPENS), (b",.;:!?)]}", _CLOSES):
        for character in characters:
            roles[character] = role
    return bytes(roles)


def _kept() -> bytes:
    """Is a character kept? By the roles of the one before it, of itself and of the one after it, as digits to base 6.

    Of a run of spaces and borders the last one stands for all. A border alone is no space beside punctuation.
    """
    kept = bytearray(b"\1" * 256)
    for before, own, after in product(range(6), repeat=3):
        if own in (_SPACE, _EDGE):
            is_last = after not in (_SPACE, _EDGE)
            is_nothing = (
                own == _EDGE and before != _SPACE and (before in (_OPENS, _PARTS) or after in (_CLOSES, _PARTS))
            )
            kept[before * 36 + own * 6 + after] = is_last and not is_nothing
    return bytes(kept)


_ROLES: Final = _roles()
_KEPT: Final = _kept()
_GAPS_TO_SPACES: Final = bytes(0x20 if byte < 0x20 and byte != _SIGN else byte for byte in range(256))


class Texts(NamedTuple):
    """All text of a page and its main text, in UTF-8, white space folded."""

    text: bytes
    main: bytes
    is_cut: bool = False


def read_texts(tree: LexborHTMLParser, found: Elements, anchors: Anchors) -> Texts:
    """The texts of a page, given its elements and its links.

    The tree is spent afterwards: signs are in it, and scripts are gone.
    """
    body = tree.body
    if body is None:
        return Texts(b"", b"")
    for name in ("script", "style", "noscript"):
        for node in found.get(name, ()):
            node.decompose()
    if not _mark_regions(found):
        _mark(_link_blocks(anchors), _ASIDE)
    raw = body.text(separator=chr(_BORDER), skip_empty=True)
    folded = fold(raw[: 2 * MAX_TEXT])
    is_cut = len(folded) > MAX_TEXT
    pieces = (_cut(folded) if is_cut else folded).split(b"\x02")
    if len(pieces) == 1:
        return Texts(pieces[0], pieces[0], is_cut)
    text = _joined([pieces[0], *(_without_sign(piece) for piece in pieces[1:])])
    return Texts(text, _main(pieces) or text, is_cut)


def fold(raw: str) -> bytes:
    """A text in UTF-8 with white space folded, none at either end, and borders made into a space or nothing.

    What goes is made zero and deleted at the end: operations on bytes as such are cheaper than those on places.
    """
    if "\0" in raw:
        raw = raw.replace("\0", " ")
    if not raw.isascii():
        for space in _WIDE_SPACES:
            if space in raw:
                raw = raw.replace(space, " ")
    data = bytearray(b"  %b  " % raw.encode("utf-8", "replace"))
    roles = np.frombuffer(data.translate(_ROLES), dtype=np.uint8)
    three = roles[:-2] * 6
    three += roles[1:-1]
    three *= 6
    three += roles[2:]
    codes = np.frombuffer(data, dtype=np.uint8)[1:-1]
    codes *= np.frombuffer(three.tobytes().translate(_KEPT), dtype=np.uint8)
    return bytes(data.translate(_GAPS_TO_SPACES, b"\0").strip(b" "))


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
    _mark((node for node, role in roles if role in _BOILERPLATE_ROLES), _ASIDE)
    _mark(found.get("header", ()), _HEADER)
    _mark(found.get("form", ()), _FORM)
    return bool(main)


def _mark(nodes: Iterable[LexborNode], signs: str) -> None:
    for node, _ in zip(nodes, range(_MAX_MARKED), strict=False):
        if node.tag != "body":
            node.insert_before(chr(_SIGN) + signs[0])
            node.insert_after(chr(_SIGN) + signs[1])


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


def _main(pieces: list[bytes]) -> bytes:
    """The main text: of pieces of text that each begin with a sign, those that are in the right regions."""
    main: list[bytes] = []
    bare, in_forms = [pieces[0]], list[bytes]()
    depth = dict.fromkeys((b"M", b"A", b"H", b"F"), 0)
    for piece in pieces[1:]:
        sign, part = piece[:1], _without_sign(piece)
        if sign in depth:
            depth[sign] += 1
        elif sign.upper() in depth:
            depth[sign.upper()] = max(0, depth[sign.upper()] - 1)
        if depth[b"A"]:
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
    return chosen if len(chosen) >= max(_LEAST_MAIN, _LEAST_SHARE * sum(map(len, pieces))) else b""


def _without_sign(piece: bytes) -> bytes:
    """What follows a sign; a page may have written its own, which is not followed by a letter of ours."""
    return piece[1:] if piece[:1] in _SIGNED else piece


def _joined(parts: Iterable[bytes]) -> bytes:
    return b" ".join(filter(None, (part.strip() for part in parts)))
