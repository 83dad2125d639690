"""Sites that were judged to be spam get a share of the requests while others have pages waiting."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.engine.frontier.scheduled_sites import ScheduledSites

from periplus.engine.frontier import Discounts, Domains, PassState, SiteStage
from periplus.engine.frontier.domains import MAX_DISCOUNTED_SITES
from periplus.model import Delegation, Site, Url
from periplus.policy.filters import BudgetSettings
from periplus.store import MemoryState

IP = "192.0.2.1"
SHARE = 0.1


class Tenths(Discounts):
    """Gives domains a tenth of their budgets."""

    def __init__(self, names: Iterable[str]) -> None:
        self.is_empty = False
        self._names = frozenset(names)

    def budget(self, domain: str) -> float:
        return 0.1 if domain in self._names else 1.0


class JudgedSites(ScheduledSites):
    """A schedule in which the domains spam-0.test, spam-1.test and so on are spam. Its sites are asked one by one."""

    def __init__(self, ip_delay: float = 0.0) -> None:
        self.passes = PassState(number=0)
        self.now = 0.0
        super().__init__(ip_delay=ip_delay, open_domains=self._judged)

    def _judged(self, state: MemoryState) -> Domains:
        domains = Domains(state.domains, BudgetSettings(base=1000, spam_share=SHARE), saved=self.passes)
        domains.discounts = Tenths(f"spam-{number}.test" for number in range(2 * MAX_DISCOUNTED_SITES))
        return domains

    def ask(self, delay: float = 1.0) -> str | None:
        """The site that is asked next; it rests for `delay` seconds. `None`: no site may be asked now."""
        self.now += 0.01
        active = self.schedule.pop_ready(self.now)
        if active is None:
            return None
        self.grant(active, self.now)
        self.end(active, self.now + delay)
        self.schedule.check_invariants()
        return active.site

    def reopen(self) -> None:
        """Another process continues, with the pass and the credit that were committed."""
        self.passes = self.schedule.domains.state
        super().reopen()

    def asked(self, times: int, delay: float = 1.0) -> list[str]:
        """The sites that were asked in this many attempts."""
        return [site for _ in range(times) if (site := self.ask(delay)) is not None]


def spam_in(sites: Iterable[str]) -> int:
    return sum(site.startswith("spam") for site in sites)


@pytest.fixture
def sites() -> JudgedSites:
    """One good site and 20 of spam, each with a page."""
    sites = JudgedSites()
    sites.put("good.test")
    for number in range(20):
        sites.put(f"spam-{number}.test")
    return sites


def test_spam_gets_its_share_while_another_site_rests(sites: JudgedSites) -> None:
    """The good site is asked once in a while; requests that it leaves over do not go to spam."""
    asked = sites.asked(6_000, delay=0.05)
    assert len(asked) > 500
    assert 0 < spam_in(asked) <= SHARE * len(asked) + 1


def test_spam_has_every_request_once_nothing_else_is_left(sites: JudgedSites) -> None:
    """The good site has no pages any more: the others are asked at once, and do not end their rest first."""
    assert sites.ask() == "good.test"
    assert sites.ask() is None
    good = sites.schedule.get(Site("good.test"))
    assert good is not None
    sites.grant(good, sites.now)
    sites.empty(good, sites.now)
    assert spam_in(sites.asked(10)) == 10


def test_spam_does_not_keep_its_address_from_others() -> None:
    """One site of an address is ready at a time: a site of spam that waits makes room for a neighbour."""
    sites = JudgedSites(ip_delay=0.5)
    for number in range(5):
        sites.put(f"spam-{number}.test", IP)
    sites.put("neighbour.test", IP, ready_at=0.005)
    sites.put("good.test")
    assert "neighbour.test" in sites.asked(60)


def test_robots_txt_that_a_good_site_waits_for_does_not_wait(sites: JudgedSites) -> None:
    """A site of spam that is asked for another's robots.txt is asked at once."""
    assert sites.ask() == "good.test"
    spam = sites.schedule.get(Site("spam-3.test"))
    assert spam is not None
    sites.schedule.rest(spam, 0.0)
    wanted = Delegation(Site("good.test"), Url("https://spam-3.test/robots.txt"), 1)
    spam.delegated[wanted.wanted_by] = wanted
    assert sites.ask() == "spam-3.test"


def test_credit_survives_a_restart(sites: JudgedSites) -> None:
    """The same sites are asked by a process that continues, and by one that was not interrupted."""
    other = JudgedSites()
    other.put("good.test")
    for number in range(20):
        other.put(f"spam-{number}.test")
    assert sites.asked(1_500, delay=0.05) == other.asked(1_500, delay=0.05)
    sites.reopen()
    assert sites.schedule.domains.state == other.schedule.domains.state
    assert sites.asked(1_500, delay=0.05) == other.asked(1_500, delay=0.05)


def test_excess_spam_gives_up_its_place() -> None:
    """Sites that were admitted before they were judged do not fill the memory, and have a place again later."""
    sites = JudgedSites()
    domains = sites.schedule.domains
    spam, domains.discounts = domains.discounts, Discounts()
    sites.put("good.test")
    for number in range(MAX_DISCOUNTED_SITES + 30):
        sites.put(f"spam-{number}.test")
    domains.discounts = spam
    domains.appraise_again()
    sites.schedule.reorder()
    assert sites.ask() == "good.test"
    assert sites.ask() is None
    assert len(sites.schedule) == 1 + MAX_DISCOUNTED_SITES
    good = sites.schedule.get(Site("good.test"))
    assert good is not None
    sites.grant(good, sites.now)
    sites.empty(good, sites.now)
    asked: set[str] = set()
    while len(asked) < MAX_DISCOUNTED_SITES + 30 and sites.now < 1000:
        sites.now += 0.5
        sites.schedule.admit_waiting(sites.now)
        while (active := sites.schedule.pop_ready(sites.now)) is not None:
            sites.grant(active, sites.now)
            sites.empty(active, sites.now)
            asked.add(active.site)
    assert len(asked) == MAX_DISCOUNTED_SITES + 30


def test_verdict_changes_the_count_of_active_sites() -> None:
    """A site that was admitted as any other waits once its domain was judged, and does not once it was acquitted."""
    sites = JudgedSites()
    late = sites.put("late.test")
    sites.put("good.test")
    assert {sites.ask(), sites.ask()} == {"late.test", "good.test"}
    domains = sites.schedule.domains
    domains.discounts = Tenths(["late.test"])
    domains.appraise_again()
    sites.schedule.rest(late, 0.0)
    sites.schedule.reorder()
    assert sites.ask() is None
    assert late.stage is SiteStage.RESTING
    domains.discounts = Discounts()
    domains.appraise_again()
    sites.schedule.rest(late, 0.0)
    assert sites.ask() == "late.test"
