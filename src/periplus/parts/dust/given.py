"""Rules for duplicate URLs that are not learnt on the site: from files, `Clean-param` of robots.txt, and other sites.

A file has the form of `insight/dust.json`, which `periplus judge` writes:

    {"rules": [{"site": "shop.example", "kind": "drop-param", "name": "ref", "state": "given"}],
     "priors": [{"kind": "drop-param", "name": "ref", "domains": 23}]}

`site` may be `*`. A rule with the state `accepted` or `given` is applied from the start, a rule with `never` is not
applied whatever is learnt, and `withdrawn` rules are ignored. Accepted rules of the learnt file are adopted only by
sites without data, and probed there. A list in place of the object is read as rules of duplicate-url-discarder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Struct

from periplus.engine.part import Setup
from periplus.model import ConfigError

from .discarder import DiscarderRules, from_discarder
from .rules import KINDS, QUERY_KINDS, DustRule
from .settings import DustTables

MIN_DOMAINS: Final = 20
"""Minimum number of domains on which a rule was accepted: fewer may belong to one owner."""
MAX_WITHDRAWN: Final = 0.02
"""Maximum share of domains on which it was withdrawn again."""
_NAMED: Final = QUERY_KINDS | {"drop-prefix", "drop-suffix"}
"""Kinds whose names mean the same on other sites."""


class Prior(Struct, frozen=True, omit_defaults=True):
    """A kind and a name that held on `domains` domains and was withdrawn on `withdrawn`: other sites need fewer pairs.

    The rule begins there with a prior Beta(5, 1), with which four equal pairs are enough (see `evidence`).
    """

    kind: str
    name: str = ""
    value: str = ""
    domains: int = 0
    withdrawn: int = 0


def priors_of(rules: Iterable[tuple[str, DustRule, bool]]) -> list[Prior]:
    """The priors that follow from rules: domain, rule, and whether it was withdrawn."""
    held: dict[tuple[str, str, str], set[str]] = {}
    fell: dict[tuple[str, str, str], set[str]] = {}
    for domain, rule, is_withdrawn in rules:
        if rule.kind in _NAMED:
            (fell if is_withdrawn else held).setdefault((rule.kind, rule.name, rule.value), set()).add(domain)
    counts = Counter({key: len(domains) for key, domains in held.items()})
    found = [
        Prior(*key, domains=count, withdrawn=len(fell.get(key, ())))
        for key, count in counts.items()
        if count >= MIN_DOMAINS
    ]
    kept = [each for each in found if each.withdrawn <= MAX_WITHDRAWN * (each.domains + each.withdrawn)]
    return sorted(kept, key=lambda each: (-each.domains, each.kind, each.name, each.value))


MAX_FILE_BYTES: Final = 64 * 2**20
"""Maximum size of a file of rules: about half a million rules."""
STATES: Final = ("accepted", "given", "never", "withdrawn")
"""What a rule of the file can be."""


class GivenRule(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One rule of the file. `equal` and `unequal` pairs and `reason` are for the reader."""

    site: str
    kind: str
    name: str = ""
    value: str = ""
    path: str = ""
    state: str = "given"
    equal: int = 0
    unequal: int = 0
    reason: str = ""

    def __post_init__(self) -> None:
        """Reject kinds and states that do not exist, and rules that lack a name."""
        if self.kind not in KINDS:
            raise ValueError(f"unknown kind {self.kind!r}: one of {', '.join(KINDS)}")
        if self.state not in STATES:
            raise ValueError(f"unknown state {self.state!r}: one of {', '.join(STATES)}")
        if not self.name and self.kind not in ("sort-query", "lower-case"):
            raise ValueError(f"{self.kind} needs a name")
        if self.path and self.kind not in QUERY_KINDS:
            raise ValueError(f"{self.kind} holds for a whole site: leave out the path")
        if self.kind == "replace-segment" and re.fullmatch(r"#(?!\d+\Z).*", self.name):
            raise ValueError("a place of a segment is # and a number")

    @property
    def rule(self) -> DustRule:
        """The rule alone."""
        return DustRule(self.kind, self.name, self.value, self.path)


class RuleFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of rules, as people read and edit it."""

    rules: tuple[GivenRule, ...] = ()
    priors: tuple[Prior, ...] = ()


class GivenRules:
    """The rules of a file, by site, and priors; and those that `periplus judge` wrote down later (`take_learnt`)."""

    def __init__(self, file: RuleFile | None = None, discarder: DiscarderRules | None = None) -> None:
        self._file = file or RuleFile()
        self.discarder = discarder
        self._index(self._file, RuleFile())

    def take_learnt(self, learnt: RuleFile) -> None:
        """Use what was learnt: priors, what a person added, and accepted rules for sites that are new (`adopted`)."""
        self._index(self._file, learnt)

    def _index(self, file: RuleFile, learnt: RuleFile) -> None:
        self._applied: dict[str, list[DustRule]] = {}
        self._refused: dict[str, list[DustRule]] = {}
        self._adopted: dict[str, list[GivenRule]] = {}
        for each in learnt.rules:
            if each.state == "accepted":
                self._adopted.setdefault(each.site, []).append(each)
        for each in (*file.rules, *(rule for rule in learnt.rules if rule.state != "accepted")):
            if each.state in ("accepted", "given"):
                self._applied.setdefault(each.site, []).append(each.rule)
            elif each.state == "never":
                self._refused.setdefault(each.site, []).append(each.rule)
        priors = (*file.priors, *learnt.priors)
        self.familiar = frozenset((prior.kind, prior.name, prior.value) for prior in priors)

    def __bool__(self) -> bool:
        """Whether some URLs are renamed by these rules."""
        return bool(self._applied or self.discarder)

    def adopted(self, site: str) -> list[GivenRule]:
        """Rules with which a site begins of which nothing is known yet; they are probed as any that was learnt."""
        return self._adopted.get(site, [])

    def applied(self, site: str) -> list[DustRule]:
        """Rules that hold on a site from the start."""
        return [*self._applied.get(site, ()), *self._applied.get("*", ())] if self._applied else []

    def refused(self, site: str) -> frozenset[DustRule]:
        """Rules that are not applied on a site."""
        if not self._refused:
            return frozenset()
        return frozenset((*self._refused.get(site, ()), *self._refused.get("*", ())))


def read_rule_file(data: bytes, name: str = "the file of rules") -> GivenRules:
    """The rules of a file in our form, or in that of duplicate-url-discarder. Raises `ConfigError`."""
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"{name} is larger than {MAX_FILE_BYTES // 2**20} MiB", hint="remove rules from it")
    try:
        if data.lstrip()[:1] == b"[":
            return GivenRules(discarder=from_discarder(msgspec.json.decode(data)))
        return GivenRules(msgspec.json.decode(data, type=RuleFile))
    except (msgspec.MsgspecError, ValueError, TypeError) as error:
        raise ConfigError(f"{name} cannot be read: {error}", hint="compare it with docs/hostile.md#dust") from error


def write_rule_file(file: RuleFile) -> bytes:
    """A file as people edit it: one rule a line."""
    lines = [_lines("rules", file.rules), _lines("priors", file.priors)]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _lines(name: str, rows: Iterable[GivenRule | Prior]) -> str:
    written = ",\n".join("  " + msgspec.json.encode(row).decode() for row in rows)
    return f'"{name}": [\n{written}\n]' if written else f'"{name}": []'


def clean_params(params: Iterable[str], path: str, url: str) -> list[DustRule]:
    """The rules that a `Clean-param` line gives for a URL; its path may hold `*` for anything."""
    target = url[url.find("/", 8) :]
    if path and not re.match(".*".join(re.escape(part) for part in path.rstrip("$").split("*")), target):
        return []
    return [DustRule("drop-param", name) for name in params]


def given_rules(setup: Setup) -> GivenRules:
    """The rules of the file that the settings name."""
    name = setup.settings.some(DustTables).dust.file
    if not name:
        return GivenRules()
    path = setup.layout.folder / name
    try:
        return read_rule_file(path.read_bytes(), str(path))
    except OSError as error:
        raise ConfigError(f"dust.file: {path} cannot be read: {error.strerror}") from error
