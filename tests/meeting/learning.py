"""What jobs might learn of a generated web, while it is crawled: some of it true, some of it not."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
from tests.meeting.world import MeetingWorld

from periplus.parts.dust.given import GivenRule, RuleFile, write_rule_file
from periplus.parts.mirrors.policy import HostRule, LearntHosts, encode_hosts
from periplus.parts.reputation.known import KnownReputation, domain_hash
from periplus.parts.spam.scores import written
from periplus.store import LearntFiles
from periplus.urls import domain_of


def write_learnt(folder: Path, world: MeetingWorld, chance: Random) -> str:
    """Write a learnt file of some kind, as a job does; its kind."""
    kind = chance.choice(("reputation", "spam", "mirrors", "dust"))
    content = {"reputation": _reputation, "spam": _spam, "mirrors": _mirrors, "dust": _dust}[kind](world, chance)
    LearntFiles(folder).write(kind, content)
    return kind


def _domains(world: MeetingWorld) -> list[str]:
    return sorted({domain_of(site) or site for site in world.sites})


def _reputation(world: MeetingWorld, chance: Random) -> bytes:
    names = chance.sample(_domains(world), len(_domains(world)) // 2)
    budgets = [chance.choice((1, 3, 10, 100)) for _ in names]
    hashes = np.array([domain_hash(name) for name in names], np.uint64)
    scores = np.array([budget / 100 for budget in budgets], np.float32)
    return KnownReputation(hashes, np.array(budgets, np.uint32), scores).written()


def _spam(world: MeetingWorld, chance: Random) -> bytes:
    farms = [(farm, domain_of(farm) or farm) for farm in world.farms]
    judged = [*farms, *((site, domain_of(site) or site) for site in chance.sample(world.sites, 2))]
    retired = tuple(farm for farm in world.farms if chance.random() < 0.3)
    return written({site: 0.95 for site, _ in judged}, {domain: 0.95 for _, domain in judged}, retired)


def _mirrors(world: MeetingWorld, chance: Random) -> bytes:
    rules = tuple(HostRule(mirror, "/", other, "/") for mirror, other in world.mirrors.items())
    parked = tuple(domain_of(farm) or farm for farm in world.farms if chance.random() < 0.5)
    return encode_hosts(LearntHosts(rules if chance.random() < 0.8 else (), parked))


def _dust(world: MeetingWorld, chance: Random) -> bytes:
    rules = [
        GivenRule(site, "drop-param", "ref", state=chance.choice(("accepted", "given")))
        for site in world.sites
        if "variants" in site or "facets" in site
    ]
    return write_rule_file(RuleFile(tuple(rules)))
