"""What a crawl costs a site: how many requests, how close together, how many bytes, and what it does when told to wait."""

from . import pace, asking, waiting, errors, stopping  # noqa: I001 - the order in which they are listed

__all__ = ["asking", "errors", "pace", "stopping", "waiting"]
