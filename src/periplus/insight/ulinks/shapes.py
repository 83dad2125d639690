"""Lists of items, by the names of their members: `/release/1010895` is one of many, `/release` is a place.

The report's algorithm leaves a huge list unfolded where folding it would leave too few leaves (its example of
mp3va.com). Lists are known here by the shapes of names instead, and fold whatever is left:

* 20 children or more, at least 80 % of them leaves of one shape: digits, hexadecimal, a date, words with a number,
  or the same parameters of a query;
* 3 children or more, all of them leaves of one shape that has figures in it;
* 20 leaves or more that weigh nearly the same (normalised entropy above .95) and have hardly anything below.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final

from .branches import Branch

_MANY, _FEW, _MOST = 20, 3, 0.8
_EVEN: Final = 0.95
_ITEM: Final = 4
"""Pages that an item may have below it: its reviews, its pictures."""
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
_SHAPES: Final = (
    ("digits", re.compile(r"\d+")),
    ("date", re.compile(r"\d{4}[-_.]\d{1,2}(?:[-_.]\d{1,2})?|\d{1,2}[-_.]\d{1,2}[-_.]\d{4}")),
    ("hex", re.compile(r"(?=.*\d)(?:(?:[0-9a-fA-F]{8}){1,16}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})")),
    ("slug-digits", re.compile(r".*\D\d+|\d+[-_.,~].*|[A-Za-z]{0,3}\d[0-9A-Za-z]*")),
)


def shape_of(name: str) -> str:
    """The shape of a component; empty for words, which are names of places."""
    if name.startswith("?"):
        return "?" + "&".join(sorted(pair.partition("=")[0] for pair in name[1:].split("&")))
    bare = _EXTENSION.sub("", name)
    return next((shape for shape, pattern in _SHAPES if pattern.fullmatch(bare)), "")


def has_figures(name: str) -> bool:
    """Whether a component is of a shape that numbers its bearers."""
    return bool(shape_of(name)) and any(letter.isdigit() for letter in name)


def is_number(name: str) -> bool:
    """Whether a component is a mere number, date or hash: the name of an item, or of a shelf of an archive."""
    return shape_of(name) in ("digits", "date", "hex")


def is_list(branch: Branch) -> bool:
    """Whether the children are a list of items."""
    children = branch.children
    flat = [name for name, child in children.items() if child.is_leaf]
    if len(children) >= _MANY:
        shapes = Counter(filter(None, map(shape_of, flat)))
        if shapes and shapes.most_common(1)[0][1] >= _MOST * len(children):
            return True
    if len(flat) < len(children):
        return False
    if len(children) >= _FEW and len({shape_of(name) for name in children}) == 1 and all(map(has_figures, children)):
        return True
    return len(children) >= _MANY and _are_small(branch) and _evenness(branch) > _EVEN


def _are_small(branch: Branch) -> bool:
    sizes = sorted(child.pages for child in branch.children.values())
    return sizes[len(sizes) // 2] <= _ITEM


def _evenness(branch: Branch) -> float:
    """The entropy of the children's weights, as a share of what it could be at most."""
    weights = [child.weight for child in branch.children.values() if child.weight > 0.0]
    total = math.fsum(weights)
    if len(weights) < 2:
        return 0.0
    return -math.fsum(w / total * math.log(w / total) for w in weights) / math.log(len(weights))


def fold_lists(root: Branch) -> None:
    """Fold every list of items, the deepest first, so that a list of folded things may be one itself."""
    for branch in sorted(root.below(), key=lambda branch: -len(branch.path)):
        if branch.children and not branch.is_site and is_list(branch):
            branch.is_folded = True
