"""Safety: what a page must not make a crawler do to other hosts, to its owner's network and to its disk."""

from . import addresses, strange_urls, transport

__all__ = ["addresses", "strange_urls", "transport"]
