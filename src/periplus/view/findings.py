"""Findings: something to act on, with how much it matters, why, evidence, and what to do.

A kind of finding has a stable name, because `--fail-on` and programs use it, and texts in which `{count}`, `{of}` and
other words are filled in. Findings are in order of severity, and of their kinds within it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec import Struct, convert, toml


class Severity(StrEnum):
    """How much a finding matters: errors mislead crawlers or visitors, warnings waste visits, notices are minor."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"

    @property
    def rank(self) -> int:
        """0 for the most severe."""
        return list(Severity).index(self)


SIGNS: Final = {"error": "✗", "warning": "!", "notice": "i", "good": "✓", "unknown": "?"}
"""The sign of each verdict, for readers who do not see the colours."""


class FindingKind(Struct, frozen=True, forbid_unknown_fields=True):
    """What all findings of one name have in common."""

    name: str
    severity: Severity
    title: str
    why: str
    advice: str

    def filled(self, count: int, of: int, **words: object) -> dict[str, Any]:
        """The fields of a finding of `count` among `of`; 0: there is no total. `count` is never more than `of`."""
        of = max(of, count) if of else 0
        known = {"count": f"{count:,}", "of": f"{of:,}", **words}
        return {
            "name": self.name,
            "severity": self.severity,
            "count": count,
            "of": of,
            "title": self.title.format(**known),
            "why": self.why.format(**known),
            "advice": self.advice,
        }


_Kind = TypeVar("_Kind", bound=FindingKind)


def load_kinds(file: Path, kind: type[_Kind]) -> dict[str, _Kind]:
    """The kinds that a TOML file declares, a table each. A key that is missing or unknown is a `ValidationError`."""
    declared = toml.decode(file.read_bytes(), type=dict[str, dict[str, Any]])
    return {name: convert({"name": name, **fields}, kind) for name, fields in declared.items()}


class FaultyUrl(Struct, frozen=True):
    """A URL with a fault. `note` describes the fault; `at` is a page that links to the URL, if one does."""

    url: str
    note: str = ""
    at: str = ""


class Finding(Struct, frozen=True, kw_only=True):
    """One kind of fault: `count` of `of`, with why it matters, what to do, and examples: URLs, or other evidence."""

    name: str
    severity: Severity
    count: int
    of: int
    title: str
    why: str
    advice: str
    examples: tuple[FaultyUrl | str, ...] = ()

    @property
    def evidence(self) -> list[FaultyUrl]:
        """The examples; those that are not URLs as notes."""
        return [FaultyUrl("", each) if isinstance(each, str) else each for each in self.examples]

    @property
    def kinds(self) -> Mapping[str, int]:
        """How many faults there are of each kind, where there are several."""
        return {}

    @property
    def explained(self) -> Mapping[str, str]:
        """More about the kind of finding, by title: an example, how sure it is, where it is documented."""
        return {}


def in_order(findings: Iterable[Finding], kinds: Iterable[str]) -> list[Any]:
    """Findings by severity, and within it in the order of their kinds."""
    order = list(kinds)
    return sorted(findings, key=lambda found: (found.severity.rank, order.index(found.name)))


def failing(findings: Iterable[Finding], wanted: Collection[str]) -> list[str]:
    """The names of the findings of which the name or the severity is wanted."""
    return [each.name for each in findings if {each.name, each.severity.value} & set(wanted)]
