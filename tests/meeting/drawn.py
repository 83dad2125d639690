"""What a seed chooses: settings of every part, and what happens to the crawl.

Each part of the settings is drawn by a function of its own, from a generator of its own: a new part leaves the settings
of the others as they were, so that the seeds of failures that were found stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from tests.meeting.world import TOPIC, MeetingWorld

from periplus.collection.config.settings import Config
from periplus.model import Url
from periplus.parts.focus.ordering import focused_orderings
from periplus.parts.targets.ordering import TARGETS
from periplus.policy.ordering import orderings

Options = dict[str, object]

JUMPS: Final = (0.0, 0.0, 0.0, 3.0, -3.0, 3600.0, -3600.0, 40 * 86_400.0, -40 * 86_400.0)
"""Seconds by which the clock of a process is wrong."""


class Stage(Struct, frozen=True):
    """A part of a run: `crawl`, `refresh` or `watch`, with deaths after so many inputs of the state machine each.

    `shards`: how many there are from then on. `hours` of a watch. `with_jobs`: jobs run over the tables before.
    """

    kind: str
    deaths: tuple[int, ...] = ()
    shards: int = 1
    hours: float = 0.0
    with_jobs: bool = False


class Plan(Struct, frozen=True):
    """What a seed has chosen for a whole run.

    `events`: the chance that something happens at a step, such as a push, a change of the controls or a learnt file.
    `steps`: how many seconds the crawl may wait at a time. `stops_after`: a person stops the crawl after so many
    steps, and begins it again; 0: never.
    """

    seed: int
    config: Config
    seeds: tuple[Url, ...]
    slots: int
    stages: tuple[Stage, ...]
    events: float
    stalls: float
    jumps: tuple[float, ...]
    stops_after: int

    @property
    def has_limit(self) -> bool:
        """Whether the crawl may end before everything was fetched."""
        return bool(self.config.crawl.limit or self.config.crawl.max_bytes)


def _politeness(chance: Random) -> Options:
    return {
        "politeness.delay": chance.choice((0.0, 0.0, 0.5, 1.0, 2.0)),
        "politeness.slow_factor": chance.choice((0.0, 1.0, 5.0)),
        "politeness.ip_delay": chance.choice((-1.0, 0.0, 0.3, 1.0)),
        "politeness.max_parallel": chance.choice((1, 1, 2, 3, 8, 16)),
        "politeness.pages_per_visit": chance.choice((1, 1, 1, 3, 10)),
        "politeness.max_bytes_per_site": chance.choice((100 * 2**30, 100 * 2**30, 30_000)),
        "politeness.lease": chance.choice((120.0, 300.0)),
    }


def _retries(chance: Random) -> Options:
    return {
        "retries.max_attempts": chance.choice((1, 2, 3, 3)),
        "retries.backoff": chance.choice((1.0, 10.0)),
        "retries.max_backoff": chance.choice((30.0, 300.0)),
        "retries.max_site_failures": chance.choice((3, 12, 12)),
    }


def _ordering(chance: Random) -> Options:
    if chance.random() < 0.2:
        return {
            "crawl.ordering": chance.choice(focused_orderings()),
            "topic.words": TOPIC,
            "topic.explore": chance.choice((0.0, 0.05, 0.3)),
        }
    name = chance.choice([name for name in orderings() if name != "optimal"] + ["breadth_first"] * 4)
    options: Options = {"crawl.ordering": name}
    if name in ("batch", "partial", "rankmass", "rankmass_windowed"):
        options["ordering.every"] = chance.choice((5, 20, 100))
    if name == "opic_adaptive":
        options["ordering.window"] = chance.choice((10, 100))
    return options


def _bounds(chance: Random) -> Options:
    return {
        "scope.kind": chance.choice(("any", "any", "any", "domain", "host")),
        "budgets.max_depth": chance.choice((1000, 1000, 1000, 2)),
        "budgets.max_pages_per_site": chance.choice((1_000_000, 1_000_000, 1_000_000, 12)),
        "budgets.domain": chance.choice(("trust", "trust", "star", "networks", "none")),
        "budgets.base": chance.choice((2, 4, 10)),
        "budgets.seed_budget": chance.choice((0, 0, 3)),
        "budgets.hosts": chance.choice((2, 64)),
        "budgets.patience": chance.choice((0.0, 5.0)),
        "budgets.spam_share": chance.choice((0.05, 0.5)),
        "crawl.limit": chance.choice((0, 0, 0, 0, 0, 0, 0, 15)),
        "crawl.max_bytes": chance.choice((0, 0, 0, 0, 0, 0, 0, 40_000)),
        "crawl.rate": chance.choice((0.0, 0.0, 0.0, 2.0)),
        "frontier.max_sites": chance.choice((50_000, 50_000, 3, 1)),
        "crawl.random_seed": chance.randrange(100),
    }


def _judges(chance: Random) -> Options:
    return {
        "absence.enabled": chance.random() < 0.85,
        "absence.max_probes": chance.choice((1, 2, 2)),
        "cloaking.enabled": chance.random() < 0.5,
        "cloaking.share": chance.choice((0.01, 1.0, 1.0)),
        "cloaking.first_after": chance.choice((1, 3, 10)),
        "mirrors.enabled": chance.random() < 0.8,
        "mirrors.probing": chance.choice((0.0, 0.02, 0.5)),
        "spam.enabled": chance.random() < 0.8,
        "spam.while_crawling": True,
    }


def _dust(chance: Random) -> Options:
    if chance.random() < 0.3:
        return {"dust.enabled": chance.random() < 0.5}
    return {
        "dust.accept": 0.3, "dust.accept_varied": 0.4, "dust.accept_unknown": 0.5, "dust.withdraw": 0.2,
        "dust.probe": chance.choice((0.0, 0.05, 0.5)), "dust.min_templates": 1, "dust.new_pairs": 2,
        "traps.window": chance.choice((8, 50)), "traps.chain_pages": chance.choice((8, 20)),
    }  # fmt: skip


def _forms(chance: Random) -> Options:
    return {
        "forms.enabled": chance.choice(("never", "discover", "submit", "submit")),
        "forms.interval": chance.choice((0.0, 5.0)),
        "forms.max_requests": chance.choice((5, 40)),
        "forms.requests_per_day": chance.choice((4, 500)),
    }


def _sitemaps(chance: Random) -> Options:
    return {
        "sitemaps.follow": chance.random() < 0.85,
        "sitemaps.well_known": chance.random() < 0.7,
        "sitemaps.feeds": chance.random() < 0.7,
        "sitemaps.llms_txt": chance.random() < 0.2,
        "sitemaps.only": chance.random() < 0.04,
        "balance.first_epoch": chance.choice((2, 20)),
        "reading.follow_links": chance.random() < 0.95,
        "reading.remembered_links": chance.choice((200_000, 10)),
    }


def _rendering(chance: Random) -> Options:
    return {"render.mode": chance.choice(("never", "never", "when-needed", "always")), "render.tests": 2}


def _media(chance: Random) -> Options:
    if chance.random() < 0.93:
        return {"media.pdf": chance.random() < 0.3}
    options: Options = {"media.types": ["image/*"], "media.html": chance.random() < 0.7}
    if chance.random() < 0.5:  # the ordering of such crawls instead of the one that was drawn
        options |= {"crawl.ordering": TARGETS, "topic.words": "", "ordering.every": 0, "ordering.window": 0}
    return options


def _permissions(chance: Random) -> Options:
    return {"permissions.ledger": chance.random() < 0.3}


def _requisites(chance: Random) -> Options:
    return {
        "requisites.enabled": chance.random() < 0.3,
        "requisites.max_per_page": chance.choice((2, 500)),
        "requisites.max_bytes_per_page": chance.choice((100, 100 * 2**20)),
    }


def _storage(chance: Random) -> Options:
    return {
        "engine.checkpoint_interval": chance.choice((2.0, 20.0, 60.0)),
        "engine.checkpoint_outcomes": chance.choice((10, 100, 2000)),
        "tables.rows_per_group": chance.choice((10, 50)),
        "tables.rows_per_file": chance.choice((40, 400)),
        "refresh.shortest": 900.0,
        "refresh.longest": 6 * 3600.0,
        "refresh.explore_share": chance.choice((0.0, 0.03)),
    }


PARTS: Final[dict[str, Callable[[Random], Options]]] = {
    "politeness": _politeness, "retries": _retries, "ordering": _ordering, "bounds": _bounds, "judges": _judges,
    "dust": _dust, "forms": _forms, "sitemaps": _sitemaps, "rendering": _rendering, "media": _media,
    "storage": _storage, "requisites": _requisites, "permissions": _permissions,
}  # fmt: skip
"""All parts of the settings that are drawn."""


def config_of(seed: int) -> Config:
    """The settings of a seed."""
    options: Options = {}
    for name, draw in PARTS.items():
        options |= draw(Random(f"meeting {name} {seed}"))
    config = Config().with_options(options)
    config.check()
    return config


def plan_of(seed: int, world: MeetingWorld) -> Plan:
    """The plan of a run."""
    config, chance = config_of(seed), Random(f"meeting plan {seed}")
    homes = world.homes if config.scope.kind != "any" else world.homes[: chance.choice((1, 1, 3))]
    return Plan(
        seed,
        config,
        tuple(homes),
        chance.choice((1, 4, 16, 64)),
        tuple(
            replace(stage, with_jobs=Random(f"meeting jobs {seed} {place}").random() < 0.3)
            for place, stage in enumerate(_stages(chance, config))
        ),
        chance.choice((0.0, 0.02, 0.1)),
        chance.choice((0.0, 0.0, 0.01)),
        chance.choice(((0.0,), (0.0,), JUMPS)),
        chance.choice((0, 0, 0, 40)),
    )


def _deaths(chance: Random) -> tuple[int, ...]:
    count = chance.choice((0, 0, 1, 2, 3))
    return tuple(chance.choice((chance.randint(1, 30), chance.randint(1, 300))) for _ in range(count))


def _stages(chance: Random, config: Config) -> tuple[Stage, ...]:
    shards = chance.choice((1, 1, 1, 2, 3))
    stages = [Stage("crawl", _deaths(chance), shards)]
    if chance.random() < 0.25:  # a crawl that was stopped early is resized, and goes on
        shards = chance.choice((1, 2, 3))
        stages.append(Stage("crawl", _deaths(chance), shards))
    extra = chance.random()
    if config.media.types or config.value("sitemaps.only"):
        return tuple(stages)
    if extra < 0.2:
        stages.append(Stage("refresh", _deaths(chance), shards))
    elif extra < 0.4:
        stages.append(Stage("watch", _deaths(chance), shards, chance.choice((1.0, 3.0))))
    return tuple(stages)
