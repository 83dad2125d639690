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
_BOILERPLATE_ROLES: Final = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar"}
)

# Borders and signs are control characters, which have no business in a text: a page that writes some spoils its own.
_BORDER, _SIGN = 1, 2
_MAIN, _ASIDE, _HEADER, _FORM = "Mm", "Aa", "Hh", "Ff"
NO_SIGNS: Final = {_BORDER: " ", _SIGN: " "}
"""What `str.translate` needs to take them out of a text that is not from a tree."""
_SIGNED: Final = frozenset(letter.encode() for letter in _MAIN + _ASIDE + _HEADER + _FORM)
_SPACES_ONLY: Final = bytes(0x20 if byte < 0x20 and byte not in (_BORDER, _SIGN) else byte for byte in range(256))
_BORDERS_TOO: Final = bytes(0x20 if byte == _BORDER else byte for byte in range(256))


def _table(characters: bytes) -> NDArray[np.bool_]:
    return np.isin(np.arange(256), list(characters))


_CLOSES: Final = _table(b" ,.;:!?)]}\x02")
_OPENS: Final = _table(b" ([{\x01\x02")
_WIDE_SPACES: Final = tuple(char.encode() for char in "\xa0\u3000\u200b")


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
    """A text in UTF-8 with white space folded, none at either end, and borders made into a space or nothing."""
    data = raw.encode("utf-8", "replace").translate(_SPACES_ONLY)
    if len(data) != len(raw):
        for space in _WIDE_SPACES:
            if space in data:
                data = data.replace(space, b" ")
    codes = np.frombuffer(b"  " + data + b"  ", dtype=np.uint8)
    is_space = codes == 0x20
    is_gone = is_space.copy()
    is_gone[1:] &= is_space[:-1]  # a space goes if one stands before it
    borders = (codes == _BORDER).nonzero()[0]
    before, after = codes[borders - 1], codes[borders + 1]
    is_gone[borders] = _OPENS[before] | _CLOSES[after]
    is_gone[borders[(before == 0x20) & (after == 0x20)] + 1] = True
    kept = codes.take((~is_gone).nonzero()[0])
    folded: bytes = kept.tobytes().translate(_BORDERS_TOO)
    return folded.strip(b" ")


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
