"""Applies the rules of a site to a URL."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from ...urls import canonical
from .evidence import ACCEPTED
from .learning import SiteDust
from .pairs import key_of
from .rules import QUERY_KINDS, Rule, apply, describe

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
    given: Iterable[Rule] = (),
    refused: frozenset[Rule] = frozenset(),
    original: str = "",
) -> Renamed | None:
    """What the rules of a site make of a URL, to a fixed point; `None` if nothing changes or there is none.

    `template_of`: the template of the path of a URL. `given`: rules that hold without evidence; `refused`: rules that
    are not to be applied, whatever was learnt. `original`: the URL before rules of other kinds renamed it.
    """
    original = original or url
    own = [(key_of(rule), rule, True) for rule in given]
    learnt = [] if dust is None else [(key, rule, False) for key, rule in dust.rules.items() if rule not in refused]
    if not own and not learnt and url == original:
        return None
    used: dict[int, tuple[Rule, bool]] = {}
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


def _apply(rule: Rule, url: str, template_of: Callable[[str], str], dust: SiteDust | None) -> str | None:
    if rule.kind in QUERY_KINDS and "?" not in url:
        return None
    template = template_of(url) if rule.kind in QUERY_KINDS else ""
    made = apply(rule, url, template)
    if made is None or dust is None or rule.path or rule.kind not in QUERY_KINDS:
        return made
    narrow = dust.candidates.get(key_of(Rule(rule.kind, rule.name, rule.value, template)))
    is_doubtful = narrow is not None and narrow.unequal > 0 and narrow.state != ACCEPTED
    return None if is_doubtful else made
