"""Judges hosts of which few pages were read by their neighbours: what a site links to says what it is.

Hosts and domains cost a farm nothing, so each has few pages. Pages of the same domain count like the host's own, and so
do those of domains that it links to, and that those link to (Castillo, Donato, Gionis, Murdock & Silvestri, "Know your
neighbors", 2007). Only links *from* a host count, which are in its owner's hands: a link to a host accuses nothing. And
neighbours only add to a suspicion that its own pages raise: comments on a good site lead to spam, and links to good
sites are cheap camouflage.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .model import SHRINKAGE, Part, shrinkage

LINKED: Final = 1.0
"""Weight of a page of a linked domain, compared with an own page; of one that is two links away, its square."""
MOST_PAGES: Final = 5.0
"""Pages of a linked domain that count, at most: its size must not outweigh the others."""
ENOUGH_PAGES: Final = 20
"""Pages of a host from which it is judged by its own alone."""

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]


def pooled_pages(
    sources: Numbers, targets: Numbers, domains: int, places: Numbers, sums: Values, counts: Values
) -> list[tuple[float, float]]:
    """For each host the weights of all pages that speak for it, added up, and how many pages these are.

    `places` has the number of each host's domain, `sums` the weights of its pages added up, `counts` their number.
    """
    own, pages = np.bincount(places, sums, domains), np.bincount(places, counts, domains)
    means = own / np.maximum(pages, 1.0)
    few = np.minimum(pages, MOST_PAGES)
    links = csr_array((np.ones(len(sources)), (sources, targets)), shape=(domains, domains))
    near, near_pages = links @ (means * few), links @ few
    mutual: Values = np.asarray(links.multiply(links.T).sum(axis=1)).ravel()  # two links away is also the domain itself
    far, far_pages = links @ near - mutual * means * few, links @ near_pages - mutual * few
    total = own + LINKED * near + LINKED**2 * far
    count = pages + LINKED * near_pages + LINKED**2 * far_pages
    return list(zip(total[places].tolist(), count[places].tolist(), strict=True))


def neighbour_part(total: float, count: float, own: float, pages: int) -> Part | None:
    """What neighbours add to a host beyond its own pages, which are worth `own` in all; `None` if nothing."""
    if pages >= ENOUGH_PAGES or count <= pages or own <= 0.0:
        return None
    effective = min(count, float(ENOUGH_PAGES))
    weight = effective / (effective + SHRINKAGE) * total / count - shrinkage(pages) * own / max(pages, 1)
    words = "pages of its domain and of domains that it links to look like spam"
    return Part("neighbours", weight, words) if weight > 0.0 else None
