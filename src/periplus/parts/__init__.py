"""The features of a crawl, one folder each. A part decides from values that it is given; the engine calls it.

`sitemaps` reads what sites publish about themselves, `revisit` visits pages again, `forms` submits searches, `focus`
follows a topic, `targets` finds files, `render` opens pages in a browser, and `requisites` fetches the files that pages
need. `dust` learns which URLs are the same page; `absence`, `cloaking`, `mirrors` and `spam` judge pages and hosts;
`reputation` gives domains their budgets; `identity` signs requests; `webhooks` reports what happened. The docstring of
each folder says what the part does, after which paper, and what it costs.

A part imports the protocol of the engine and what is below it, never another part (`engine/part.py`). There is no
list of parts: rooms above ask which of them have a module of some name, and use what they find there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from pkgutil import iter_modules
from types import ModuleType


def offered(name: str) -> Iterator[ModuleType]:
    """The module of this name of each part that has one, by the names of the parts."""
    for part in names():
        if PathFinder.find_spec(name, [f"{place}/{part}" for place in __path__]):  # imports nothing of other parts
            yield import_module(f"{__name__}.{part}.{name}")


@cache
def names() -> tuple[str, ...]:
    """The name of every part."""
    return tuple(sorted(module.name for module in iter_modules(__path__) if module.ispkg))
