"""The option `--fail-on` of commands that report findings: exit with 4 if some were found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from periplus.model import UsageError
from periplus.policy.settings import nearest
from periplus.view.findings import Severity

from .commands import Option

FAILED = 4
"""The exit code if something was found that `--fail-on` names."""
FailOn = Annotated[
    list[str] | None,
    Option(
        "--fail-on",
        metavar="WHAT",
        help="Exit with 4 if this was found: error, warning, notice (or worse), or a finding by name. May be repeated.",
    ),
]


def wanted_findings(asked: Sequence[str], kinds: Iterable[str], page: str, more: Sequence[str] = ()) -> frozenset[str]:
    """Names of findings and severities to fail on; a severity includes those that are worse. `page` has all names.

    `more` are words that the command knows besides.
    """
    severities, names = [severity.value for severity in Severity], [*kinds, *more]
    wanted: set[str] = set()
    for word in (part.strip() for each in asked for part in each.split(",")):
        if word in severities:
            wanted.update(severities[: severities.index(word) + 1])
        elif word in names:
            wanted.add(word)
        else:
            likely = nearest(word, (*severities, *names))
            raise UsageError(f"--fail-on {word}: no such finding", hint=f"did you mean {likely}? {page} has all")
    return frozenset(wanted)
