"""Blocks of text, one below the other, with what the lists and quotes around them begin their lines with."""

from __future__ import annotations

from typing import Final

MAX_NESTING: Final = 12
"""Maximum nesting of lists and quotes; deeper ones are written at the level of their parent."""


class List:
    """An open list. `first` is the number of its first item, if it is an ordered one."""

    def __init__(self, first: int | None = None) -> None:
        self.first = first
        self.next = first
        self.last: Container | None = None
        """The last item."""
        self.written: Container | None = None
        """The last item for which something was written."""


class Container:
    """A quote or an item of a list: what its first line begins with, and what all the others do."""

    def __init__(self, marker: str, prefix: str, items: List | None = None) -> None:
        self.marker = marker
        self.prefix = prefix
        self.items = items
        self.is_started = False
        self.is_loose = False
        """Whether there are empty lines in it."""


class Blocks:
    """The lines written so far, and the lists and quotes that are open."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.containers: list[Container] = []
        self.lists = [List()]
        """The first is for items outside of any list."""

    def open_list(self, first: int | None, *, is_in_list: bool) -> None:
        """Open a list. One among the items of another list belongs to the item before it."""
        if is_in_list:
            self.continue_item()
        self.lists.append(List(first))

    def open_item(self) -> str:
        """Open an item of the innermost list, and return its marker."""
        items = self.lists[-1]
        marker = "- " if items.next is None else f"{items.next}. "
        if items.next is not None:
            items.next += 1
        items.last = Container(marker, " " * len(marker), items)
        self.contain(items.last)
        return marker

    def continue_item(self) -> None:
        """Open the last item of the innermost list again, if it is closed."""
        last = self.lists[-1].last
        if last and last not in self.containers:
            self.contain(last)

    def contain(self, container: Container) -> None:
        """Open a quote or an item."""
        if len(self.containers) < MAX_NESTING:
            self.containers.append(container)

    def go_back(self, containers: int, lists: int) -> None:
        """Close what is open, but for the first ones."""
        del self.containers[containers:], self.lists[lists:]

    def add(self, lines: list[str]) -> None:
        """Write a block."""
        containers = self.containers
        started = next((place for place, one in enumerate(containers) if not one.is_started), len(containers))
        if self.lines and self._needs_gap(started):
            self.lines.append("".join([one.prefix for one in containers[:started]]).rstrip())
            for one in containers[:started]:
                one.is_loose = True
        first = "".join([one.prefix if one.is_started else one.marker for one in containers])
        prefix = "".join([one.prefix for one in containers])
        for one in containers[started:]:
            one.is_started = True
            if one.items:
                one.items.written = one
        self.lines.append(first + lines[0])
        self.lines.extend([prefix + line if line else prefix.rstrip() for line in lines[1:]])

    def _needs_gap(self, started: int) -> bool:
        """Whether an empty line goes before a block: not between short items, nor before a list in a short item."""
        items = self.containers[started].items if started < len(self.containers) else None
        if items is None:
            return True
        if items.written:
            return items.written.is_loose
        around = self.containers[started - 1] if started else None
        return around is None or around.items is None or around.is_loose or items.first not in (None, 1)
