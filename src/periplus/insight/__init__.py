"""Answers about a crawl, computed from the files it wrote.

`survey` counts what the robots.txt files and sitemaps of many domains contain; `listed` returns every URL they list,
once. `changes` reports what happened to pages between two times, and compares two versions of a page. `ulinks` chooses
the few pages that stand for most of a site. Nothing here fetches, and no collection is changed.

`views` answers SQL queries about a collection, `query_pool` those of viewers and agents, in processes with limits
(`query_worker`); `measures` computes how good each source of URLs is; `graph` computes PageRank and `clusters`
near-duplicates; `audit` checks a site for its owner; `report` writes one page about everything. These load DuckDB, so
this package does not import them. Where links or sketches do not fit in memory, jobs process partitions of them in a
folder; `executors` run the jobs on this machine, `periplus.cluster` on many.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import changes, listed, survey, ulinks

__all__ = ["changes", "listed", "survey", "ulinks"]


def __getattr__(name: str) -> ModuleType:
    """Import a module of this package when it is first used: most commands need none of them."""
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
