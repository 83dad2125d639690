"""What a machine does first in a new process."""

from __future__ import annotations

from pathlib import Path

import pytest

from periplus.collection.config.settings import Config
from periplus.collection.seeds import seeds_from
from periplus.collection.shards import ShardMaker, open_machine
from periplus.engine.inputs import Discovered, Effect, Fetch, Granted, Learnt, Restarted
from periplus.engine.links import LinkMemory
from periplus.engine.machine import Machine
from periplus.engine.pipeline import PagePipeline
from periplus.model import Discovery, Site, Source, Url
from periplus.parts.dust.given import GivenRule, RuleFile, write_rule_file
from periplus.parts.spam.scores import written
from periplus.store import LearntFiles, MemoryState, SiteState
from periplus.store.layout import Layout

SEEDS = ("http://a.test/", "http://b.test/")
IP_DELAY = 2.0


@pytest.fixture
def maker(tmp_path: Path) -> ShardMaker:
    options = {"politeness.ip_delay": IP_DELAY, "politeness.delay": 0.5, "frontier.max_sites": 1}
    return ShardMaker(Config().with_options(options), tmp_path, tuple(seeds_from(SEEDS)))


def opened(maker: ShardMaker, state: MemoryState) -> Machine:
    return open_machine(maker, Layout(maker.folder), 0, 1, state)


def asked(effects: list[Effect]) -> list[Site]:
    return [effect.task.site for effect in effects if isinstance(effect, Fetch)]


def test_sites_that_were_not_active_rest_as_well(maker: ShardMaker) -> None:
    """Of two sites one is active: after a restart neither is asked before the pause between requests to an address.

    The other becomes active when the first leaves; and a process that is opened later knows of the pause, too.
    """
    state = MemoryState()
    machine = opened(maker, state)
    machine.apply(Discovered(tuple(Discovery(Url(url), Source.SEED, 10.0) for url in SEEDS), 10.0))
    state.put_meta(machine.flush())
    (visits,) = state.visits
    state.visits.remove([visits.site])  # as when the number of shards has changed: all sites are parked
    machine = opened(maker, state)
    machine.apply(Restarted(100.0))
    assert asked(machine.apply(Granted(9, 100.0))) == []
    state.put_meta(machine.flush())
    machine = opened(maker, state)
    assert asked(machine.apply(Granted(9, 99.0 + IP_DELAY))) == []
    assert len(asked(machine.apply(Granted(9, 100.0 + IP_DELAY)))) == 1
    machine.check_invariants()


def test_rules_that_were_learnt_before_forget_no_links(maker: ShardMaker) -> None:
    """A machine that is opened again has its rules for duplicate URLs, and the links that it had seen under them."""
    rules = RuleFile((GivenRule("a.test", "drop-param", "ref"),))
    LearntFiles(Layout(maker.folder).learnt).write("dust", write_rule_file(rules))
    state = MemoryState()
    machine = opened(maker, state)
    machine.apply(Learnt("dust", 1, 10.0))
    links = recent_links(machine)
    links.add_all([Url("http://a.test/seen")])
    state.put_meta(machine.flush())
    assert recent_links(opened(maker, state)).young == {"http://a.test/seen"}
    machine.apply(Learnt("dust", 1, 20.0))
    assert not links.young  # news of rules: what was seen may be wanted by another name


def recent_links(machine: Machine) -> LinkMemory:
    pipeline = machine._pipeline
    assert isinstance(pipeline, PagePipeline)
    return pipeline._reader._seen


def test_hosts_are_retired_by_news_of_spam_alone(maker: ShardMaker) -> None:
    """A machine that is opened again knows what was learnt, and retires no host that its predecessor visited since."""
    content = written({"a.test": 0.99}, {"a.test": 0.99}, ("a.test",))
    LearntFiles(Layout(maker.folder).learnt).write("spam", content)
    state = MemoryState()
    machine = opened(maker, state)
    machine.apply(Learnt("spam", 1, 10.0))
    state.put_meta(machine.flush())
    state.sites.put([SiteState(Site("a.test"), pages=1)])
    machine = opened(maker, state)
    assert machine._records.get(Site("a.test")).retired == ""
    machine.apply(Learnt("spam", 1, 20.0))
    assert machine._records.get(Site("a.test")).retired == "spam"
