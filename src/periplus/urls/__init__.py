"""What a URL is: canonical form, site and domain, fingerprint, prefix tree."""

from .canonical import canonical
from .resolve import resolve_all
from .standard import whatwg

__all__ = ["canonical", "resolve_all", "whatwg"]
