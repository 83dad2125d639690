"""Where a page must be cut so that parsing it takes little more than linear time and memory.

The parsing algorithm of the HTML Standard has corners that hostile pages make expensive: every start tag may look
through all open elements (100,000 nested elements take half a minute), every attribute of a tag is compared with those
before it, and formatting elements that are left open (`<b id=1><b id=2>...`) are opened again in every paragraph, so
that a page of 64 KB becomes a tree of gigabytes. Browsers have limits of their own; our parser has none. So a page is
looked at before it is parsed, and what comes after it goes too far is cut off.

Small pages cannot do much harm. Larger ones are checked on the arrays of `tags`: do start and end tags balance? Giant
ones are checked by whole names. Only what looks wrong there is walked tag by tag with a stack of names, which is not
the real algorithm but close to it. A page that is made to pass just this check can still cost some seconds; without it,
any page could cost hours.

Reasons of the problems, with the place of the cut: `too-deep`, `too-many-tags`, and `too-many-attributes` of one tag.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..model import Problem
from .tags import END, KEYS, Tags, count_tags, key_of, keys_of, name_of, names_of, tags_of

MAX_STEPS: Final = 50_000_000
"""Of the parser through its stack of open elements, all in all: enough for 10,000 nested blocks."""
MAX_TAGS: Final = 500_000
MAX_ATTRIBUTES: Final = 4000
MAX_REOPENED: Final = 300_000
"""Formatting elements that are opened again, all in all."""

_HARMLESS_TAGS: Final = 1200
_SMALL_BYTES: Final = 1 << 15
_HARMLESS_BYTES: Final = 1 << 16
_LARGE_BYTES: Final = 1 << 19
_GIANT_TAGS: Final = 50_000
_USUAL_DEPTH: Final = 256
_USUAL_NAMES: Final = 1000
_LONG_TAG: Final = 20_000
# These have no end tag, or one that is often left out because the next of its kind implies it.
_UNCLOSED: Final = (
    "area base br col embed hr img input link meta param source track wbr p li dt dd td th tr tbody thead tfoot option "
    "optgroup rp rt image html head body"
)
_FORMATTING: Final = "b big code em font i nobr s small strike strong tt u"
_SHAPES: Final = "path polygon polyline circle ellipse rect line use stop"
_BLOCKS: Final = (
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer header hgroup "
    "main menu nav ol search section summary ul h1 h2 h3 h4 h5 h6 pre listing form table button object marquee applet"
)
_TAG: Final = re.compile(rb"<(/?)([a-zA-Z][^\t\n\f\r />]{0,40}+)[^<>]*+")
_PART: Final = rb"""(?:[^>"'\s/]*+(?:"[^"]*+"|'[^']*+'|[\s/]++))"""
_LONG: Final = re.compile(rb"<[a-zA-Z]" + _PART + rb"{32}" + _PART + rb"*+")
_BETWEEN: Final = re.compile(rb"""(?:"[^"]*+"|'[^']*+')[\s/]*+|[\s/]++""")
_IS_UNCLOSED: Final = frozenset(_UNCLOSED.split())
_IS_FORMATTING: Final = frozenset(_FORMATTING.split())
_IGNORES_SLASH: Final = frozenset(_BLOCKS.split()) | _IS_FORMATTING
"""In HTML, `<div/>` opens; `<path/>`, in a drawing, does not."""
_LOOKS_BACK: Final = frozenset(_BLOCKS.split()) | _IS_UNCLOSED
"""Before these are opened, and before anything is closed, the parser looks for others among all that are open."""
_FAMILIES: Final = 128
"""Names are counted in so many families: enough to see that what is closed is not what was opened."""


def _steps() -> NDArray[np.int8]:
    """How much deeper the tag of each key leads."""
    steps = np.ones(KEYS, dtype=np.int8)
    steps[[key_of(name) for name in (*_IS_UNCLOSED, *_SHAPES.split())]] = 0
    steps[END:] = -steps[:END]
    return steps


def _formatting_steps() -> NDArray[np.int8]:
    """The same of formatting elements alone."""
    steps = np.zeros(KEYS, dtype=np.int8)
    keys = [key_of(name) for name in _IS_FORMATTING]
    steps[keys] = 1
    steps[[key + END for key in keys]] = -1
    return steps


def _families() -> NDArray[np.intp]:
    """The family of each key; those of end tags follow, and last comes one of what leads nowhere."""
    families = np.arange(KEYS) % END * 2654435761 >> 20 & _FAMILIES - 1
    families[END:] += _FAMILIES
    families[_STEPS == 0] = 2 * _FAMILIES
    return families


_STEPS: Final = _steps()
_FORMATTING_STEPS: Final = _formatting_steps()
_UNCLOSED_NAMES: Final = np.array([name_of(name) for name in sorted(_IS_UNCLOSED)])
_FORMATTING_NAMES: Final = np.array([name_of(name) for name in sorted(_IS_FORMATTING)])
_FAMILY: Final = _families()


def bounded(html: bytes) -> tuple[bytes, Tags | None, list[Problem]]:
    """A page in UTF-8 that can be parsed safely: all of it, or what comes before it goes too far.

    With it come the tags of the page, if it is so large that they had to be looked at.
    """
    if len(html) <= _SMALL_BYTES and count_tags(html) <= _HARMLESS_TAGS:
        return html, None, []
    problems = []
    tags = tags_of(html)
    if len(tags.at) > MAX_TAGS:
        problems.append(Problem("too-many-tags", str(len(tags.at)), int(tags.at[MAX_TAGS])))
        html = html[: tags.at[MAX_TAGS]]
        tags = Tags(tags.at[:MAX_TAGS], tags.after[:MAX_TAGS])
    at = _giant(html, tags) if len(html) > _HARMLESS_BYTES else None
    if at is not None:
        problems.append(Problem("too-many-attributes", at=at))
        html = html[:at]
    if len(tags.at) > _HARMLESS_TAGS and _may_nest(html, tags):
        at = _too_deep(html)
        if at is not None:
            problems.append(Problem("too-deep", at=at))
            html = html[:at]
    return html, tags, problems


def _giant(html: bytes, tags: Tags) -> int | None:
    """Where a tag of too many attributes begins; `None` if nowhere.

    Such a tag is long, so one of few places, unless its values hold a "<" here and there. Then either these begin no
    name, or it hides well: in a large page every tag is looked at.
    """
    found: Iterable[re.Match[bytes] | None]
    if len(html) > _LARGE_BYTES or _count_nameless(tags) > MAX_ATTRIBUTES:
        found = _LONG.finditer(html)
    else:
        gaps = np.diff(tags.at, append=len(html))
        found = (_LONG.match(html, start) for start in tags.at[gaps > _LONG_TAG].tolist())
    for tag in found:
        if tag and sum(1 for _ in _BETWEEN.finditer(tag[0])) > MAX_ATTRIBUTES:
            return tag.start()
    return None


def _count_nameless(tags: Tags) -> int:
    """How many "<" begin no name."""
    return int(np.count_nonzero(keys_of(tags) % END == 0)) if len(tags.at) > MAX_ATTRIBUTES else 0


def _may_nest(html: bytes, tags: Tags) -> bool:
    """Is this page worth a walk? Names are told apart by a few letters only, which is not enough for giant pages."""
    keys = keys_of(tags)
    if len(keys) ** 2 <= 2 * MAX_STEPS:  # so few cannot lie too deep, but may be opened again
        return _widest(_FORMATTING_STEPS[keys]) * len(keys) > MAX_REOPENED
    return _is_unbalanced(keys) or (len(keys) > _GIANT_TAGS and _may_go_too_deep(html, tags))


def _is_unbalanced(keys: NDArray[np.intp]) -> bool:
    """Does the page open much more than it closes, close what it never opened, or nest unusually?"""
    depth = _STEPS[keys].cumsum(dtype=np.int32)
    if depth.max() > _USUAL_DEPTH or depth.min() < -_USUAL_DEPTH:
        return True
    counts = np.bincount(_FAMILY[keys], minlength=2 * _FAMILIES)
    return bool(np.abs(counts[:_FAMILIES] - counts[_FAMILIES : 2 * _FAMILIES]).sum() > 2 * _USUAL_DEPTH)


def _may_go_too_deep(html: bytes, tags: Tags) -> bool:
    """Could `_too_deep` find anything? Where this is false it could not, and that is known in a tenth of its time.

    Never are more elements of a name open than its start tags outnumber its end tags over some stretch of the page.
    """
    names, is_end = names_of(html, tags)
    steps = np.where(is_end, np.int8(-1), np.int8(1))
    steps[np.isin(names, _UNCLOSED_NAMES)] = 0
    left_open = _widest(steps[np.isin(names, _FORMATTING_NAMES)])
    by_name = names.argsort(kind="stable")
    borders = np.flatnonzero(np.diff(names[by_name])) + 1
    open_at_once = sum(map(_widest, np.split(steps[by_name], borders))) if len(borders) < _USUAL_NAMES else len(names)
    return open_at_once * len(names) > MAX_STEPS or left_open * len(names) > MAX_REOPENED


def _widest(steps: NDArray[np.int8]) -> int:
    """The most by which steps up can outnumber steps down over a stretch of them, and a little more."""
    heights = steps.cumsum(dtype=np.int32)
    return int(max(0, heights.max()) - min(0, heights.min())) if len(heights) else 0


def _too_deep(html: bytes) -> int | None:
    """Where the page nests too deeply, or has opened too much formatting again and again; `None` if nowhere."""
    stack: list[str] = []
    open_now: Counter[str] = Counter()
    left_open: Counter[bytes] = Counter()
    reopened = steps = 0
    for tag in _TAG.finditer(html):
        name = tag[2].decode("latin-1").lower()
        if tag[1]:
            if open_now[name]:
                while (closed := stack.pop()) != name:
                    open_now[closed] -= 1
                open_now[name] -= 1
            if name in _IS_FORMATTING and left_open:
                left_open.popitem()
        elif name not in _IS_UNCLOSED and (name in _IGNORES_SLASH or not tag[0].endswith(b"/")):
            stack.append(name)
            open_now[name] += 1
            if name in _IS_FORMATTING:
                left_open[tag[0]] = min(3, left_open[tag[0]] + 1)  # of equal ones, three are kept
        reopened += len(left_open)
        steps += len(stack) if tag[1] or name in _LOOKS_BACK else 0
        if steps > MAX_STEPS or reopened > MAX_REOPENED:
            return tag.start()
    return None
