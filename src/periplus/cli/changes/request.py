"""Which changes are wanted, and times and shares as people write them."""

from __future__ import annotations

from msgspec import Struct

from periplus.insight.changes import Kind
from periplus.model import UsageError


class Asked(Struct, frozen=True):
    """Which changes, and whether to show what each is about."""

    since: float
    until: float | None
    sites: tuple[str, ...]
    paths: tuple[str, ...]
    kinds: tuple[Kind, ...]
    least: float
    is_detailed: bool


def share_of(text: str | None) -> float:
    """`5%` or `0.05`."""
    if text is None:
        return 0.0
    try:
        share = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"{text!r} is not a share", hint="write 5% or 0.05")
    return share


def nothing_of(asked: Asked) -> str:
    """The message if nothing was found."""
    words = [kind.value for kind in Kind if kind in asked.kinds]
    said = " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    is_part = asked.sites or asked.paths or asked.least
    return f"nothing {said}" + (", of what was asked for" if is_part else "")
