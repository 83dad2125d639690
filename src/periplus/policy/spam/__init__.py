"""Judging spam: features of pages and hosts, an additive model, and what follows from its probability.

1. `features` has what the text and links of a page show, and the name of a host; `link_features` what its place among
   others shows.
2. `model` adds a curve for each feature and explains every verdict by the loudest of them; `training` makes a model
   from labels and measures it on examples that it does not know.
3. `verdict` turns a probability into multipliers. Nothing is refused because of it.

The job that judges a collection is `insight.spam`; the crawl reads its result as a learnt file.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .features import Features, name_features, page_features, suffix_kind
    from .model import Model, Part, decoded, encoded, loudest, probability, shipped, shrinkage
    from .scores import SpamScores
    from .verdict import (
        SpamSettings,
        budget_multiplier,
        domain_score,
        is_retired,
        overridden,
        word_of,
        worth_multiplier,
    )
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "Features",
    "Model",
    "Part",
    "SpamScores",
    "SpamSettings",
    "budget_multiplier",
    "decoded",
    "domain_score",
    "encoded",
    "is_retired",
    "loudest",
    "name_features",
    "overridden",
    "page_features",
    "probability",
    "shipped",
    "shrinkage",
    "suffix_kind",
    "word_of",
    "worth_multiplier",
]
