"""Periplus: a search engine's crawler that one person can run.

    import periplus

    with periplus.crawl("https://docs.example.org", out="docs", limit=1000, contact="you@example.org") as crawl:
        for page in crawl:
            print(page.url, page.title)
    print(crawl.summary)

    docs = periplus.open("docs")
    print(docs.query("select status, count(*) from fetches group by status"))

`docs/library.md` describes every name here. Each is loaded when it is first used, so that `import periplus` itself
imports nothing. The packages below are the rooms that `docs/architecture.md` describes; programs use the names of
`__all__`, which stay stable.
"""

from __future__ import annotations

__version__ = "0.1.0"
"""The version. The build reads it from here, so that importing it needs no package metadata."""

TYPE_CHECKING = False  # as a type checker knows it; importing typing would cost more than all else here
if TYPE_CHECKING:
    from typing import Any

    from periplus import publish as publish
    from periplus import robots as robots
    from periplus import search as search
    from periplus import sitemap as sitemap
    from periplus import urls as urls
    from periplus.library import Collection as Collection
    from periplus.library import Page as Page
    from periplus.library import crawl as crawl
    from periplus.library import map as map  # noqa: A004 - the command has this name, too
    from periplus.library import open as open  # noqa: A004 - as `gzip.open` and `dbm.open`
    from periplus.library import serve as serve
    from periplus.library import to_markdown as to_markdown
    from periplus.model import CollectionDamaged as CollectionDamaged
    from periplus.model import CollectionError as CollectionError
    from periplus.model import CollectionInUse as CollectionInUse
    from periplus.model import ConfigError as ConfigError
    from periplus.model import PeriplusError as PeriplusError
    from periplus.model import UsageError as UsageError

_ERRORS = ("PeriplusError", "UsageError", "ConfigError", "CollectionError", "CollectionInUse", "CollectionDamaged")
_SUBJECTS = ("publish", "robots", "search", "sitemap", "urls")
"""Modules of this package that are public."""
_LIBRARY = ("Collection", "Page", "crawl", "map", "open", "serve", "to_markdown")

__all__ = [  # noqa: RUF022 - first what a script begins with
    "crawl",
    "open",
    "map",
    "serve",
    "to_markdown",
    "Collection",
    "Page",
    "publish",
    "robots",
    "search",
    "sitemap",
    "urls",
    "PeriplusError",
    "UsageError",
    "ConfigError",
    "CollectionError",
    "CollectionInUse",
    "CollectionDamaged",
    "__version__",
]


def _load(name: str) -> Any:
    """Load a public name when it is first used."""
    from importlib import import_module

    if name in _SUBJECTS:
        value: Any = import_module(f"{__name__}.{name}")
    elif name in _LIBRARY:
        value = getattr(import_module(f"{__name__}.library"), name)
    elif name in _ERRORS:
        value = getattr(import_module(f"{__name__}.model"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # a type checker reads the imports above, and finds names that are not there
    __getattr__ = _load


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
