"""OPIC on a graph that is known: the reference for the ordering that computes it while it crawls.

On-line Page Importance Computation (Abiteboul, Preda & Cobena, WWW 2003). Every page begins with the same cash. A
visit banks a page's cash in its history and splits it over its links; the page without links gives it to all pages
alike, as the paper's virtual page does. Importance is history and cash over all that was ever banked, within 1 / G.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array

from .edges import Ranks, checked_edges


def opic(sources: ArrayLike, targets: ArrayLike, n: int, visits: int) -> Ranks:
    """Importance of each page after `visits`, each to the page with most cash (the first of equals). Sums to 1."""
    heads, tails = checked_edges(sources, targets, n)
    if not n:
        return np.zeros(0)
    links = coo_array((np.ones(len(heads)), (heads, tails)), shape=(n, n)).tocsr()
    degree = np.bincount(heads, minlength=n)
    cash, history, banked = np.full(n, 1 / n), np.zeros(n), 0.0
    for _ in range(visits):
        page = int(cash.argmax())
        paid = float(cash[page])
        cash[page] = 0.0
        history[page] += paid
        banked += paid
        if degree[page]:
            span = slice(links.indptr[page], links.indptr[page + 1])
            cash[links.indices[span]] += paid * links.data[span] / degree[page]
        else:
            cash += paid / n
    importance: Ranks = (history + cash) / (banked + 1)
    return importance
