"""Facets: the same few names under many siblings are what a site is about, not the siblings.

`/san-francisco-ca/movies`, `/chicago-il/movies`: the report's algorithm answers with cities, because the tree has them
above. Here the tree is transposed: where a name recurs under three siblings and under at least 30 % of them, the parts
of that name become one branch beside the siblings, with all their weight, which the siblings lose. The shorter axis
wins: names that recur must not be more than the siblings that have them. Numbers are no facets (the months under the
years of a blog), nor are the parts that each of many items has (`/product/red-shoe/reviews`).
"""

from __future__ import annotations

from typing import Final

from .branches import Branch
from .shapes import has_figures

_LEAST, _SHARE = 3, 0.3
_MANY, _THIN = 20, 1.5
_MARK: Final = "*"


def transpose(root: Branch) -> None:
    """Give facets branches of their own, from the deepest up: those of countries are made of those of cities."""
    for branch in sorted(root.below(), key=lambda branch: -len(branch.path)):
        if branch.path and not branch.is_leaf:
            _transpose_below(branch)


def _transpose_below(parent: Branch) -> None:
    siblings = [child for child in parent.children.values() if not child.is_leaf]
    if len(siblings) < _LEAST:
        return
    parts: dict[str, list[Branch]] = {}
    for sibling in siblings:
        for name, part in sibling.children.items():
            if not has_figures(name) and not name.startswith("?"):
                parts.setdefault(name, []).append(part)
    needed = max(_LEAST, _SHARE * len(siblings))
    facets = {name: found for name, found in parts.items() if len(found) >= needed and not _are_parts_of_items(found)}
    bearers = {part.path[:-1] for found in facets.values() for part in found}
    if facets and len(facets) <= len(bearers):
        for name, found in sorted(facets.items()):
            _gather(parent, name, found)


def _are_parts_of_items(found: list[Branch]) -> bool:
    """Whether these are pages that every item of a long list has, with nothing below."""
    return len(found) >= _MANY and sum(part.pages for part in found) < _THIN * len(found)


def _gather(parent: Branch, name: str, found: list[Branch]) -> None:
    """Make one branch of many, and take their weight from where they were."""
    facet = parent.children.get(name) or parent.children.get(_MARK + name)
    if facet is None:
        facet = parent.children[_MARK + name] = Branch((*parent.path, name), parent)
    for part in found:
        facet.members += [part, *part.members]
        facet.weight += part.weight
        facet.pages += part.pages
        sibling = part.parent
        if sibling is not None:
            _take(sibling, part)
    facet.is_folded = True


def _take(sibling: Branch, part: Branch) -> None:
    for name in (part.path[-1], _MARK + part.path[-1]):
        if sibling.children.get(name) is part:
            del sibling.children[name]
    sibling.weight -= part.weight
    sibling.pages -= part.pages
