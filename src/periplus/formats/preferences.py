"""Reads preferences about the use of pages, in every form in which sites publish them.

    read_content_usage("train-ai=n, search=y")        # Preferences(search=ALLOW, train=DISALLOW)
    read_content_signal("search=yes,ai-train=no,use=reference")
    read_tdmrep(body)                                  # the rules of /.well-known/tdmrep.json
    of_page(headers, metas, directives)                # the preferences in a page and its headers

| form | read by | version |
|---|---|---|
| Content-Usage, a rule of robots.txt and a header | `read_content_usage` | IETF aipref drafts of 2026 |
| Content-Signal, a rule of robots.txt and a header | `read_content_signal` | contentsignals.org, 2025; `use` of 2026 |
| TDMRep: a file, headers and meta elements | `read_tdmrep`, `of_page` | W3C community group report of 2024 |
| `noai`, `noimageai` in meta robots and X-Robots-Tag | `of_page` | as DeviantArt introduced them in 2022 |

A statement that cannot be read is ignored; none raises. Of several statements the strictest counts
(`Preferences.and_also`), except in TDMRep, where the page precedes the header and the header the file. Groups of
robots.txt for other crawlers (`GPTBot`) bind those crawlers, and are not read as a preference here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from periplus.model import NO_PREFERENCES, Directives, Preference, Preferences, UseLimit

from .robots import Access
from .robots.patterns import escaped, path_of, patterns_of
from .robots.values import Rule
from .structured_fields import FieldItem, Member, Token, read_dictionary

_MEANINGS: Final = {"y": Preference.ALLOW, "n": Preference.DISALLOW}


def read_content_usage(text: str, said_by: str = "") -> Preferences:
    """The preferences of one field or rule, a dictionary of structured fields. `said_by` is kept with them.

    `y` allows and `n` disallows; any other value and an invalid field are ignored. Of a repeated key the last counts;
    unknown keys and all parameters are ignored.
    """
    members = read_dictionary(text) or {}
    return Preferences(
        search=_meaning(members.get("search")),
        train=_meaning(members.get("train-ai")),
        said_by=(said_by,) if said_by else (),
    )


def _meaning(member: Member | None) -> Preference:
    if isinstance(member, FieldItem) and isinstance(member.value, Token):
        return _MEANINGS.get(member.value, Preference.UNKNOWN)
    return Preference.UNKNOWN


MAX_SIGNALS: Final = 50
"""Signals of one statement that are read: four are defined."""

_SIGNALS: Final = {"yes": Preference.ALLOW, "no": Preference.DISALLOW}
_SIGNAL_FIELDS: Final[dict[str, Callable[[Preference], Preferences]]] = {
    "search": lambda said: Preferences(search=said),
    "ai-input": lambda said: Preferences(ai_input=said),
    "ai-train": lambda said: Preferences(train=said),
}
_LIMITS: Final = {limit.value: limit for limit in UseLimit}


def read_content_signal(text: str, said_by: str = "") -> Preferences:
    """The preferences of one statement, as Cloudflare writes it into robots.txt. `said_by` is kept with them.

    `search`, `ai-input` and `ai-train` are `yes` or `no`; `use` is the most that is allowed: `immediate`, `reference`
    or `full`. Letter case and blanks do not matter, an absent signal neither grants nor restricts, unknown signals are
    ignored. Of a repeated signal the strictest value counts: the policy does not define which one.
    """
    found = Preferences(said_by=(said_by,)) if said_by else NO_PREFERENCES
    for signal in text.lower().split(",", MAX_SIGNALS)[:MAX_SIGNALS]:
        name, _, value = (part.strip() for part in signal.partition("="))
        if name in _SIGNAL_FIELDS and value in _SIGNALS:
            found = found.and_also(_SIGNAL_FIELDS[name](_SIGNALS[value]))
        elif name == "use" and value in _LIMITS:
            found = found.and_also(Preferences(use=_LIMITS[value]))
    return found


MAX_TDM_RULES: Final = 1000
"""Rules of one file that are read: a site has a few folders."""
MAX_TDM_BYTES: Final = 1 << 20
"""Bytes of a file that are read; a longer one is not understood."""

_RESERVATIONS: Final = {"1": Preference.DISALLOW, "0": Preference.ALLOW}


class TdmRule(Struct, frozen=True):
    """One rule of a file: a path pattern with `*` and `$`, and whether text and data mining is reserved there.

    `policy` is the URL of a policy as written, empty if there is none.
    """

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
    reservation_value = _RESERVATIONS.get(str(reservation).strip())
    if not isinstance(location, str) or not location or isinstance(reservation, bool) or reservation_value is None:
        return None
    return TdmRule(location, reservation_value is Preference.DISALLOW, policy if isinstance(policy, str) else "")


def rule_for(rules: Sequence[TdmRule], url: str) -> TdmRule | None:
    """The rule with the longest matching location, of two equally long the stricter; `None` if none matches."""
    path = path_of(url)
    matching = [rule for rule in rules if _matches(rule.location, path)]
    return max(matching, key=lambda rule: (len(rule.location), rule.is_reserved), default=None)


def _matches(location: str, path: str) -> bool:
    pattern = location if location.startswith(("/", "*")) else f"/{location}"
    octets = pattern.encode().decode("latin-1")
    return any(each.matches(path) for each in patterns_of(Rule(False, escaped(octets))))


def read_reservation(value: str, said_by: str) -> Preferences:
    """The preference of a header or a meta element `tdm-reservation`."""
    reservation = _RESERVATIONS.get(value.strip())
    return NO_PREFERENCES if reservation is None else Preferences(tdm=reservation, said_by=(said_by,))


HEADER_NAMES: Final = frozenset({"content-usage", "content-signal", "tdm-reservation", "tdm-policy"})
"""The headers of a response that are about use, in lower case."""
MAX_STATEMENT: Final = 200
"""Characters of a statement that are kept in `said_by`."""
MAX_HEADERS: Final = 16
"""Headers about use that are read of one response."""


def preference_headers(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The headers of a response that are about use, their names in lower case."""
    found = [(name.lower(), value) for name, value in headers if len(name) in _LENGTHS and name.lower() in HEADER_NAMES]
    return tuple(found[:MAX_HEADERS])


_LENGTHS: Final = frozenset(map(len, HEADER_NAMES))


def of_page(
    headers: Sequence[tuple[str, str]], metas: Mapping[str, Sequence[str]], directives: Directives
) -> Preferences:
    """The preferences of a page, by its headers (see `preference_headers`), meta elements and directives.

    A list of structured fields may be sent in parts, which are one dictionary (RFC 9651 section 4.2).
    """
    found = _of_directives(directives)
    usage = ", ".join(value for name, value in headers if name == "content-usage")
    if usage:
        found = found.and_also(read_content_usage(usage, statement("header", "Content-Usage", usage)))
    for name, value in headers:
        if name == "content-signal":
            found = found.and_also(read_content_signal(value, statement("header", "Content-Signal", value)))
    return found.and_also(_reservation(headers, metas)) if headers or "tdm-reservation" in metas else found


def statement(place: str, name: str, value: str) -> str:
    """A statement as it is kept: where it was made, and what it says."""
    return f"{place} {name}: {value}"[:MAX_STATEMENT]


def _reservation(headers: Sequence[tuple[str, str]], metas: Mapping[str, Sequence[str]]) -> Preferences:
    """TDMRep: what the page says precedes what its headers say."""
    policies = [*metas.get("tdm-policy", ()), *(value for name, value in headers if name == "tdm-policy")]
    policy = f", {policies[0].strip()}" if policies else ""
    own = [("meta", value) for value in metas.get("tdm-reservation", ())]
    sent = [("header", value) for name, value in headers if name == "tdm-reservation"]
    for place, value in own + sent:
        read = read_reservation(value, statement(place, "tdm-reservation", value.strip() + policy))
        if read is not NO_PREFERENCES:
            return read
    return NO_PREFERENCES


def _of_directives(directives: Directives) -> Preferences:
    """`noai` is about training; `noimageai` is about the pictures of a page, and is only kept as a statement."""
    if not (directives.noai or directives.noimageai):
        return NO_PREFERENCES
    names = tuple(word for word in ("noai", "noimageai") if getattr(directives, word))
    return Preferences(train=Preference.DISALLOW if directives.noai else Preference.UNKNOWN, said_by=names)


def of_robots(access: Access, url: str) -> Preferences:
    """The preferences of a robots.txt about a URL; of lines with equal paths that conflict the strictest counts."""
    found = NO_PREFERENCES
    for rule in access.usage_for(url) if access.usage else ():
        read = read_content_usage if rule.field == "content-usage" else read_content_signal
        found = found.and_also(read(rule.value, statement("robots.txt", rule.field.title(), rule.value)))
    return found
