"""Periplus: a search engine's crawler that one person can run.

The rooms, from the foundations up: `model` (the words), `urls` (what a URL is), `formats` (the wire formats of the
web), `content` (what a page says). Each room's own page of prose is the docstring of its `__init__.py`.
"""

from importlib.metadata import version

__version__ = version("periplus")

__all__ = ["__version__"]
