"""The hostile web of the lab: the link farm, the comments that lead to it, and the truth about both."""

from __future__ import annotations

import re

import pytest

from periplus.urls import domain_of
from periplus_lab import Request
from periplus_lab.spam_web import Farm, HostileWorld
from periplus_lab.spam_web.farm import DOMAINS
from periplus_lab.world import World

_HREF = re.compile(rb'<a href="http://([^/"]+)')


@pytest.fixture(scope="module")
def world() -> HostileWorld:
    return HostileWorld(7, 60, pages=600, parts=(Farm,))


def hosts_linked(world: World, host: str, target: str) -> set[str]:
    answer = world.answer(Request("GET", host, target, (), world.epoch))
    assert answer.status == 200
    assert isinstance(answer.body, bytes)
    return {found.decode() for found in _HREF.findall(answer.body)}


def test_farm_has_domains_without_end(world: HostileWorld) -> None:
    """400 registrable domains on five addresses; every page names hosts that were never named, all of them farm."""
    farm = [host for host in world.hosts if world.is_spam(host)]
    assert len({domain_of(host, ("lab.test",)) for host in farm}) == DOMAINS
    assert len({world.address(host) for host in farm}) == 5
    first = hosts_linked(world, farm[0], "/")
    assert len({host for host in first if host.endswith("." + farm[0])}) >= 8
    assert all(world.is_spam(host) for host in first)
    deeper = hosts_linked(world, min(first), "/any/page.html")
    assert len(deeper - first) >= 8
    assert all(world.is_spam(host) for host in deeper)


def test_comments_lead_to_the_farm_from_one_site_in_twenty(world: HostileWorld) -> None:
    """Pages of 5 % of the honest sites have links to the farm; honest hosts are not spam."""
    leading = set()
    for site in world.sites():
        for url in world.urls(site.host, world.epoch):
            if any(world.is_spam(link.split("/")[2]) for link in world.links(url, world.epoch)):
                leading.add(site.host)
                break
    assert len(leading) == round(len(world.sites()) * 0.05)
    assert not any(world.is_spam(host.name) for host in world.names())


def test_without_parts_the_web_is_honest(world: HostileWorld) -> None:
    """The same seed without the farm gives the same honest pages as the plain world."""
    plain = World(7, 60, pages=600)
    quiet = HostileWorld(7, 60, pages=600, parts=())
    host = world.sites()[3].host
    assert quiet.content(f"http://{host}/", world.epoch) == plain.content(f"http://{host}/", world.epoch)
    assert not list(world.mirrors())
    assert not list(world.renames())
    assert not world.is_cloaked(f"http://{host}/")
    assert not world.is_error(f"http://{host}/")
