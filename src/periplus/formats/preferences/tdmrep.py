"""TDMRep, the TDM Reservation Protocol: whether the rights of text and data mining are reserved.

`/.well-known/tdmrep.json` is an array of rules, each with a `location` (a path pattern with `*` and `$`),
`tdm-reservation` (1: reserved, 0: not) and perhaps the URL of a policy. Headers and meta elements have the same names.
The longest matching location decides, and the stricter of two equally long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from ...model import NO_PREFERENCES, Preference, Preferences
from ..robots.patterns import escaped, path_of, patterns_of
from ..robots.values import Rule

MAX_TDM_RULES: Final = 1000
"""Rules of one file that are read: a site has a few folders."""
MAX_TDM_BYTES: Final = 1 << 20
"""Bytes of a file that are read; a longer one is not understood."""

_RESERVATIONS: Final = {"1": Preference.DISALLOW, "0": Preference.ALLOW}


class TdmRule(Struct, frozen=True):
    """One rule of a file. `policy` is as written, empty if there is none."""

    location: str
    is_reserved: bool
    policy: str = ""


def read_tdmrep(body: bytes) -> tuple[TdmRule, ...]:
    """The rules of a file, in their order; what is not a rule is left out."""
    if len(body) > MAX_TDM_BYTES:
        return ()
    try:
        rows = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return ()
    rules = map(_rule, rows[:MAX_TDM_RULES]) if isinstance(rows, list) else ()
    return tuple(rule for rule in rules if rule is not None)


def _rule(row: Any) -> TdmRule | None:
    if not isinstance(row, dict):
        return None
    location, reservation, policy = row.get("location"), row.get("tdm-reservation"), row.get("tdm-policy")
    said = _RESERVATIONS.get(str(reservation).strip())
    if not isinstance(location, str) or not location or isinstance(reservation, bool) or said is None:
        return None
    return TdmRule(location, said is Preference.DISALLOW, policy if isinstance(policy, str) else "")


def rule_for(rules: Sequence[TdmRule], url: str) -> TdmRule | None:
    """The rule that decides about a URL; `None` if none matches."""
    path = path_of(url)
    matching = [rule for rule in rules if _matches(rule.location, path)]
    return max(matching, key=lambda rule: (len(rule.location), rule.is_reserved), default=None)


def _matches(location: str, path: str) -> bool:
    pattern = location if location.startswith(("/", "*")) else f"/{location}"
    octets = pattern.encode().decode("latin-1")
    return any(each.matches(path) for each in patterns_of(Rule(False, escaped(octets))))


def read_reservation(value: str, said_by: str) -> Preferences:
    """The preference of a header or a meta element `tdm-reservation`."""
    said = _RESERVATIONS.get(value.strip())
    return NO_PREFERENCES if said is None else Preferences(tdm=said, said_by=(said_by,))
