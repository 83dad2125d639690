"""X-Robots-Tag, and the directives it shares with meta robots.

No standard exists; this follows what Google and Bing document. Every line that applies to us counts, and the strictest
wins: a general `noindex` is not lifted by a milder line for our own name. Directives may be separated by commas,
semicolons or spaces, in any letter case. `nocache` is Bing's `noarchive`; `all`, `index`, `follow` and unknown words
have no effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from periplus.model import Directives

from .. import dates
from .fields import LONGEST_VALUE

_PREVIEWS = ("none", "standard", "large")
_MOST = 2**31
_FLAGS = {
    "noindex": Directives(noindex=True),
    "nofollow": Directives(nofollow=True),
    "none": Directives(noindex=True, nofollow=True),
    "noarchive": Directives(noarchive=True),
    "nocache": Directives(noarchive=True),
    "nosnippet": Directives(nosnippet=True),
    "noimageindex": Directives(noimageindex=True),
    "notranslate": Directives(notranslate=True),
    "indexifembedded": Directives(indexifembedded=True),
    "noai": Directives(noai=True),
    "noimageai": Directives(noimageai=True),
}
_VALUED = frozenset({"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"})
_NOTHING = Directives()

# A word, and the colon after it where there is one; then a directive's value follows, or an agent's words.
_WORD = re.compile(r"[\s,;]*+(?P<word>[^\s,;:]++)(?P<colon>\s*+:)?")
_VALUE = re.compile(r"\s*+([^\s,;]++)")
_DATE_PART = re.compile(r"[^,;]*+")


def read_directives(text: str) -> Directives:
    """The directives of one meta robots element, or of X-Robots-Tag for all agents."""
    return _fold(directives for _, directives in _read(text))


def read_robots_tag(values: str | Iterable[str], agent: str) -> Directives:
    """The directives of all X-Robots-Tag values for `agent` (a product token, such as `periplus` of `periplus/1.0`)."""
    ours = {"", "*", "robots", agent.partition("/")[0].strip().lower()}
    all_values = (values,) if isinstance(values, str) else values
    return _fold(directives for value in all_values for name, directives in _read(value) if name in ours)


def strictest(a: Directives, b: Directives) -> Directives:
    """Directives that satisfy both. `indexifembedded`, the only permission, is kept: its `noindex` may be elsewhere."""
    if b == _NOTHING:
        return a
    return Directives(
        noindex=a.noindex or b.noindex,
        nofollow=a.nofollow or b.nofollow,
        noarchive=a.noarchive or b.noarchive,
        nosnippet=a.nosnippet or b.nosnippet,
        noimageindex=a.noimageindex or b.noimageindex,
        notranslate=a.notranslate or b.notranslate,
        indexifembedded=a.indexifembedded or b.indexifembedded,
        noai=a.noai or b.noai,
        noimageai=a.noimageai or b.noimageai,
        max_snippet=_smaller(a.max_snippet, b.max_snippet),
        max_image_preview=min((a.max_image_preview, b.max_image_preview), key=_preview_rank),
        max_video_preview=_smaller(a.max_video_preview, b.max_video_preview),
        unavailable_after=_earlier(a.unavailable_after, b.unavailable_after),
    )


def _fold(all_directives: Iterable[Directives]) -> Directives:
    asked = _NOTHING
    for directives in all_directives:
        asked = strictest(asked, directives)
    return asked


def _read(text: str) -> Iterator[tuple[str, Directives]]:
    """Each directive with the agent it is for (empty: all agents). An agent's name holds until the next one."""
    text, at, agent = text[:LONGEST_VALUE], 0, ""
    while match := _WORD.match(text, at):
        word, at = match["word"].lower(), match.end()
        if match["colon"] is None:
            if word in _FLAGS:
                yield agent, _FLAGS[word]
        elif word == "unavailable_after":
            unavailable_after, at = _date(text, at)
            yield agent, Directives(unavailable_after=unavailable_after)
        elif word in _VALUED:
            value = _VALUE.match(text, at)
            if value is not None:
                at = value.end()
                yield agent, _limit(word, value[1].lower())
        elif word not in _FLAGS:
            agent = word.partition("/")[0]


def _date(text: str, start: int) -> tuple[float | None, int]:
    """A date may hold commas as the list does: the longest of three, two or one parts that is a date is meant."""
    ends, at = [], start
    for _ in range(3):
        end = _DATE_PART.match(text, at).end()  # type: ignore[union-attr]  # an empty match is a match
        ends.append(end)
        if text[end : end + 1] != ",":
            break
        at = end + 1
    for end in reversed(ends):
        if end - start <= dates.LONGEST:
            part = text[start:end].strip()
            read = dates.read_w3c(part)
            found = dates.read_http(part) if read is None else read.at
            if found is not None:
                return found, end
    return None, ends[0]


def _limit(word: str, value: str) -> Directives:
    if word == "max-image-preview":
        return Directives(max_image_preview=value) if value in _PREVIEWS else _NOTHING
    digits = value.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 18 or (digits != value and digits != "1"):
        return _NOTHING
    limit = min(int(value), _MOST)
    return Directives(max_snippet=limit) if word == "max-snippet" else Directives(max_video_preview=limit)


def _smaller(a: int | None, b: int | None) -> int | None:
    """The smaller limit; `-1` is the largest of all."""
    if a is None or b is None:
        return b if a is None else a
    return max(a, b) if a < 0 or b < 0 else min(a, b)


def _preview_rank(preview: str | None) -> int:
    return len(_PREVIEWS) if preview is None else _PREVIEWS.index(preview)


def _earlier(a: float | None, b: float | None) -> float | None:
    if a is None or b is None:
        return b if a is None else a
    return min(a, b)
