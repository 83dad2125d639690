"""robots.txt (RFC 9309): which rules hold for whom and where, and what holds when the file cannot be read."""

from . import paths, groups, files, status, rate, links  # noqa: I001 - the order in which they are listed

__all__ = ["files", "groups", "links", "paths", "rate", "status"]
