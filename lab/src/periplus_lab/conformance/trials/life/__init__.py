"""Life: what becomes of a crawl when it is killed, interrupted, out of disk, offline, or when the clock jumps."""

from . import endings, trouble

__all__ = ["endings", "trouble"]
