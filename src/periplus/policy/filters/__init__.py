"""Should we want this URL?

Each filter is a small judge of one thing: `shape` (bounds of the string), `sessions` (names that hold a visitor's
session), `extensions` (what is not a page), `scope` (how far from the seeds), `patterns` (what a person asked for),
`budgets` (how much at most) and `traps` (kinds of URL that bring nothing). A verdict is `Accept`, `Reject` with a
reason from `REASONS` and the rule that it broke, or `Rewrite` to the name under which we know the page.
`standard_chain` puts them in their order; `Chain` decides which filter is asked when.

Filters cut strings and never parse a URL: they are asked about every link of every page. They know neither time nor
chance. Those that learn keep what they learnt of a site in `FilterStates`, as one small value which the caller stores
with the site.

Not here: whether a URL is known already (the records), what robots.txt says (the wire's gate), and how much a URL is
wanted (`policy.ordering`).
"""

from .budgets import Budgets, BudgetSettings
from .chain import Chain, Guard, LearningFilter
from .extensions import NEVER_PAGES, Extensions, ExtensionSettings
from .patterns import Patterns, PatternSettings
from .reasons import REASONS
from .scope import Scope, ScopeSettings
from .sessions import Sessions, SessionSettings
from .shape import Shape, ShapeSettings
from .site_states import FilterStates, SiteFilterState
from .standard import FilterSettings, screening_chain, standard_chain
from .templates import template_of
from .traps import Traps, TrapSettings

__all__ = [
    "NEVER_PAGES",
    "REASONS",
    "BudgetSettings",
    "Budgets",
    "Chain",
    "ExtensionSettings",
    "Extensions",
    "FilterSettings",
    "FilterStates",
    "Guard",
    "LearningFilter",
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
    "screening_chain",
    "standard_chain",
    "template_of",
]
