"""Compares two states of a machine: of a process that died, and of one that applied its log again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
from tests.faults.web import Broken


def without_looks(state: Sequence[Any], *places: int) -> list[Any]:
    """A state without what a look for sites changes: whether there are more, and when to look again."""
    left = list(state)
    for place in places:
        left[place] = None
    return left


def compare(found: dict[str, Any], expected: dict[str, Any], where: str) -> None:
    """Raise `Broken` where two states differ."""
    for name, rows in expected.items():
        other = found[name]
        if other == rows:
            continue
        if isinstance(rows, dict):
            keys = [key for key in {**rows, **other} if other.get(key) != rows.get(key)]
            raise Broken(f"{where}, {name} differs at {keys[:3]}: {_difference(other.get(keys[0]), rows.get(keys[0]))}")
        raise Broken(f"{where}, {name} differs: {_difference(other, rows)}")


def _difference(one: Any, other: Any) -> str:
    if isinstance(one, bytes) and isinstance(other, bytes):
        with suppress(msgspec.MsgspecError):
            one, other = msgspec.msgpack.decode(one), msgspec.msgpack.decode(other)
    if isinstance(one, set) and isinstance(other, set):
        return f"{len(one)} and {len(other)}, of which {sorted(map(str, one ^ other))[:3]} are in one"
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return "; ".join(
            f"{str(mine)[:200]} and {str(theirs)[:200]}"
            for mine, theirs in zip(one, other, strict=False)
            if mine != theirs
        )
    return f"{str(one)[:200]} and {str(other)[:200]}"
