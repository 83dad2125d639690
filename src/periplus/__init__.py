"""Periplus: a search engine's crawler that one person can run.

The rooms, from the foundations up: `model` (the words), `urls` (what a URL is), `formats` (the wire formats of the
web), `content` (what a page says). Each room's own page of prose is the docstring of its `__init__.py`.
"""

__version__ = "0.1.0"
"""The version. The build reads it from here, so that importing it needs no package metadata."""

__all__ = ["__version__"]
