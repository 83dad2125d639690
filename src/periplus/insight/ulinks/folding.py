"""Folding a tree of prefixes until few leaves are left: the algorithm of the Berkeley report on web site metadata.

Of all nodes whose children are leaves, the lightest loses them, as long as at least `m` leaves remain. The report says
"nodes remaining"; its example of mp3va.com shows that leaves are meant. It leaves ties open, which are broken so that
the outcome is a function of the set of URLs: the deeper node first, then the one with more children, then by the
alphabet. The virtual root and the hosts never fold.

With a heap this takes O(n log n): a node is a candidate from the moment when its last child has become a leaf, and one
that cannot fold when its turn comes never can, since leaves only become fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from .branches import Branch, Path, shown

_Key = tuple[float, int, int, Path]


def fold(root: Branch, m: int, *, must_fold: Callable[[Branch], bool] = lambda _branch: False) -> None:
    """Fold a tree in place. `must_fold`: which nodes fold though fewer than `m` leaves remain."""
    remaining = 0
    pending: dict[Path, int] = {}
    waiting: list[tuple[_Key, Branch]] = []
    for branch in shown(root):
        if branch.is_leaf:
            remaining += 1
        elif not branch.is_site:
            pending[branch.path] = sum(not child.is_leaf for child in branch.children.values())
            if not pending[branch.path]:
                waiting.append((_key(branch), branch))
    heapify(waiting)
    while waiting:
        _, branch = heappop(waiting)
        left = remaining - len(branch.children) + 1
        if left < m and not must_fold(branch):
            continue
        branch.is_folded, remaining = True, left
        parent = branch.parent
        if parent is not None and not parent.is_site:
            pending[parent.path] -= 1
            if not pending[parent.path]:
                heappush(waiting, (_key(parent), parent))


def _key(branch: Branch) -> _Key:
    """The order in which candidates fold; no two branches have the same."""
    return branch.weight, -len(branch.path), -len(branch.children), branch.path


def by_weight(found: list[Branch]) -> list[Branch]:
    """The heaviest first; of equals the one nearer to the root, then by the alphabet."""
    return sorted(found, key=lambda branch: (-branch.weight, len(branch.path), branch.path))
