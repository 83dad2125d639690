"""What somebody may have meant: policies and kinds are chosen by name, and names are typed by people."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name most like this one; the first if none is."""
    names = list(known)
    return (get_close_matches(name[:100].lower(), names, n=1, cutoff=0.0) or names)[0]
