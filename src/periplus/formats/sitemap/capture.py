"""The text of the element that a reader of XML is in."""

from __future__ import annotations

from .fields import EDGES, EntityRefusedError, Fields


class Capture:
    """The text of the current element, decoded, up to a maximum length."""

    def __init__(self, fields: Fields) -> None:
        self.name = ""
        self.is_refused = False
        self._fields = fields
        self._parts: list[str] = []
        self._room = 0

    def begin(self, name: str) -> None:
        """Enter an element."""
        self.name = name
        self.is_refused = False
        self._parts.clear()
        self._room = self._fields.limits.text + 1

    def add(self, raw: str, *, is_decoded: bool) -> None:
        """Add text as written, or from CDATA."""
        if self._room <= 0:
            return
        if not is_decoded:
            try:
                raw = self._fields.decoded(raw)
            except EntityRefusedError as refused:
                self._fields.complain("entity-refused", str(refused))
                self.is_refused = True
                return
        if not self._parts:
            raw = raw.lstrip(EDGES)
        if raw:
            self._parts.append(raw[: self._room])
            self._room -= len(raw)

    @property
    def is_blank(self) -> bool:
        """Whether there was nothing but white space yet."""
        return not self._parts

    def end(self) -> str:
        """The text; empty if it referred to an entity that we refuse to expand."""
        self.name = ""
        return "" if self.is_refused else "".join(self._parts)
