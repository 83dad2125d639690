"""A robots.txt that redirects to a site of another shard: asked there, in turn, and answered by a message.

Frontiers of several shards run in virtual time on one web; messages between them are carried by the test, which may
hold them back, lose the answers of a shard, or deliver them twice.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise

import pytest
from tests.engine.frontier.opened_frontier import FrontierOptions, OpenedFrontier
from tests.properties.simulated_web import RobotsReply, ScriptedRobots
from tests.reference.event_sink import MemoryEventSink

from periplus.engine.frontier import Frontier, PolitenessSettings, RetrySettings
from periplus.engine.frontier.politeness import NO_ANSWER, reason_of
from periplus.engine.frontier.preflight import ANSWER_TIMEOUT
from periplus.engine.router import owner_of
from periplus.model import Delegation, Discovery, FetchTask, Purpose, RobotsAnswer, Site, Source, Url
from periplus.store import MemoryState
from periplus.urls import site_of

START = 1_000_000.0
SHARDS = 3
BY_SHARD = [[f"s{n}.test" for n in range(60) if owner_of(Site(f"s{n}.test"), SHARDS) == shard] for shard in range(3)]
"""Names of hosts, by the shard that has them."""
FORBIDS = "User-agent: *\nDisallow: /\n"
A, B, C = (names[0] for names in BY_SHARD)


def robots(site: str) -> str:
    return f"https://{site}/robots.txt"


class Shards:
    """Frontiers of three shards on one web. `is_lost`: whether a message to a shard never arrives."""

    def __init__(self, answers: dict[str, list[RobotsReply]], delay: float = 1.0) -> None:
        self.world = ScriptedRobots(60, 1, answers)
        self.states = [MemoryState() for _ in range(SHARDS)]
        self.options = [
            FrontierOptions(
                events=MemoryEventSink(),
                politeness=PolitenessSettings(delay=delay, slow_factor=0.0, pages_per_visit=1),
                retries=RetrySettings(),
            )
            for _ in range(SHARDS)
        ]
        self.opened = [OpenedFrontier(*each) for each in zip(self.states, self.options, strict=True)]
        self.now = START
        self.starts: list[tuple[float, int, FetchTask]] = []
        self.answers = 0
        self.is_lost: Callable[[int, Delegation | RobotsAnswer], bool] = lambda *_: False
        self.times = 1
        for number in range(SHARDS):
            self._share(number)

    def _share(self, number: int) -> None:
        self.frontier(number).preflight.share_sites(lambda site: owner_of(site, SHARDS) != number)

    def frontier(self, number: int) -> Frontier:
        return self.opened[number].frontier

    def seed(self, *sites: str) -> None:
        for site in sites:
            seed = Discovery(Url(f"https://{site}/0"), Source.SEED, self.now)
            self.frontier(owner_of(Site(site), SHARDS)).discover([seed], self.now)

    def restart(self, number: int) -> None:
        """The process of a shard ends after a commit, and another continues."""
        committed = self.opened[number].commit()
        self.opened[number] = OpenedFrontier(self.states[number], self.options[number], committed)
        self._share(number)
        self.frontier(number).restart(self.now)

    def step(self, number: int) -> None:
        """One turn of a shard: what it asks is answered at once, messages arrive at once."""
        frontier = self.frontier(number)
        for task in frontier.take(8, self.now):
            self.starts.append((self.now, number, task))
            frontier.report(self.world.answer(task, self.now), self.now)
        frontier.check_invariants()
        self._carry(number)

    def _carry(self, number: int) -> None:
        """Deliver what a shard has for others."""
        asked, answers = self.frontier(number).drain_robots()
        for wanted in asked:
            self._deliver(owner_of(site_of(wanted.url), SHARDS), wanted)
        for answer in answers:
            self._deliver(owner_of(answer.outcome.task.site, SHARDS), answer)

    def _deliver(self, to: int, message: Delegation | RobotsAnswer) -> None:
        for _ in range(0 if self.is_lost(to, message) else self.times):
            if isinstance(message, Delegation):
                self.frontier(to).robots_asked(message, self.now)
            else:
                self.answers += self.frontier(to).robots_answered(message, self.now) is not None
            self._carry(to)

    def run(self, turns: int = 3_000) -> None:
        for _ in range(turns):
            if all(self.frontier(number).is_idle for number in range(SHARDS)):
                return
            for number in range(SHARDS):
                self.step(number)
            times = [at for number in range(SHARDS) if (at := self.frontier(number).next_at) is not None]
            self.now = max(self.now, min(times, default=self.now + 1.0)) + 1e-3
        raise AssertionError("it does not end")

    def reason(self, site: str) -> str:
        [record] = self.states[owner_of(Site(site), SHARDS)].records.of_site(Site(site))
        return record.reason

    def file(self, site: str) -> str:
        found = self.states[owner_of(Site(site), SHARDS)].robots.get(Site(site))
        assert found is not None
        return found.reason

    def check_owners(self) -> None:
        """Each host is only asked by its own shard, and rests in between."""
        times: dict[Site, list[float]] = defaultdict(list)
        for at, number, task in self.starts:
            assert owner_of(site_of(task.url), SHARDS) == number, task.url
            if task.ip is not None:
                times[site_of(task.url)].append(at)
        assert all(after - before >= 1.0 for each in times.values() for before, after in pairwise(each))

    def asked(self, site: str) -> int:
        """Requests for a robots.txt at a site."""
        return sum(
            site_of(task.url) == site and task.purpose is Purpose.ROBOTS and task.ip is not None
            for _, _, task in self.starts
        )


def crawl_of(answers: dict[str, list[RobotsReply]], *seeds: str) -> Shards:
    shards = Shards(answers)
    shards.seed(*seeds)
    shards.run()
    shards.check_owners()
    return shards


def test_rules_of_another_shards_site_hold_for_the_site_that_sent_us() -> None:
    """And not for the site where they are, which has its own."""
    shards = crawl_of({robots(A): [f"https://{B}/common.txt"], f"https://{B}/common.txt": [FORBIDS]}, A, B)
    assert (shards.reason(A), shards.reason(B)) == ("robots", "")
    assert shards.answers == 1


def test_a_chain_over_all_shards_is_followed_for_five_redirects() -> None:
    """Also where it comes back to the shard that it began at; the sixth redirect means that there are no rules."""
    ways = [B, C, BY_SHARD[0][1], B, C]
    answers: dict[str, list[RobotsReply]] = {robots(A): [f"https://{ways[0]}/0.txt"]}
    for place, (here, there) in enumerate(pairwise(ways)):
        answers[f"https://{here}/{place}.txt"] = [f"https://{there}/{place + 1}.txt"]
    answers[f"https://{C}/4.txt"] = [FORBIDS]
    assert crawl_of(answers, A).reason(A) == "robots"
    answers[f"https://{C}/4.txt"] = [f"https://{B}/5.txt"]
    answers[f"https://{B}/5.txt"] = [FORBIDS]
    shards = crawl_of(answers, A)
    assert (shards.reason(A), shards.file(A)) == ("", "too-many-redirects")


def test_sites_of_several_shards_that_redirect_to_each_other_do_not_wait_forever() -> None:
    """Each is held for the next, and still answers the one before."""
    ring: dict[str, list[RobotsReply]] = {
        robots(A): [robots(B)], robots(B): [robots(C)], robots(C): [robots(A)],
    }  # fmt: skip
    shards = crawl_of(ring, A, B, C)
    assert [shards.file(site) for site in (A, B, C)] == ["too-many-redirects"] * 3


def test_a_site_that_many_shards_need_is_asked_in_turn() -> None:
    """Its delay is kept, whichever shard the question comes from."""
    others = [site for shard in BY_SHARD for site in shard if site != B][:30]
    answers: dict[str, list[RobotsReply]] = {robots(site): [f"https://{B}/common.txt"] for site in others}
    shards = crawl_of({**answers, f"https://{B}/common.txt": [FORBIDS]}, *others)
    assert {shards.reason(site) for site in others} == {"robots"}
    assert shards.asked(B) == 30


def test_a_site_that_cannot_be_reached_is_reported_once() -> None:
    """The shard that has it gives it up; the site that sent us there is not asked again for that."""
    gone = next(f"gone{n}.test" for n in range(99) if owner_of(Site(f"gone{n}.test"), SHARDS) == 1)
    shards = crawl_of({robots(A): [robots(gone)]}, A)
    assert (shards.reason(A), shards.file(A)) == ("robots-unreachable", "dns-not-found")
    assert shards.asked(A) == 1


def test_a_failure_there_is_tried_again_from_the_beginning() -> None:
    """As for a file at the same shard: three attempts, the last of which returns the rules."""
    far = f"https://{B}/common.txt"
    shards = crawl_of({robots(A): [far], far: [503, 503, FORBIDS]}, A)
    assert shards.reason(A) == "robots"
    assert shards.asked(A) == 3


@pytest.mark.parametrize("number", range(SHARDS))
def test_a_process_that_ends_in_between_costs_nothing(number: int) -> None:
    """Questions and answers are part of the state, once they have arrived."""
    answers: dict[str, list[RobotsReply]] = {
        robots(A): [f"https://{B}/1.txt"],
        f"https://{B}/1.txt": [f"https://{C}/2.txt"],
    }
    shards = Shards({**answers, f"https://{C}/2.txt": [FORBIDS]})
    shards.seed(A)
    while not all(shards.frontier(each).is_idle for each in range(SHARDS)):
        for each in range(SHARDS):
            shards.step(each)
        shards.restart(number)
        shards.now += 2.0
    shards.check_owners()
    assert shards.reason(A) == "robots"


def test_messages_that_come_twice_change_nothing() -> None:
    """A question that waits, or is being answered, is not asked again; a second answer is not waited for."""
    far = f"https://{B}/common.txt"
    shards = Shards({robots(A): [far], far: [FORBIDS]})
    shards.times = 2
    shards.seed(A)
    shards.run()
    assert (shards.reason(A), shards.answers, shards.asked(B)) == ("robots", 1, 1)


def test_a_shard_that_does_not_answer_is_waited_for_three_times_and_no_longer() -> None:
    """Then the site cannot be asked, for that reason; a process that restarts waits as long again."""
    shards = Shards({robots(A): [robots(B)]})
    shards.is_lost = lambda to, _message: to == 1
    shards.seed(A)
    shards.run()
    assert (shards.reason(A), shards.file(A)) == ("robots-unreachable", NO_ANSWER)
    assert shards.asked(A) == 3
    assert 3 * ANSWER_TIMEOUT <= shards.now - START < 4 * ANSWER_TIMEOUT


def test_an_answer_that_comes_too_late_is_dropped_and_the_next_one_counts() -> None:
    """The question is sent again after the first wait."""
    far = f"https://{B}/common.txt"
    shards = Shards({robots(A): [far], far: [FORBIDS]})
    late: list[RobotsAnswer] = []

    def is_lost(_to: int, message: Delegation | RobotsAnswer) -> bool:
        if isinstance(message, RobotsAnswer) and not late:
            late.append(message)
            return True
        return False

    shards.is_lost = is_lost
    shards.seed(A)
    shards.run()
    assert shards.reason(A) == "robots"
    assert shards.frontier(0).robots_answered(late[0], shards.now) is None
    assert shards.asked(B) == 2


def test_a_shard_that_has_spent_its_pages_still_answers() -> None:
    """Its own pages stay where they are, before and after."""
    far = f"https://{B}/common.txt"
    shards = Shards({robots(A): [far], far: ["User-agent: *\nDisallow: /no\n"]})
    shards.frontier(1).page_budget = 0
    shards.seed(A, *BY_SHARD[1][:5])
    for _ in range(200):
        for number in range(SHARDS):
            shards.step(number)
        shards.now += 0.5
    shards.check_owners()
    assert shards.reason(A) == ""
    pages = [site_of(task.url) for _, _, task in shards.starts if task.purpose is Purpose.PAGE]
    assert pages == [A]
    assert shards.frontier(1).next_at is None
    assert shards.frontier(1).is_idle


def test_questions_wait_for_the_next_crawl_once_all_pages_are_fetched() -> None:
    """A crawl with a limit does not go on for a queue of questions whose answers nothing needs."""
    shards = Shards({})
    shards.frontier(1).page_budget = 0
    questions(shards, 5)
    shards.now += 2.0
    [task] = shards.frontier(1).take(8, shards.now)  # the address
    shards.frontier(1).report(shards.world.answer(task, shards.now), shards.now)
    shards.frontier(1).is_spent = True
    shards.restart(1)
    shards.now += 100.0
    assert shards.frontier(1).take(8, shards.now) == []
    assert shards.frontier(1).next_at is None
    assert shards.frontier(1).is_idle
    shards.frontier(1).is_spent = False
    for _ in range(20):
        shards.step(1)
        shards.now += 2.0
    assert shards.asked(B) == 5


def questions(shards: Shards, count: int) -> None:
    """Many sites of other shards ask for one file."""
    names = [Site(f"q{number}.test") for number in range(2 * count)]
    others = [name for name in names if owner_of(name, SHARDS) != 1][:count]
    assert len(others) == count
    for name in others:
        shards.frontier(1).robots_asked(Delegation(name, Url(f"https://{B}/common.txt"), 1), shards.now)


def test_many_questions_for_one_site_cost_no_more_each_than_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their number is not looked through for each of them: sites of a farm may all lead to one host."""
    monkeypatch.setattr("periplus.engine.frontier.preflight.MAX_QUESTIONS", 100_000)

    def seconds(count: int) -> float:
        shards, began = Shards({}), time.process_time()
        questions(shards, count)
        return time.process_time() - began

    assert seconds(16_000) < 32 * seconds(2_000)


def test_questions_that_cannot_be_answered_in_time_are_failed_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that waits already keeps its place, and none of the waiting ones is lost."""
    monkeypatch.setattr("periplus.engine.frontier.preflight.MAX_QUESTIONS", 50)
    shards = Shards({})
    questions(shards, 60)
    questions(shards, 50)
    asked, answers = shards.frontier(1).drain_robots()
    assert not asked
    assert [(reason_of(each.outcome), each.is_final) for each in answers] == [(NO_ANSWER, False)] * 10
    there = shards.frontier(1).schedule.get(Site(B))
    assert there is not None
    assert len(there.delegated) == 50
    shards.frontier(1).check_invariants()
