"""How good each source of URLs is: the measures of Schonfeld & Shivakumar (2009), of a collection or any part of it.

`measures` and `measures_by` give all of them at once, for a `Part`: a domain, a site, a prefix, a span of time.
`new_urls`, `seen_pairs`, `missed`, `depth_ranks`, `cumulative_ranks` and `hubs` give what the paper's figures show.
Each has a twin that ends in `_sql`: the question that it asks, for whoever wants to see where a number comes from. What
each measure means is in `docs/measures.md`; the views that they rest on are in `insight.views`.
"""

from .measuring import (
    CLASSES,
    By,
    Every,
    cumulative_ranks,
    cumulative_ranks_sql,
    depth_ranks,
    depth_ranks_sql,
    hubs,
    hubs_sql,
    measures,
    measures_by,
    measures_sql,
    missed,
    missed_sql,
    new_urls,
    new_urls_sql,
    seen_pairs,
    seen_pairs_sql,
)
from .parts import EVERYTHING, Part, urls_of
from .values import CumulativeRank, DepthRank, Hub, Measures, MissedClass, NewUrls, SeenPair

__all__ = [
    "CLASSES",
    "EVERYTHING",
    "By",
    "CumulativeRank",
    "DepthRank",
    "Every",
    "Hub",
    "Measures",
    "MissedClass",
    "NewUrls",
    "Part",
    "SeenPair",
    "cumulative_ranks",
    "cumulative_ranks_sql",
    "depth_ranks",
    "depth_ranks_sql",
    "hubs",
    "hubs_sql",
    "measures",
    "measures_by",
    "measures_sql",
    "missed",
    "missed_sql",
    "new_urls",
    "new_urls_sql",
    "seen_pairs",
    "seen_pairs_sql",
    "urls_of",
]
