"""Chooses the few pages of a site that represent most of it: useful links.

Two ways. Exact: the Berkeley report's, as it is written. Improved: the same tree, of repaired names, with weights of
priority and lastmod (the report asked for that), where lists of items fold first, facets are gathered, only pages that
are known to be there are named, and the choice is greedy: after three siblings, further ones count half.

Of all nodes whose children are leaves, the lightest loses them, as long as at least `m` leaves remain. The report says
"nodes remaining"; its example of mp3va.com shows that leaves are meant. It leaves ties open, which are broken so that
the outcome is a function of the set of URLs: the deeper node first, then the one with more children, then by the
alphabet. The virtual root and the hosts never fold.

With a heap this takes O(n log n): a node is a candidate from the moment when its last child has become a leaf, and one
that cannot fold when its turn comes never can, since leaves only become fewer.

`/san-francisco-ca/movies`, `/chicago-il/movies`: the report's algorithm answers with cities, because the tree has them
above. Here the tree is transposed: where a name recurs under three siblings and under at least 30 % of them, the parts
of that name become one branch beside the siblings, with all their weight, which the siblings lose. The shorter axis
wins: names that recur must not be more than the siblings that have them. Numbers are not facets (the months under the
years of a blog), nor are the parts that each of many items has (`/product/red-shoe/reviews`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

from periplus.model import Url
from periplus.urls import components

from .branches import MAX_DEPTH, Branch, Path, fold_lists, grown, has_figures, is_list, is_number, shown
from .sampling import SAMPLE, Listed, Names, Sample

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


_LEAST_SIBLINGS, _SHARE = 3, 0.3
_MANY, _THIN = 20, 1.5
_MARK: Final = "*"


def transpose(root: Branch) -> None:
    """Give facets branches of their own, from the deepest up: those of countries are made of those of cities."""
    for branch in sorted(root.below(), key=lambda branch: -len(branch.path)):
        if branch.path and not branch.is_leaf:
            _transpose_below(branch)


def _transpose_below(parent: Branch) -> None:
    siblings = [child for child in parent.children.values() if not child.is_leaf]
    if len(siblings) < _LEAST_SIBLINGS:
        return
    parts: dict[str, list[Branch]] = {}
    for sibling in siblings:
        for name, part in sibling.children.items():
            if not has_figures(name) and not name.startswith("?"):
                parts.setdefault(name, []).append(part)
    needed = max(_LEAST_SIBLINGS, _SHARE * len(siblings))
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


HALF_LIFE: Final = 180 * 86_400.0
"""Half-life in seconds: a page that changed this long before the newest weighs half."""
_PRIORITY, _LEAST = 0.5, 0.05
_SIBLINGS, _FURTHER = 3, 0.5
_NUMBERED: Final = 0.25
"""Weight factor of a prefix that is only a number: the years of an archive are rarely a destination."""
_LOOKED_AT: Final = 2000
"""Maximum number of pages below a prefix that are examined for one to represent it."""

IsPage = Callable[[Sequence[Url]], Sequence[bool]]
"""Which of some URLs are known to be pages, besides those that the site lists."""


class Ulink(Struct, frozen=True):
    """A useful link. `section` is the prefix that it represents, `pages` the approximate number of URLs there.

    `is_listed`: the URL is that of the section itself; else that of a page below it or, with the exact algorithm, a
    prefix that may not be a page. `share` is its part of the site's weight.
    """

    url: str
    section: str
    title: str
    weight: float
    pages: int
    share: float
    is_listed: bool = True


def ulinks(
    urls: Iterable[str | Listed],
    k: int = 8,
    m: int | None = None,
    exact: bool = False,
    *,
    is_page: IsPage | None = None,
    as_of: float | None = None,
    seed: int = 0,
) -> list[Ulink]:
    """The `k` most useful links of a site, of at least `m` parts that it is seen as (`k`, if not given).

    URLs may come in any number; 20,000 of them, sampled, make the tree. `as_of`: the time from which the age of a page
    is computed; (nearly) the newest lastmod, if not given.
    """
    sample = Sample(urls, size=SAMPLE, seed=seed, repairs=not exact)
    if exact:
        return exact_ulinks(sample, k, k if m is None else m)
    return chosen_ulinks(sample, k, k if m is None else m, is_page=is_page, as_of=as_of)


def exact_ulinks(sample: Sample, k: int, m: int) -> list[Ulink]:
    """The report's algorithm: fold, then choose the heaviest leaves."""
    paths = [(tuple(components(Url(one.url))[:MAX_DEPTH]), one.url) for one in sample.urls]
    drawn = dict(paths)
    root = grown((path, 1.0) for path, _ in paths)
    fold(root, m)
    found = by_weight([branch for branch in shown(root) if branch.is_leaf and branch.path])
    return [
        Ulink(
            url=drawn.get(branch.path) or _prefix(branch.path),
            section=_prefix(branch.path),
            title=words_of(branch.path),
            weight=branch.weight,
            pages=branch.pages,
            share=branch.weight / root.weight,
            is_listed=branch.path in drawn,
        )
        for branch in found[: max(k, 0)]
    ]


def chosen_ulinks(
    sample: Sample, k: int, m: int, *, is_page: IsPage | None = None, as_of: float | None = None
) -> list[Ulink]:
    """The links that the improved algorithm chooses from a sample."""
    listed = sample.urls
    if not listed:
        return []
    names = Names([one.url for one in listed])
    root = grown(zip(names.paths, _weights(listed, as_of), strict=True))
    fold_lists(root)
    transpose(root)
    fold(root, m, must_fold=is_list)
    scale = sample.total / len(listed)
    places = _Places(sample, names, listed, is_page)
    chosen = _diverse([branch for branch in shown(root) if branch.is_leaf and branch.path and branch.pages > 0], k)
    return [link for branch in chosen if (link := places.link(branch, root.weight, scale)) is not None]


def _weights(listed: Sequence[Listed], as_of: float | None) -> list[float]:
    """Priority, halved for every 180 days of age; missing values weigh as much as the mean, which is 1."""
    newest = as_of if as_of is not None else _newest([one.lastmod for one in listed if one.lastmod is not None])
    factors = [None if one.lastmod is None else 0.5 ** (max(newest - one.lastmod, 0.0) / HALF_LIFE) for one in listed]
    known = [factor for factor in factors if factor is not None]
    usual = sum(known) / len(known) if known else 1.0
    weights = [
        max(_PRIORITY if one.priority is None else one.priority, _LEAST)
        * max(usual if factor is None else factor, 1e-6)
        for one, factor in zip(listed, factors, strict=True)
    ]
    mean = sum(weights) / len(weights)
    return [weight / mean for weight in weights]


def _newest(dates: list[float]) -> float:
    """The 99th percentile of the dates: one of the year 2099 must not make all others old."""
    return sorted(dates)[(len(dates) - 1) * 99 // 100] if dates else 0.0


def _diverse(candidates: list[Branch], k: int) -> list[Branch]:
    """The heaviest first; the fourth and further siblings weigh half.

    Weights only decrease, so a branch whose weight is still the one in the heap is the best.
    """
    chosen: list[Branch] = []
    siblings: Counter[Path] = Counter()
    waiting = [
        (-_worth(branch, siblings), place, branch) for place, branch in enumerate(sorted(candidates, key=_order))
    ]
    heapify(waiting)
    while waiting and len(chosen) < k:
        worth, place, branch = heappop(waiting)
        now = -_worth(branch, siblings)
        if now > worth:
            heappush(waiting, (now, place, branch))
            continue
        chosen.append(branch)
        siblings[branch.path[:-1]] += 1
    return chosen


def _order(branch: Branch) -> tuple[float, bool, int, Path]:
    """The sort key of `by_weight`, but names without numbers before those with."""
    return -branch.weight, has_figures(branch.path[-1]), len(branch.path), branch.path


def _worth(branch: Branch, siblings: Counter[Path]) -> float:
    further = _FURTHER if siblings[branch.path[:-1]] >= _SIBLINGS else 1.0
    return branch.weight * further * (_NUMBERED if is_number(branch.path[-1]) else 1.0)


class _Places:
    """Finds the page of a branch: the one that is called so, else the nearest below."""

    def __init__(self, sample: Sample, names: Names, listed: Sequence[Listed], is_page: IsPage | None) -> None:
        self._sample = sample
        self._names = names
        self._is_page = is_page
        self._pages: dict[Path, Listed] = {}
        for path, one in zip(names.paths, listed, strict=True):
            known = self._pages.get(path)
            if known is None or len(one.url) < len(known.url):
                self._pages[path] = one

    def link(self, branch: Branch, total: float, scale: float) -> Ulink | None:
        """The link of a branch; `None` if no page of it is known."""
        page = self._page(branch)
        is_listed = page is not None
        page = page or self._below(branch)
        if page is None:
            return None
        return Ulink(
            url=page.url,
            section=_prefix(branch.path),
            title=(page.title if is_listed else "") or words_of(branch.path),
            weight=branch.weight * scale,
            pages=max(round(branch.pages * scale), 1),
            share=branch.weight / total if total else 0.0,
            is_listed=is_listed,
        )

    def _page(self, branch: Branch) -> Listed | None:
        found = self._pages.get(branch.path)
        return found if found is not None else self._asked(branch)

    def _asked(self, branch: Branch) -> Listed | None:
        """Whether the whole list, or `is_page`, has a page of that name that is not in the sample."""
        urls = list(self._names.spellings(branch.path))
        known = self._sample.holds(urls)
        if not any(known) and self._is_page is not None:
            known = list(self._is_page(urls))
        return next((Listed(url) for url, is_known in zip(urls, known, strict=True) if is_known), None)

    def _below(self, branch: Branch) -> Listed | None:
        """The nearest page, of several the one with most pages below it: a hub, if there is one."""
        level = sorted(branch.members, key=lambda part: (len("/".join(part.path)), -part.weight, part.path)) or [branch]
        seen = 0
        while level and seen < _LOOKED_AT:
            for part in level[:_LOOKED_AT]:
                if (page := self._pages.get(part.path)) is not None:
                    return page
            seen += len(level)
            level = [child for part in level for child in sorted(part.children.values(), key=_order)]
        return None


def _prefix(path: Path) -> str:
    """A prefix as a URL without its scheme, which both share."""
    host, *parts = path
    query = parts.pop() if parts and parts[-1].startswith("?") else ""
    return f"{host}/" + "/".join(parts) + query


def words_of(path: Path) -> str:
    """A title made from the last segment of a path; for a host, its name."""
    name = path[-1]
    if len(path) == 1 or name.startswith("?"):
        return name if len(path) == 1 else words_of(path[:-1])
    text = unquote(name).rpartition(".")[0] or unquote(name)
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    spaced = " ".join(text.replace("-", " ").replace("_", " ").split())
    return spaced[:1].upper() + spaced[1:] or name
