"""What was learnt of one site: counted pairs, accepted rules, and what is needed to find more pairs.

A page is compared with the *base* of each operation, the URL that the rule would make of its own. Where the base was
read, the caller compares the two. Where it was not, the page waits under the key of its base for another page with the
same base (`/a?from=1` and `/a?from=2`, while `/a` is linked nowhere), or for the base itself. Of those waiting bases
the ones with the smallest keys are kept, so that a sample of bases is complete however far apart its pages are read.

A rule is counted in two contexts, the template of the path and the whole site. An accepted rule of the whole site does
not hold for a template in which an unequal pair was seen (`renaming`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from msgspec import Struct, field

from .evidence import (
    ACCEPTED,
    CANDIDATE,
    FAMILIAR,
    MAX_TEMPLATES,
    MAX_VOTES,
    REFUTED,
    UNIFORM,
    WITHDRAWN,
    Counts,
    is_at_least,
)
from .rules import ORDER, DustRule, UrlRenaming, is_alias, key_of, parameters, split_path, url_key
from .settings import DustSettings

MAX_KNOWN: Final = 16
"""Rules of a site that a URL alone does not show: each is tried on every page of the site."""
MAX_TARGETS: Final = 64
"""Renamed URLs whose new URL was not fetched yet, of a site; the oldest is forgotten."""
MAX_REMEMBERED: Final = 10_000
"""Renamed URLs of a site that are remembered until it is certain that no rule is withdrawn, which it never is. Of more
URLs, those that are linked again come back."""
MAX_PAIRED: Final = 512
"""Pages of a site of which is known for which rules they were a pair; the oldest is forgotten. A page counts once for
a rule: twenty names of the home page say nothing of other pages."""
MANY_VALUES: Final = 8
"""Distinct values from which a parameter counts as varied: it identifies the link's position or the visitor rather than
one of a few views of a page."""
MAX_MISSED: Final = 24
"""Pages without a pair after which a rule about spelling is tried on a sample of pages: on most sites capitals and
slashes are part of the only name of a page."""
SAMPLED_OF: Final = 8
"""One base in this many is looked up then, chosen by its hash, until a pair is found."""
_SPELLING: Final = frozenset({"lower-case", "drop-suffix"})
_UNKNOWN: Final = frozenset({"drop-param", "drop-param-value", "drop-segment"})
"""Kinds of rules about names whose meaning a site alone knows; aliases are others."""
_VARIED: Final = frozenset({"drop-param", "drop-segment"})
"""Kinds of rules that hold for many values of a parameter or a segment."""
ORDERS: Final = frozenset(
    [
        "dir",
        "direction",
        "order",
        "order_by",
        "order-by",
        "orderby",
        "orderdir",
        "ordering",
        "sort",
        "sort_by",
        "sort-by",
        "sort_order",
        "sortby",
        "sortdir",
        "sortorder",
    ]
)
"""Names of parameters that order a list, in lower case."""
_UNSEEN_KINDS: Final = frozenset({"drop-prefix", "replace-segment"})
_ELSEWHERE: Final = frozenset({"host", "scheme"})
"""Kinds whose bases are not of the site or scheme of the page: nothing waits for those."""
_TURNED: Final = frozenset({"replace-segment", "scheme"})
"""Kinds that can be applied in the other direction."""


class SiteDust(Struct, array_like=True):
    """The rules of one site, and the evidence for them.

    `candidates` are counts by the key of a rule, the least recently useful first; `rules` the accepted ones, in the
    order in which they are tried; `known` rules that a URL alone does not show. `bases`: by key of a base, the identity
    of the page that waits there and the keys of its rules. `targets`: by key of a URL that was not fetched yet, the
    URL that was renamed to it and the key of the rule; `checks`: keys of URLs that are fetched to check a rule, with
    the key of the rule. `cleaned`: names and path of each `Clean-param` line of robots.txt. `split`: parameters that
    matter, but perhaps not with every value. `looked`: by key of a rule, how much was spent on looking for pairs.
    `anchors`: keys of bases that no page was read under, and are fetched before a rule is accepted, each with a URL of
    that base and the keys of the rule. `pages` counts pages that were read, `remembered` URLs that were renamed when
    they were found, and have a record so that they are fetched if their rule is withdrawn; `raised` pairs that were
    fetched early. `paired`: keys of a rule and of a base of which a pair was counted. `values`: by
    name of a parameter, the keys of the values that were read, at most `MANY_VALUES`, of `MAX_KNOWN` parameters.
    `has_secure`: whether a page was read by https. `missed`: by key of a rule about spelling, pages that had no pair,
    at most `MAX_MISSED`. `suspended`: keys of accepted rules that rename nothing until more pairs were read.
    """

    pages: int = 0
    candidates: dict[int, Counts] = field(default_factory=dict)
    rules: dict[int, DustRule] = field(default_factory=dict)
    known: dict[int, DustRule] = field(default_factory=dict)
    bases: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    targets: dict[int, tuple[str, int]] = field(default_factory=dict)
    checks: dict[int, int] = field(default_factory=dict)
    cleaned: tuple[tuple[tuple[str, ...], str], ...] = ()
    split: list[str] = field(default_factory=list)
    looked: dict[int, int] = field(default_factory=dict)
    anchors: dict[int, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    remembered: int = 0
    raised: int = 0
    paired: dict[int, bool] = field(default_factory=dict)
    values: dict[str, list[int]] = field(default_factory=dict)
    has_secure: bool = False
    missed: dict[int, int] = field(default_factory=dict)
    suspended: list[int] = field(default_factory=list)


class Pair(Struct, frozen=True, gc=False):
    """A page and the base of an operation that was read: equal, unequal, or too close to say (`None`).

    `vote`: 1 if sitemaps or canonical links favour the base, -1 if they favour the page, else 0. `is_anchored`:
    the base itself was read, and not only another page with the same base. `has_same_text` and `has_same_links`: they
    are not only nearly equal.
    """

    operation: UrlRenaming
    is_equal: bool | None
    vote: int = 0
    is_anchored: bool = True
    has_same_text: bool = True
    has_same_links: bool = True


class Observation(Struct, frozen=True):
    """A page that was read: its URL, its identity (cluster or digest), its pairs, and operations without a known base.

    `is_countable`: whether its text says something; see `DustSettings.max_cluster`. `text`: the digest of its text.
    """

    url: str
    identity: int
    pairs: tuple[Pair, ...] = ()
    unread: tuple[UrlRenaming, ...] = ()
    is_countable: bool = True
    text: int = 0

    def identity_for(self, operation: UrlRenaming) -> int:
        """What is compared: pages whose paths have a segment that looks made up must have the very same text."""
        return self.text if operation.rules[0].kind == "drop-segment" else self.identity


class RuleChange(Struct, frozen=True):
    """A rule was accepted, or withdrawn, by this number of pairs; `reason`: why it was withdrawn."""

    rule: DustRule
    is_accepted: bool
    equal: int
    unequal: int
    reason: str = ""


def learn(
    dust: SiteDust, page: Observation, settings: DustSettings, familiar: Collection[tuple[str, str, str]] = ()
) -> list[RuleChange]:
    """Count the pairs of a page: the rules that changed. `familiar`: kind, name and value of priors."""
    changes: list[RuleChange] = []
    dust.pages += 1
    _note_values(dust, page)
    if dust.bases and page.url not in [operation.base for operation in page.unread]:
        _meet_waiting(dust, page, settings)
    for pair in page.pairs:
        if pair.is_equal is None:
            changes += _count_near(dust, pair, settings)
        elif page.is_countable or not pair.is_equal or _is_order(pair.operation):
            is_known = pair.operation.rules[-1].name in dust.split
            changes += count_pair(dust, pair, settings, familiar)
            if not pair.is_equal and not is_known:
                changes += _count_values(dust, page.url, pair, settings)
    for operation in page.unread:
        kind = operation.rules[0].kind
        if kind in _SPELLING:
            key = key_of(operation.rules[0])
            dust.missed[key] = min(dust.missed.get(key, 0) + 1, MAX_MISSED)
        if kind not in _ELSEWHERE and not is_alias(operation.rules[0]):
            changes += _wait(dust, page, operation, settings, familiar)
    return changes


def is_looked_up(dust: SiteDust, operation: UrlRenaming) -> bool:
    """Whether the base of an operation is compared: not where pages of the site never had a pair, except a sample."""
    rule = operation.rules[0]
    if rule.kind not in _SPELLING or dust.missed.get(key_of(rule), 0) < MAX_MISSED:
        return True
    return key_of(rule) in dust.candidates or url_key(operation.base) % SAMPLED_OF == 0


def is_awaited(dust: SiteDust, url: str) -> bool:
    """Whether a page waits under this URL to be compared with it."""
    return bool(dust.bases) and url_key(url) in dust.bases


def _note_values(dust: SiteDust, page: Observation) -> None:
    """Note the values of the parameters of a page that was read, and of a segment that looks made up."""
    query = page.url.partition("?")[2]
    for name, equals, value in (each.partition("=") for each in parameters(query)[:MAX_KNOWN]):
        if equals or name in dust.values:
            _note_value(dust, name, value)
    for operation in (*page.unread, *(pair.operation for pair in page.pairs)):
        name = operation.rules[0].name
        if operation.rules[0].kind == "drop-segment":
            _note_value(dust, name, split_path(page.url)[1][len(name) - 1 :].partition("/")[0])


def _note_value(dust: SiteDust, name: str, value: str) -> None:
    known = dust.values.get(name)
    if known is None and len(dust.values) < MAX_KNOWN:
        known = dust.values[name] = []
    if known is not None and len(known) < MANY_VALUES and url_key(value) not in known:
        known.append(url_key(value))


def _count_values(dust: SiteDust, url: str, pair: Pair, settings: DustSettings) -> list[RuleChange]:
    """The first unequal pair of a parameter counts against its value as well, which is counted from now on."""
    rule = pair.operation.rules[-1]
    if rule.kind != "drop-param":
        return []
    given = [each.partition("=") for each in parameters(url.partition("?")[2])]
    values = [value for name, equals, value in given if equals and name == rule.name]
    against = [UrlRenaming((DustRule("drop-param-value", rule.name, value),), pair.operation.base) for value in values]
    return [change for each in against for change in count_pair(dust, Pair(each, False), settings)]


def _meet_waiting(dust: SiteDust, page: Observation, settings: DustSettings) -> None:
    """Count the pair of a page and another one that waited under its URL; the next pair of the rule decides."""
    waiting = dust.bases.pop(url_key(page.url), None)
    is_equal = waiting is not None and waiting[0] in (page.identity, page.text)
    if waiting is None or (is_equal and not page.is_countable):
        return
    for key in waiting[1]:
        if key not in dust.candidates:
            _make_room(dust, settings)
        counts = dust.candidates.setdefault(key, Counts())
        counts.count(is_equal, 0)
        counts.is_anchored |= is_equal


def _is_order(operation: UrlRenaming) -> bool:
    """Sorting a query is harmless also where all pages say the same."""
    return operation.rules[0].kind == "sort-query"


def _wait(
    dust: SiteDust,
    page: Observation,
    operation: UrlRenaming,
    settings: DustSettings,
    familiar: Collection[tuple[str, str, str]],
) -> list[RuleChange]:
    """Compare a page with the one that waits under the same base, or let it wait there."""
    place, keys = url_key(operation.base), tuple(key_of(rule) for rule in operation.rules)
    waiting = dust.bases.get(place)
    if waiting is not None:
        is_equal = waiting[0] == page.identity_for(operation)
        if waiting[1] != keys or (is_equal and not page.is_countable and not _is_order(operation)):
            return []
        is_anchored = _is_order(operation) or operation.base == page.url
        return count_pair(dust, Pair(operation, is_equal, 0, is_anchored), settings, familiar)
    if len(dust.bases) >= settings.max_bases:
        largest = next(reversed(dust.bases))
        if place > largest:
            return []
        del dust.bases[largest]
    dust.bases[place] = (page.identity_for(operation), keys)
    if len(dust.bases) >= settings.max_bases:
        largest = max(dust.bases)
        dust.bases[largest] = dust.bases.pop(largest)  # at the end, where it is found at once
    return []


def count_pair(
    dust: SiteDust, pair: Pair, settings: DustSettings, familiar: Collection[tuple[str, str, str]] = ()
) -> list[RuleChange]:
    """Count a pair for its rule in every context: the rules that are accepted or withdrawn now."""
    changes: list[RuleChange] = []
    if not _is_new(dust, pair):
        return changes
    is_new_template = False
    for rule in pair.operation.rules:
        key = key_of(rule)
        counts = dust.candidates.pop(key, None)
        if counts is None:
            _make_room(dust, settings)
            counts = Counts()
        dust.candidates[key] = counts  # at the end: the most recently useful
        counts.count(bool(pair.is_equal), pair.vote)
        counts.is_anchored |= pair.is_anchored and bool(pair.is_equal)
        if pair.is_equal:
            counts.near = min(counts.near + (not pair.has_same_text), MAX_VOTES)
            counts.elsewhere = min(counts.elsewhere + (not pair.has_same_links), MAX_VOTES)
        if rule.path:
            is_new_template = bool(pair.is_equal) and counts.equal == 1
        else:
            counts.templates = min(counts.templates + is_new_template, MAX_TEMPLATES)
        if rule.kind in _UNSEEN_KINDS:
            _keep_known(dust, key, rule)
        elif rule.kind == "drop-param" and not pair.is_equal and rule.name not in dust.split:
            dust.split = [*dust.split[-MAX_KNOWN + 1 :], rule.name]
        changes += _decide(dust, key, rule, counts, settings, familiar)
    return changes


def _count_near(dust: SiteDust, pair: Pair, settings: DustSettings) -> list[RuleChange]:
    """A pair that is neither equal nor unequal: an alias shows the very same."""
    rule = pair.operation.rules[0]
    counts = dust.candidates.get(key_of(rule)) if is_alias(rule) else None
    if counts is None:
        return []
    counts.near = min(counts.near + 1, MAX_VOTES)
    return _decide(dust, key_of(rule), rule, counts, settings, ()) if counts.state == ACCEPTED else []


def _is_new(dust: SiteDust, pair: Pair) -> bool:
    """Whether a pair says something that earlier ones did not: of another page, order, or that it differs."""
    if _is_order(pair.operation):
        return True
    key = url_key(f"{key_of(pair.operation.rules[-1])} {pair.operation.base}")
    if pair.is_equal and dust.paired.get(key):
        return False
    while len(dust.paired) >= MAX_PAIRED:
        del dust.paired[next(iter(dust.paired))]
    dust.paired[key] = True
    return True


def is_paired(dust: SiteDust, key: int, base: str) -> bool:
    """Whether a pair of a rule was counted whose base is this URL."""
    return dust.paired.get(url_key(f"{key} {base}"), False)


def _make_room(dust: SiteDust, settings: DustSettings) -> None:
    if len(dust.candidates) >= settings.max_candidates:
        oldest = next((key for key, each in dust.candidates.items() if each.state == CANDIDATE), None)
        dust.candidates.pop(next(iter(dust.candidates)) if oldest is None else oldest)


def _keep_known(dust: SiteDust, key: int, rule: DustRule) -> None:
    if key not in dust.known:
        if len(dust.known) >= MAX_KNOWN:
            spare = next((each for each in dust.known if each not in dust.rules), None)
            if spare is None:
                return
            del dust.known[spare]
        dust.known[key] = rule


def _decide(
    dust: SiteDust,
    key: int,
    rule: DustRule,
    counts: Counts,
    settings: DustSettings,
    familiar: Collection[tuple[str, str, str]],
) -> list[RuleChange]:
    prior = FAMILIAR if (rule.kind, rule.name, rule.value) in familiar else UNIFORM
    if counts.state == ACCEPTED:
        is_kept = is_clean(counts, settings)
        if counts.unequal:
            is_kept = is_kept and is_at_least(counts.equal, counts.unequal, settings.withdraw, prior)
        if is_alias(rule):
            is_kept = is_kept and not counts.unequal
            if counts.near:
                is_kept = is_kept and is_at_least(counts.equal, counts.unequal, settings.accept_varied, prior)
        if is_kept and key in dust.suspended and _is_certain(counts, settings):
            dust.suspended.remove(key)
        return [] if is_kept else withdraw(dust, key, "pages differ")
    is_varied = rule.kind in _VARIED and len(dust.values.get(rule.name, ())) >= MANY_VALUES
    is_harmless = is_varied or 2 * counts.votes >= min(counts.pairs, MAX_VOTES)
    if not _is_acceptable(rule, counts, settings, prior, is_harmless=is_harmless):
        return []
    if not counts.is_anchored or (counts.votes < 0 and rule.kind not in _TURNED):
        return []
    if len(dust.rules) >= settings.max_rules:
        return []
    turned = DustRule(rule.kind, rule.value, rule.name) if counts.votes < 0 else rule
    counts.state = ACCEPTED
    dust.rules = _in_order({**dust.rules, key: turned})
    return [RuleChange(turned, True, counts.equal, counts.unequal)]


def _is_acceptable(
    rule: DustRule, counts: Counts, settings: DustSettings, prior: tuple[int, int], *, is_harmless: bool
) -> bool:
    if counts.state == REFUTED or (counts.state == WITHDRAWN and counts.new < settings.new_pairs):
        return False
    if rule.kind == "sort-query" and counts.equal >= settings.sorted_pairs and not counts.unequal:
        return True
    if rule.kind == "drop-param" and not rule.path and counts.templates < settings.min_templates:
        return False
    least = settings.accept
    if is_unknown(rule) and prior == UNIFORM:
        least = settings.accept_varied if is_harmless else settings.accept_unknown
        if rule.kind == "drop-segment" and is_harmless:
            least = min(settings.accept_exact, least)
        if is_alias(rule) and not counts.near:
            least = settings.accept_varied if counts.elsewhere else min(settings.accept_exact, least)
        if counts.unequal:
            return False
    return is_clean(counts, settings) and is_at_least(counts.equal, counts.unequal, least, prior)


def is_unknown(rule: DustRule) -> bool:
    """Whether only the pages of the site can say what a rule is about."""
    if rule.kind == "drop-param" and rule.name.lower() in ORDERS:
        return False
    return rule.kind in _UNKNOWN or is_alias(rule)


def is_clean(counts: Counts, settings: DustSettings) -> bool:
    """Whether few pairs were unequal; one among few pairs is too many."""
    return counts.unequal <= settings.max_unequal * counts.pairs


def withdraw(dust: SiteDust, key: int, reason: str, *, is_final: bool = False) -> list[RuleChange]:
    """Withdraw an accepted rule, permanently or until new pairs support it again."""
    rule = dust.rules.pop(key, None)
    if rule is None:
        return []
    dust.suspended = [each for each in dust.suspended if each != key]
    counts = dust.candidates.setdefault(key, Counts())
    counts.state = REFUTED if is_final else WITHDRAWN
    counts.new = 0
    return [RuleChange(rule, False, counts.equal, counts.unequal, reason)]


def suspend(dust: SiteDust, settings: DustSettings) -> bool:
    """Suspend aliases of which too few pairs were read to do without the others. Whether one was.

    Two trees of pages may differ in a page or two, which no sample shows; when a site has nothing else left, the URLs
    that an alias spared are read until it is as certain as a rule of which nothing is known has to be.
    """
    keys = [key for key, rule in dust.rules.items() if is_alias(rule) and key not in dust.suspended]
    keys = [key for key in keys if not _is_certain(dust.candidates.get(key, Counts()), settings)]
    dust.suspended += keys
    return bool(keys)


def _is_certain(counts: Counts, settings: DustSettings) -> bool:
    return is_at_least(counts.equal, counts.unequal, settings.accept_unknown)


def adopt(dust: SiteDust, rule: DustRule, equal: int, unequal: int, settings: DustSettings) -> None:
    """Accept a rule that an earlier crawl learnt of the site, with the pairs that it had."""
    key = key_of(rule)
    if key not in dust.candidates and len(dust.rules) < settings.max_rules:
        _make_room(dust, settings)
        dust.candidates[key] = Counts(
            equal, unequal, state=ACCEPTED, is_anchored=True, templates=settings.min_templates
        )
        dust.rules = _in_order({**dust.rules, key: rule})


def _in_order(rules: dict[int, DustRule]) -> dict[int, DustRule]:
    """Rules in the order in which they are tried: by kind, and those for a template first."""
    return dict(sorted(rules.items(), key=lambda item: (ORDER[item[1].kind], not item[1].path)))


# targets of renamed URLs


def remember(dust: SiteDust) -> bool:
    """Count a renamed URL as remembered; `False` if the site's limit is reached."""
    has_room = dust.remembered < MAX_REMEMBERED
    dust.remembered += has_room
    return has_room


def note_target(dust: SiteDust, target: str, variant: str, key: int) -> None:
    """Note that a URL was renamed to one that was not known: if that is an error, the rule is checked."""
    place = url_key(target)
    if place not in dust.targets:
        while len(dust.targets) >= MAX_TARGETS:
            del dust.targets[next(iter(dust.targets))]
        dust.targets[place] = (variant, key)


def target_failed(dust: SiteDust, url: str) -> str | None:
    """A URL answered with an error: the URL that was renamed to it, which is now fetched to check the rule."""
    found = dust.targets.pop(url_key(url), None)
    if found is None or found[1] not in dust.rules:
        return None
    while len(dust.checks) >= MAX_TARGETS:
        del dust.checks[next(iter(dust.checks))]
    dust.checks[url_key(found[0])] = found[1]
    return found[0]


def target_read(dust: SiteDust, url: str) -> None:
    """Record that a URL was read: URLs renamed to it were renamed correctly."""
    dust.targets.pop(url_key(url), None)


def checked(dust: SiteDust, url: str, is_page: bool) -> list[RuleChange]:
    """A URL was fetched because its new name answers with an error. If it is a page, the rule is withdrawn."""
    key = dust.checks.pop(url_key(url), None)
    return (
        withdraw(dust, key, "the renamed URL answers with an error", is_final=True)
        if key is not None and is_page
        else []
    )


def redirected_back(dust: SiteDust, url: str, made: Sequence[tuple[int, str]]) -> list[RuleChange]:
    """A URL redirects: rules that rename the target back to it are withdrawn. `made`: key and result of each rule."""
    reason = "the renamed URL redirects back"
    return [change for key, result in made if result == url for change in withdraw(dust, key, reason, is_final=True)]
