"""Reads preferences about the use of pages, in every form in which sites publish them.

    read_content_usage("train-ai=n, search=y")        # Preferences(search=ALLOW, train=DISALLOW)
    read_content_signal("search=yes,ai-train=no,use=reference")
    read_tdmrep(body)                                  # /.well-known/tdmrep.json
    read_reservation(url, file, headers, metas)        # what TDMRep says of a page, by all of these
    of_page(headers, metas, directives)                # the preferences in a page and its headers

| form | read by | version |
|---|---|---|
| Content-Usage, a rule of robots.txt and a header | `read_content_usage` | IETF aipref drafts of 2026 |
| Content-Signal, a rule of robots.txt and a header | `read_content_signal` | contentsignals.org, 2025; `use` of 2026 |
| TDMRep: a file, headers and meta elements | `read_tdmrep`, `read_reservation` | W3C community group report, 2025 |
| `noai`, `noimageai` in meta robots and X-Robots-Tag | `of_page` | as DeviantArt introduced them in 2022 |

A statement that cannot be read is ignored; none raises. Of several statements the strictest counts
(`Preferences.and_also`), except in TDMRep, where the page precedes the header and the header the file. Groups of
robots.txt for other crawlers (`GPTBot`) bind those crawlers, and are not read as a preference here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from periplus.model import NO_PREFERENCES, Directives, Preference, Preferences, UseLimit

from .robots import Access, UsageRule
from .robots.patterns import matches_path, path_of
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
"""Rules of one file that are read: a site has a few folders. With more it is not understood."""
MAX_TDM_BYTES: Final = 1 << 20
"""Bytes of a file that are read; a longer one is not understood."""

_RESERVATIONS: Final = {"1": Preference.DISALLOW, "0": Preference.ALLOW}
_UNRESERVED: Final = re.compile(r"%(?:2[DEde]|3[0-9]|[46][1-9A-Fa-f]|5[0-9AFaf]|7[0-9AEae])")


class TdmRule(Struct, frozen=True):
    """One rule of a file: a path pattern with `*` and `$`, and whether text and data mining is reserved there.

    `policy` is the URL of a policy as written, empty if there is none.
    """

    location: str
    is_reserved: bool
    policy: str = ""


class TdmFile(Struct, frozen=True):
    """A file `/.well-known/tdmrep.json`: its rules in their order, and what is wrong with it.

    Problems: `tdmrep-unreadable` (it is not an array in JSON, or too long), `bad-reservation` (a value other than 0 and
    1; the rule is left out). `is_too_long`: it may well say something, but it was not read.
    """

    rules: tuple[TdmRule, ...] = ()
    problems: tuple[str, ...] = ()
    is_too_long: bool = False

    @property
    def is_readable(self) -> bool:
        """Whether it could be read at all."""
        return TDM_UNREADABLE not in self.problems

    def rule_for(self, url: str) -> TdmRule | None:
        """The first rule in sequence that matches a URL; `None` if none does."""
        path, origin = _unescaped(path_of(url)), _origin(url)
        return next((rule for rule in self.rules if _matches(rule.location, path, origin)), None)

    def problems_for(self, url: str) -> tuple[str, ...]:
        """What is wrong with it, and `order-decides` if a longer rule says otherwise behind the one that counts."""
        path, origin = _unescaped(path_of(url)), _origin(url)
        matching = [rule for rule in self.rules if _matches(rule.location, path, origin)]
        is_odd = any(
            len(rule.location) > len(matching[0].location) and rule.is_reserved != matching[0].is_reserved
            for rule in matching[1:]
        )
        return (*self.problems, "order-decides") if is_odd else self.problems


TDM_UNREADABLE: Final = "tdmrep-unreadable"
BAD_RESERVATION: Final = "bad-reservation"
_UNREADABLE_FILE: Final = TdmFile(problems=(TDM_UNREADABLE,))
_TOO_LONG_FILE: Final = TdmFile(problems=(TDM_UNREADABLE,), is_too_long=True)


def read_tdmrep(body: bytes) -> TdmFile:
    """Read a file. Never raises; an object instead of an array is not understood, as the report has it."""
    if len(body) > MAX_TDM_BYTES:
        return _TOO_LONG_FILE
    try:
        rows = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _UNREADABLE_FILE
    if not isinstance(rows, list):
        return _UNREADABLE_FILE
    if len(rows) > MAX_TDM_RULES:
        return _TOO_LONG_FILE
    rules = [_rule(row) for row in rows]
    problems = (BAD_RESERVATION,) if any(rule is None for rule in rules) else ()
    return TdmFile(tuple(rule for rule in rules if rule is not None), problems)


def _rule(row: Any) -> TdmRule | None:
    if not isinstance(row, dict):
        return None
    location, reservation, policy = row.get("location"), row.get("tdm-reservation"), row.get("tdm-policy")
    value = None if isinstance(reservation, bool) else _RESERVATIONS.get(str(reservation).strip())
    if not isinstance(location, str) or not location or value is None:
        return None
    return TdmRule(location, value is Preference.DISALLOW, policy if isinstance(policy, str) else "")


def _unescaped(text: str) -> str:
    """A path or pattern with the escapes of unreserved characters decoded (RFC 3986 section 2.3)."""
    return _UNRESERVED.sub(lambda escape: chr(int(escape[0][1:], 16)), text) if "%" in text else text


def _origin(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}".lower()


def _matches(location: str, path: str, origin: str) -> bool:
    if "://" in location:
        if _origin(location) != origin:
            return False
        location = path_of(location)
    pattern = location if location.startswith(("/", "*")) else f"/{location}"
    return matches_path(_unescaped(pattern), path)


class Reservation(Struct, frozen=True):
    """What TDMRep says of a page, after its own order: file, headers, page; later ones replace earlier ones.

    `by` is `tdmrep.json`, `header` or `meta`, empty if nothing is said. A `policy` counts only where rights are
    reserved.
    """

    tdm: Preference = Preference.UNKNOWN
    by: str = ""
    policy: str = ""
    problems: tuple[str, ...] = ()


def read_reservation(
    url: str,
    file: TdmFile | None,
    headers: Sequence[tuple[str, str]] = (),
    metas: Mapping[str, Sequence[str]] | None = None,
) -> Reservation:
    """The reservation for a URL. `headers` have names in lower case; `metas` are those of an HTML page."""
    tdm, by, policy, problems = Preference.UNKNOWN, "", "", list[str]()
    rule = file.rule_for(url) if file is not None else None
    if file is not None:
        problems += file.problems_for(url)
    if rule is not None:
        tdm, by, policy = Preference.DISALLOW if rule.is_reserved else Preference.ALLOW, "tdmrep.json", rule.policy
    sent = {name: [value for each, value in headers if each == name] for name in _TDM_NAMES}
    for place, said in (("header", sent), ("meta", metas or {})):
        values = [_RESERVATIONS.get(value.strip()) for value in said.get("tdm-reservation", ())]
        if None in values:
            problems.append(BAD_RESERVATION)
        value = next((each for each in values if each is not None), None)
        if value is not None:
            tdm, by = value, place
        policy = next((each.strip() for each in said.get("tdm-policy", ()) if each.strip()), policy)
    is_reserved = tdm is Preference.DISALLOW
    return Reservation(tdm, by, policy if is_reserved else "", tuple(dict.fromkeys(problems)))


_TDM_NAMES: Final = ("tdm-reservation", "tdm-policy")


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
    read = read_reservation("", None, headers, metas)
    if read.tdm is Preference.UNKNOWN:
        return NO_PREFERENCES
    said = "1" if read.tdm is Preference.DISALLOW else "0"
    policy = f", {read.policy}" if read.policy else ""
    return Preferences(tdm=read.tdm, said_by=(statement(read.by, "tdm-reservation", said + policy),))


def _of_directives(directives: Directives) -> Preferences:
    """`noai` is about training; `noimageai` is about the pictures of a page, and is only kept as a statement."""
    if not (directives.noai or directives.noimageai):
        return NO_PREFERENCES
    names = tuple(word for word in ("noai", "noimageai") if getattr(directives, word))
    return Preferences(train=Preference.DISALLOW if directives.noai else Preference.UNKNOWN, said_by=names)


def of_robots(access: Access, url: str) -> Preferences:
    """The preferences of a robots.txt about a URL; of lines with equal paths that conflict the strictest counts.

    There are none about a URL that may not be crawled (draft-ietf-aipref-attach section 3).
    """
    found = NO_PREFERENCES
    if not access.usage or not access.allows(url):
        return found
    for rule in access.usage_for(url):
        found = found.and_also(read_usage_rule(rule))
    return found


def read_usage_rule(rule: UsageRule) -> Preferences:
    """The preferences of one line of a robots.txt."""
    read = read_content_usage if rule.field == "content-usage" else read_content_signal
    return read(rule.value, statement("robots.txt", rule.field.title(), rule.value))
