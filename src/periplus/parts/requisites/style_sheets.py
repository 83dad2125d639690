"""Which files a style sheet names: `url()`, `src()`, `@import`, and the strings of `image-set()`.

A scan for the few tokens that matter (CSS Syntax Level 3 section 4), in time linear in its length. Comments and other
strings are passed over. What is inside a block that no browser would apply is found as well: which one it would apply
depends on its screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MAX_STYLES: Final = 4 << 20
"""Characters of a style sheet that are read."""
_QUOTED: Final = r"""(?>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
_UNCLOSED: Final = r"""(?>"(?:[^"\\\n]|\\.)*|'(?:[^'\\\n]|\\.)*)"""
"""A string up to the end of its line: it is passed over, or each of its escaped quotes would begin another."""
_TOKEN: Final = re.compile(
    rf"""/\*.*?(?:\*/|\Z)
    |\b(?:url|src)\(\s*+(?:(?P<quoted>{_QUOTED})|(?P<bare>(?>(?:[^"'()\\\s]|\\[0-9a-f]{{1,6}}\s?|\\.)+)))\s*+\)
    |(?P<string>{_QUOTED}|{_UNCLOSED})
    |(?P<rule>@import\b)
    |(?P<set>image-set\()
    |(?P<type>\btype\()
    |(?P<bracket>[()])""",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
_ESCAPE: Final = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(\r\n|.))", re.DOTALL)
_NEWLINES: Final = frozenset({"\n", "\r", "\f", "\r\n"})


def style_urls(styles: str) -> Iterator[str]:
    """What a style sheet names, as written."""
    imports = False
    depth = 0  # brackets that are open since an image-set()
    for token in _TOKEN.finditer(styles, 0, MAX_STYLES):
        kind = token.lastgroup
        if kind == "rule":
            imports = True
        elif kind in ("quoted", "bare") or (kind == "string" and (imports or depth == 1)):
            imports = False
            text = token[kind]
            written = _unescaped(text if kind == "bare" else text.strip(text[0])).strip()
            if written:
                yield written
        elif kind == "set":
            depth = 1
        elif depth and kind in ("type", "bracket"):
            depth += -1 if token[0] == ")" else 1


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_meant, text) if "\\" in text else text


def _meant(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return "" if escape[2] in _NEWLINES else escape[2]
    code = int(escape[1], 16)
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code <= 0x10FFFF else "\ufffd"
