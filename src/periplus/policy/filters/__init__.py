"""Filters: should this URL be crawled?

Each filter judges one thing: `scope` (how far from the seeds, and bounds of the string), `sessions` (session
identifiers), `media` (files that are not pages, and those that a crawl for files wants), `patterns` (include and
exclude), `chain` (limits), `calendars` and `traps` (kinds of URLs that yield nothing new).
A verdict is `Accept`, `Reject` with a reason from `REASONS` and the rule that the URL broke, or `Rewrite` to another
URL of the same page. `standard_chain` puts them in order, with those of parts (`parts.dust` renames duplicate URLs);
`Chain` decides which filter is called when.

Filters slice strings and never parse a URL, because they see every link of every page. They use neither time nor
randomness. Those that learn keep their data of a site in `FilterStates`, as one small value which the caller stores
with the site.

Not here: whether a URL is known already (the records), robots.txt (the frontier), and how much a URL is wanted
(`policy.ordering`).
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .chain import Budgets, Chain, Guard, WantedPair, screening_chain, standard_chain
    from .media import Extensions, ExtensionSettings, MediaSettings, MediaTypes, type_of_header
    from .patterns import Patterns, PatternSettings
    from .reasons import REASONS
    from .scope import Scope, ScopeSettings, Shape, ShapeSettings
    from .sessions import Sessions, SessionSettings
    from .settings import BudgetSettings, FilterSettings, TrapSettings
    from .site_states import FilterStates, SiteFilterState
    from .templates import key_of, path_template_of, template_of
    from .traps import Traps
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "REASONS",
    "BudgetSettings",
    "Budgets",
    "Chain",
    "ExtensionSettings",
    "Extensions",
    "FilterSettings",
    "FilterStates",
    "Guard",
    "MediaSettings",
    "MediaTypes",
    "PatternSettings",
    "Patterns",
    "Scope",
    "ScopeSettings",
    "SessionSettings",
    "Sessions",
    "Shape",
    "ShapeSettings",
    "SiteFilterState",
    "TrapSettings",
    "Traps",
    "WantedPair",
    "key_of",
    "path_template_of",
    "screening_chain",
    "standard_chain",
    "template_of",
    "type_of_header",
]
