"""The rules for duplicate URLs that a crawl learnt, as a file that people read and edit: `insight/dust.json`.

The last verdict on each rule of a site says whether it is accepted or withdrawn; names that held on many domains are
priors. Rules that a person wrote into the file (`given`, `never`) stay, and replace what was learnt of the same rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus.engine.part import Setup
from periplus.insight.views import Views
from periplus.model import ConfigError
from periplus.store import LearntFiles
from periplus.store.durable import write_file
from periplus.urls import domain_of

from .given import GivenRule, RuleFile, priors_of, write_rule_file
from .rules import DustRule, parse_rule

KIND: Final = "dust"
"""The kind of the learnt file, which is the same."""
FILE: Final = "dust.json"
"""The name of the file in the folder `insight`."""
_BY_PEOPLE: Final = ("given", "never")
_COUNTS: Final = re.compile(r"(\d+) pairs of pages were equal, (\d+) were not", re.ASCII)
_LAST: Final = """
    select subject as site, verdict, evidence from verdicts where judge = 'dust'
    qualify row_number() over (partition by subject, evidence[1] order by judged_at desc) = 1
    order by site, evidence[1]
"""


def learnt_rules(views: Views, edited: RuleFile | None = None, suffixes: tuple[str, ...] = ()) -> RuleFile:
    """The rules of a collection. `edited` is the file as it was; `suffixes` as in the scope."""
    learnt = [rule for row in views.rows(_LAST) if (rule := _rule_of(row)) is not None]
    kept = [each for each in (edited or RuleFile()).rules if each.state in _BY_PEOPLE]
    known = {(each.site, each.rule) for each in kept}
    counted = _by_domain(learnt, suffixes)
    return RuleFile(
        (*kept, *(each for each in learnt if (each.site, each.rule) not in known)), tuple(priors_of(counted))
    )


def _by_domain(rules: Iterable[GivenRule], suffixes: tuple[str, ...]) -> list[tuple[str, DustRule, bool]]:
    """Domain and rule, whatever its path, and whether it was withdrawn."""
    return [
        (domain_of(each.site, further=suffixes) or each.site, each.rule, each.state == "withdrawn") for each in rules
    ]


def _rule_of(row: dict[str, Any]) -> GivenRule | None:
    """The rule of a verdict; `None` if the form of the file cannot hold it."""
    words, *reasons = row["evidence"]
    rule = parse_rule(words)
    counts = _COUNTS.fullmatch(reasons[0]) if reasons else None
    if rule is None or counts is None:
        return None
    state = "accepted" if row["verdict"] == "learnt" else "withdrawn"
    try:
        return GivenRule(
            row["site"], rule.kind, rule.name, rule.value, rule.path, state, int(counts[1]), int(counts[2]),
            "; ".join(reasons[1:]),
        )  # fmt: skip
    except ValueError:
        return None


def write_learnt_rules(setup: Setup, views: Views) -> None:
    """Write the rules that a crawl learnt, with those that a person added to the file, for people and for the crawl.

    Raises `ConfigError` if that file cannot be read.
    """
    place = setup.layout.folder / "insight" / FILE
    rules = write_rule_file(learnt_rules(views, _edited(place), setup.settings.value("scope.suffixes")))
    LearntFiles(setup.layout.learnt).write(KIND, rules)
    place.parent.mkdir(exist_ok=True)
    write_file(place, rules)


def _edited(place: Path) -> RuleFile | None:
    try:
        return msgspec.json.decode(place.read_bytes(), type=RuleFile)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, ValueError) as error:
        raise ConfigError(f"{place} cannot be read: {error}", hint="compare it with docs/hostile.md#dust") from error
