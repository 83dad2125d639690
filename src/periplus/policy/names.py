"""Suggests the name that was probably meant ("did you mean"), for policies and kinds that users choose by name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """The most similar known name; the first if none is similar."""
    names = list(known)
    return (get_close_matches(name[:100].lower(), names, n=1, cutoff=0.0) or names)[0]
