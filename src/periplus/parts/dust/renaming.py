"""Applies the rules of a site to a URL, and selects the URLs to fetch early because they decide about a rule.

The sooner the pairs of a rule are read, the more URLs it saves (`open_operations`). And a rule is accepted only if a
page was read under a URL that it produces, the base: if no page links to one, it is fetched as a probe, the anchor
(`wanted_anchors`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from periplus.urls import canonical

from .evidence import ACCEPTED, CANDIDATE, REFUTED
from .learning import MAX_KNOWN, Observation, SiteDust, is_clean, is_unknown
from .rules import QUERY_KINDS, DustRule, UrlRenaming, apply, describe, key_of, url_key
from .settings import DustSettings

MAX_PASSES: Final = 4
"""Passes over the rules of a site after which a URL must no longer change; otherwise it keeps its name."""
_PROBE_SEED: Final = 0x0D057
"""Makes the choice of probes independent of other choices by a hash of the URL."""
_LONGEST_TEXT: Final = 200


class Renamed(Struct, frozen=True, gc=False):
    """A URL after renaming, the key of the first rule that changed it, and all rules in words.

    `is_given`: only rules that the site or a person gave were used, which are not probed.
    """

    url: str
    key: int
    text: str
    is_given: bool = False


def is_probe(url: str, share: float) -> bool:
    """Whether a URL is fetched under its own name to check a rule: the same answer whenever it is asked."""
    return xxh3_64_intdigest(url.encode(), _PROBE_SEED) < share * 2.0**64


def renamed(
    url: str,
    dust: SiteDust | None,
    template_of: Callable[[str], str],
    given: Iterable[DustRule] = (),
    refused: frozenset[DustRule] = frozenset(),
    original: str = "",
) -> Renamed | None:
    """The URL after the rules of a site, applied to a fixed point; `None` if nothing changes or there is none.

    `template_of`: the template of the path of a URL. `given`: rules that hold without evidence; `refused`: rules that
    are not to be applied, whatever was learnt. `original`: the URL before rules of other kinds renamed it.
    """
    original = original or url
    own = [(key_of(rule), rule, True) for rule in given]
    learnt = [] if dust is None else [(key, rule, False) for key, rule in dust.rules.items() if rule not in refused]
    if not own and not learnt and url == original:
        return None
    used: dict[int, tuple[DustRule, bool]] = {}
    name = url
    for _ in range(MAX_PASSES):
        before = name
        for key, rule, is_given in (*own, *learnt):
            made = _apply(rule, name, template_of, None if is_given else dust)
            if made is not None:
                name = made
                used[key] = (rule, is_given)
        if name == before:
            break
    else:
        return None
    short = canonical(name) if name != original else None
    if short is None or short == original:
        return None
    text = ", ".join(describe(rule) for rule, _ in used.values())[:_LONGEST_TEXT] or "rules of the file"
    return Renamed(short, next(iter(used), 0), text, all(is_given for _, is_given in used.values()))


def _apply(rule: DustRule, url: str, template_of: Callable[[str], str], dust: SiteDust | None) -> str | None:
    if rule.kind in QUERY_KINDS and "?" not in url:
        return None
    template = template_of(url) if rule.kind in QUERY_KINDS else ""
    made = apply(rule, url, template)
    if made is None or dust is None or rule.path or rule.kind not in QUERY_KINDS:
        return made
    narrow = dust.candidates.get(key_of(DustRule(rule.kind, rule.name, rule.value, template)))
    is_doubtful = narrow is not None and narrow.unequal > 0 and narrow.state != ACCEPTED
    return None if is_doubtful else made


MAX_LOOKED: Final = 2048
"""The most that is spent on looking for pairs of a rule: a lookup without a result, which is cheap, costs 1."""
FIRST_PAIRS: Final = 8
"""Pairs that are fetched early on any site: what a rule about spelling needs."""
MAX_LOOKED_RULES: Final = 64
"""Rules of a site for which that is counted; the oldest is forgotten."""
_COST_OF_PAIR: Final = 128
"""What a pair costs that is fetched soon: 16 pairs, twice as many as a rule about spelling needs."""
_COST_OF_UNKNOWN: Final = 50
"""The same for a parameter or a segment: 40 pairs, a few more than one with many values needs."""
_LOOKED_FOR: Final = frozenset({"drop-param", "drop-prefix", "drop-suffix", "lower-case", "replace-segment"})


def open_operations(dust: SiteDust | None, found: Sequence[UrlRenaming], settings: DustSettings) -> list[UrlRenaming]:
    """The operations of a new URL whose rules are not decided: pairs for them are wanted soon."""
    if dust is not None and dust.raised >= FIRST_PAIRS + settings.early * dust.pages:
        return []
    wanted = [each for each in found if each.rules[0].kind in _LOOKED_FOR]
    return wanted if dust is None else [each for each in wanted if _is_open(dust, each)]


def _is_open(dust: SiteDust, operation: UrlRenaming) -> bool:
    key = key_of(operation.rules[-1])
    counted = [dust.candidates.get(key_of(rule)) for rule in operation.rules]
    is_undecided = all(counts is None or counts.state == CANDIDATE for counts in counted)
    return (
        is_undecided and dust.looked.get(key, 0) < MAX_LOOKED and url_key(f"{key} {operation.base}") not in dust.paired
    )


def looked_for(dust: SiteDust, operation: UrlRenaming, is_known: bool) -> None:
    """Record a lookup of the base of a new URL: it is known, and both are fetched soon, or it is not."""
    key = key_of(operation.rules[-1])
    if key not in dust.looked:
        while len(dust.looked) >= MAX_LOOKED_RULES:
            del dust.looked[next(iter(dust.looked))]
    cost = _COST_OF_UNKNOWN if is_unknown(operation.rules[-1]) else _COST_OF_PAIR
    dust.looked[key] = dust.looked.get(key, 0) + (cost if is_known else 1)
    if is_known:
        dust.raised += 1
        dust.paired.setdefault(url_key(f"{key} {operation.base}"), False)


def wanted_anchors(dust: SiteDust, page: Observation, settings: DustSettings) -> list[str]:
    """Bases that no page was read under, and of which rules with enough pairs depend: they are to be fetched."""
    wanted: list[str] = []
    if not dust.candidates:
        return wanted
    for operation in page.unread:
        keys = tuple(key_of(rule) for rule in operation.rules)
        counts = dust.candidates.get(keys[0])
        if counts is None or counts.is_anchored or counts.state == REFUTED or len(dust.anchors) >= MAX_KNOWN:
            continue
        is_due = counts.equal >= settings.sorted_pairs and is_clean(counts, settings)
        if is_due and all(waiting[1] != keys for waiting in dust.anchors.values()):
            dust.anchors[url_key(operation.base)] = (page.url, keys)
            wanted.append(operation.base)
    return wanted


def anchor_of(dust: SiteDust, base: str) -> tuple[str, tuple[int, ...]] | None:
    """The URL with which a base that was fetched is to be compared, and the keys of the rule; `None`: not a base."""
    return dust.anchors.pop(url_key(base), None)


def anchored(dust: SiteDust, keys: Sequence[int], is_equal: bool) -> None:
    """Record whether a fetched base shows the same as the URLs that would be renamed to it."""
    for key in keys:
        counts = dust.candidates.get(key)
        if counts is not None and not counts.is_anchored:
            counts.is_anchored = is_equal
            counts.state = counts.state if is_equal else REFUTED
