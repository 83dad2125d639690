"""What a crawl costs a site: requests at once and in a row, bytes, and what it does when told to wait."""

from . import pace, asking, waiting, errors, stopping  # noqa: I001 - the order in which they are listed

__all__ = ["asking", "errors", "pace", "stopping", "waiting"]
