"""Values by host name, where `*.example.org` stands for every name below `example.org`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

V = TypeVar("V")


class NamePatterns(Generic[V]):
    """A table from names and wildcards to values. An exact name wins over a wildcard, a longer wildcard over a shorter.

    Names are compared in lower case and without the dot that ends a fully qualified name. A name may carry a port
    (`*.example.org:8080`), which then has to be the same.
    """

    def __init__(self, values: Mapping[str, V]) -> None:
        self._values = {name.lower().rstrip("."): value for name, value in values.items()}

    def find(self, name: str) -> V | None:
        """The value of the best matching entry, or `None`."""
        if not self._values:
            return None
        name = name.lower().rstrip(".")
        found = self._values.get(name)
        while found is None and "." in name:
            name = name.partition(".")[2]
            found = self._values.get(f"*.{name}")
        return found
