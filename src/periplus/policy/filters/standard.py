"""The filters of an ordinary crawl, in their order.

Cheap filters come before expensive ones, and bounds before searches. Filters that rewrite come before those that judge
places, so that little is judged twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...model import Filter, Site, Url
from ..dust import GivenRules
from ..found import Want
from .budgets import Budgets
from .calendars import Calendars
from .chain import Chain
from .extensions import Extensions
from .media import MediaTypes
from .patterns import Patterns
from .renames import Renames
from .scope import Scope
from .sessions import Sessions
from .settings import FilterSettings
from .shape import Shape
from .site_states import FilterStates, SiteFilterState
from .traps import Traps
from .wanted import Wanted


def standard_chain(
    seeds: Iterable[Url] | Scope,
    settings: FilterSettings | None = None,
    recall: Callable[[Site], SiteFilterState | None] | None = None,
    want: Want | None = None,
    given: GivenRules | None = None,
) -> Chain:
    """The chain of an ordinary crawl. `recall` returns what was kept of a site (see `FilterStates`).

    `given` are rules for duplicate URLs that a person gave; `want` is a program's own filter, which is asked after
    those without memory.
    A caller that widens the scope later makes it and passes it in place of the seeds.
    """
    settings = settings or FilterSettings()
    scope = seeds if isinstance(seeds, Scope) else Scope(seeds, settings.scope)
    lessons = FilterStates(recall, settings.traps.max_sites)
    learning: list[Filter] = [
        Renames(lessons, settings.dust, given),
        Calendars(lessons),
        Budgets(lessons, settings.budgets),
        Traps(lessons, settings.traps),
    ]
    return Chain([*_without_memory(scope, settings, want), *learning], lessons)


def screening_chain(scope: Scope, settings: FilterSettings | None = None, want: Want | None = None) -> Chain:
    """The filters that need no memory of a site: for a shard that sends a URL to the shard of its site."""
    return Chain(_without_memory(scope, settings or FilterSettings(), want))


def _without_memory(scope: Scope, settings: FilterSettings, want: Want | None) -> list[Filter]:
    """Those that have something to refuse."""
    filters: list[Filter] = [Shape(settings.shape), Sessions(settings.sessions)]
    if settings.extensions.refused:
        filters.append(Extensions(settings.extensions, MediaTypes(settings.media)))
    if scope.kind != "any":
        filters.append(scope)
    if settings.patterns.include or settings.patterns.exclude:
        filters.append(Patterns(settings.patterns))
    if want is not None:
        filters.append(Wanted(want))
    return filters
