"""The tags of HTML, and what the scanner does at each. The compiled scanner has the same table in `native/tags.h`."""

from __future__ import annotations

from typing import Final

VOID: Final = 1
"""Has no content and no end tag."""
BLOCK: Final = 2
"""Begins and ends a block of text."""
PUSH: Final = 4
"""Is put on the stack of open elements; inline elements are not."""
RAW: Final = 8
"""Its content is text without tags and references."""
RCDATA: Final = 16
"""Its content is text without tags."""
HEAD: Final = 32
"""Does not begin the body."""
CLOSES_P: Final = 64
"""Ends an open paragraph."""
BARRIER: Final = 128
"""End tags inside do not reach beyond it."""
MEDIA: Final = 256
BREAKOUT: Final = 512
"""Ends foreign content (HTML Standard, 13.2.6.5)."""
SPECIAL: Final = 1024
"""Of the "special" category: end tags of others stop at it."""
FORM_PART: Final = 2048
"""Reported as a `FormElement`."""
HEAD_PART: Final = 4096
"""Reported as a `HeadElement`."""
SPACED: Final = 8192
"""Stands between two words, though no blank be written: a line break, a control, a picture."""
FLOW: Final = BLOCK | PUSH | CLOSES_P | SPECIAL

FLAGS: Final[dict[str, int]] = {
    "a": 0,
    "abbr": 0,
    "acronym": 0,
    "address": FLOW,
    "annotation": 0,
    "applet": PUSH | BARRIER | SPECIAL | SPACED,
    "area": VOID,
    "article": FLOW,
    "aside": FLOW,
    "audio": MEDIA | PUSH | SPACED,
    "b": BREAKOUT,
    "base": VOID | HEAD | HEAD_PART,
    "basefont": VOID | HEAD,
    "bdi": 0,
    "bdo": 0,
    "bgsound": VOID | HEAD,
    "big": BREAKOUT,
    "blockquote": FLOW | BREAKOUT,
    "body": BLOCK | SPECIAL | BREAKOUT,
    "br": VOID | BREAKOUT | SPACED,
    "button": PUSH | SPECIAL | FORM_PART | SPACED,
    "canvas": PUSH | SPACED,
    "caption": BLOCK | PUSH | BARRIER | SPECIAL,
    "center": FLOW | BREAKOUT,
    "cite": 0,
    "code": BREAKOUT,
    "col": VOID,
    "colgroup": 0,
    "data": 0,
    "datalist": PUSH | FORM_PART | SPACED,
    "dd": FLOW | BREAKOUT,
    "del": 0,
    "desc": PUSH | SPACED,
    "details": FLOW,
    "dfn": 0,
    "dialog": FLOW,
    "dir": FLOW,
    "div": FLOW | BREAKOUT,
    "dl": FLOW | BREAKOUT,
    "dt": FLOW | BREAKOUT,
    "em": BREAKOUT,
    "embed": VOID | BREAKOUT | SPACED,
    "fieldset": FLOW,
    "figcaption": FLOW,
    "figure": FLOW,
    "font": 0,
    "footer": FLOW,
    "foreignobject": PUSH | SPACED,
    "form": FLOW | FORM_PART,
    "frame": VOID | SPACED,
    "frameset": 0,
    "h1": FLOW | BREAKOUT,
    "h2": FLOW | BREAKOUT,
    "h3": FLOW | BREAKOUT,
    "h4": FLOW | BREAKOUT,
    "h5": FLOW | BREAKOUT,
    "h6": FLOW | BREAKOUT,
    "head": HEAD | BREAKOUT,
    "header": FLOW,
    "hgroup": FLOW,
    "hr": VOID | BLOCK | CLOSES_P | BREAKOUT,
    "html": HEAD | HEAD_PART,
    "i": BREAKOUT,
    "iframe": RAW | SPACED,
    "image": VOID | MEDIA | SPACED,
    "img": VOID | MEDIA | BREAKOUT | SPACED,
    "input": VOID | FORM_PART | SPACED,
    "ins": 0,
    "kbd": 0,
    "keygen": VOID | SPACED,
    "label": PUSH | FORM_PART,
    "legend": BLOCK | PUSH,
    "li": FLOW | BREAKOUT,
    "link": VOID | HEAD | HEAD_PART,
    "listing": FLOW | BREAKOUT,
    "main": FLOW,
    "map": 0,
    "mark": 0,
    "marquee": PUSH | BARRIER | SPECIAL | SPACED,
    "math": PUSH,
    "menu": FLOW | BREAKOUT,
    "meta": VOID | HEAD | BREAKOUT | HEAD_PART,
    "meter": SPACED,
    "nav": FLOW,
    "nobr": BREAKOUT,
    "noembed": RAW | SPACED,
    "noframes": RAW | HEAD | SPACED,
    "noscript": HEAD,
    "object": PUSH | BARRIER | SPECIAL | SPACED,
    "ol": FLOW | BREAKOUT,
    "optgroup": PUSH | SPACED,
    "option": BLOCK | PUSH | FORM_PART,
    "output": 0,
    "p": FLOW | BREAKOUT,
    "param": VOID,
    "picture": 0,
    "plaintext": BLOCK,
    "pre": FLOW | BREAKOUT,
    "progress": SPACED,
    "q": 0,
    "rp": 0,
    "rt": 0,
    "ruby": BREAKOUT,
    "s": BREAKOUT,
    "samp": 0,
    "script": RAW | HEAD | HEAD_PART,
    "search": FLOW,
    "section": FLOW,
    "select": PUSH | SPECIAL | FORM_PART | SPACED,
    "slot": 0,
    "small": BREAKOUT,
    "source": VOID | MEDIA,
    "span": BREAKOUT,
    "strike": BREAKOUT,
    "strong": BREAKOUT,
    "style": RAW | HEAD,
    "sub": BREAKOUT,
    "summary": FLOW,
    "sup": BREAKOUT,
    "svg": PUSH | SPACED,
    "table": BLOCK | PUSH | BARRIER | BREAKOUT | SPECIAL,
    "tbody": BLOCK | PUSH | SPECIAL,
    "td": BLOCK | PUSH | BARRIER | SPECIAL,
    "template": BARRIER | SPECIAL | HEAD,
    "textarea": RCDATA | FORM_PART | SPACED,
    "tfoot": BLOCK | PUSH | SPECIAL,
    "th": BLOCK | PUSH | BARRIER | SPECIAL,
    "thead": BLOCK | PUSH | SPECIAL,
    "time": 0,
    "title": RCDATA | HEAD | SPACED,
    "tr": BLOCK | PUSH | SPECIAL,
    "track": VOID,
    "tt": BREAKOUT,
    "u": BREAKOUT,
    "ul": FLOW | BREAKOUT,
    "var": BREAKOUT,
    "video": MEDIA | PUSH | SPACED,
    "wbr": VOID,
    "xmp": RAW | BLOCK | CLOSES_P,
}
"""What the scanner does at a tag, by its name; nothing at names that are not here."""

NAMES: Final = ("", *FLAGS)
"""Names by number: a tag on the stack is one byte. Number 0 is every unknown tag."""
NUMBERS: Final = {name: number for number, name in enumerate(NAMES)}
FLAGS_OF: Final = (0, *FLAGS.values())
"""Flags by number."""


def numbers_of(*names: str) -> bytes:
    """The numbers of tags, for searches on the stack."""
    return bytes(NUMBERS[name] for name in names)


def numbers_with(flag: int) -> bytes:
    """The numbers of all tags that have a flag."""
    return bytes(number for number, flags in enumerate(FLAGS_OF) if flags & flag)
