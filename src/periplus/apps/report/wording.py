"""Numbers for people to read, and text of sites made safe to show: no control characters, bounded length."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from html import escape
from typing import Any, Final

LONGEST: Final = 160
"""Letters of a site's text that are shown."""
LONGEST_LINK: Final = 500
"""Letters of a URL at most to be shown as a link."""
_BYTES: Final = ("bytes", "kB", "MB", "GB", "TB")
_SPANS: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))


def count(number: float) -> str:
    """1,627."""
    return f"{number:,.0f}"


def short(number: float) -> str:
    """1.6k: for axes."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def share(part: float) -> str:
    """43 %; never 0 % or 100 % unless it is exactly that."""
    percent = 100 * part
    if 0 < percent < 0.01:
        return "< 0.01 %"
    if 0 < percent < 1:
        return f"{percent:.2g} %"
    if 99 < percent < 100:
        return f"{min(percent, 99.9):.1f} %"
    return f"{percent:.0f} %"


def byte_size(number: float) -> str:
    """A number of bytes."""
    unit = 0
    while number >= 1000 and unit < len(_BYTES) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:,.0f} {_BYTES[unit]}" if unit < 1 or number >= 100 else f"{number:.3g} {_BYTES[unit]}"


def duration(seconds: float) -> str:
    """A span of time."""
    if abs(seconds) < 1:
        return f"{1000 * seconds:.0f} ms"
    size, word = next((span for span in _SPANS if abs(seconds) >= span[0]), _SPANS[-1])
    return f"{seconds / size:.3g} {word}"


def moment(at: float) -> str:
    """A time, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


_WRITTEN: Final[dict[str, Callable[[float], str]]] = {
    "count": count,
    "share": lambda part: share(part) if 0 < part < 1e-4 else f"{100 * part:.3g} %",
    "seconds": duration,
    "bytes": byte_size,
    "moment": moment,
    "number": lambda number: f"{number:.4g}",
}


def written(value: Any, kind: str) -> str:
    """A value of a table, not yet escaped; a dash if it is not known."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and kind in _WRITTEN:
        return _WRITTEN[kind](value)
    return clean(str(value))


def clean(text: str, longest: int = LONGEST) -> str:
    """Text on one line, at most `longest` letters, without control characters and marks that change its direction."""
    kept = "".join(letter if letter.isprintable() else "\ufffd" for letter in text[: longest + 1])
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"


def number_of(number: float, thing: str) -> str:
    """1 site, 2 sites."""
    return f"{count(number)} {thing}" if number == 1 else f"{count(number)} {thing}s"


def prose(text: str) -> str:
    """A sentence as HTML: text between backticks is code, and options are not broken across lines."""
    html = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(clean(text, LONGEST_LINK)))
    return re.sub(r"(?<![\w-])(--\w[\w-]*)", r'<span class="flag">\1</span>', html)


def link(url: str, shown: str = "") -> str:
    """A URL as HTML: a link if it is http(s) and not too long, else its text."""
    text = escape(clean(shown or url))
    is_link = url.startswith(("http://", "https://")) and len(url) <= LONGEST_LINK and url.isprintable()
    return f'<a href="{escape(url)}" rel="noreferrer nofollow noopener">{text}</a>' if is_link else text
