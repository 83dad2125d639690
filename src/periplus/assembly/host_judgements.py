"""Mirrors, parked domains and rules for duplicate URLs of a collection: judged, written down, handed to its crawl."""

from __future__ import annotations

from pathlib import Path

import msgspec

from periplus.insight import verdicts
from periplus.insight.dust_rules import FILE, learnt_rules
from periplus.insight.mirrors import JUDGE, PARKED, JudgedHosts, judge_hosts
from periplus.insight.views import Views
from periplus.model import ConfigError
from periplus.policy.dust import RuleFile, write_rule_file
from periplus.policy.mirrors import encode_hosts
from periplus.store import LearntFiles

from .collection import Collection

KIND = "mirrors"
"""The kind of the learnt file of hosts."""
DUST = "dust"
"""The kind of the learnt file of rules for duplicate URLs: the same as `insight/dust.json`."""


def judge(found: Collection, now: float) -> JudgedHosts:
    """Judge the hosts of a collection: its view `verdicts` has the results, and a crawl that runs takes them over.

    The rules for duplicate URLs that the crawl learnt are written to `insight/dust.json`, beside those that a person
    added to it, and the crawl takes that file over as well. Raises `ConfigError` if that file cannot be read.
    """
    config, layout = found.config, found.layout
    place = found.folder / "insight" / FILE
    edited = _edited_rules(place)
    with Views(found.folder, spooled=layout.spooled) as views:
        judged = judge_hosts(
            views, now, settings=config.mirrors, parked_settings=config.parked, suffixes=config.scope.suffixes
        )
        rules = learnt_rules(views, edited, config.scope.suffixes)
    verdicts.write(found.folder, JUDGE, judged.mirrors)
    verdicts.write(found.folder, PARKED, judged.parked)
    learnt = LearntFiles(layout.learnt)
    learnt.write(KIND, encode_hosts(judged.learnt))
    learnt.write(DUST, write_rule_file(rules))
    draft = place.with_name(f".{FILE}")
    draft.write_bytes(write_rule_file(rules))
    draft.replace(place)
    return judged


def _edited_rules(place: Path) -> RuleFile | None:
    try:
        return msgspec.json.decode(place.read_bytes(), type=RuleFile)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, ValueError) as error:
        raise ConfigError(f"{place} cannot be read: {error}", hint="compare it with docs/hostile.md#dust") from error
