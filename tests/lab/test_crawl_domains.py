"""Crawls of a web in which names cost nothing: hosts of a domain are bounded, and good sites are complete."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.crawling import as_domains, crawl, rows, standing

from periplus.policy.domain_budgets import pass_of
from periplus_lab import Answer, Request
from periplus_lab.spam_web import HostileWorld, Nuisance

TRAP, GOOD = "trap.lab.test", "island.lab.test"
PAGES = 150
_HTML = (("Content-Type", "text/html; charset=utf-8"),)


class Subdomains(Nuisance):
    """Every page of a domain links to hosts that were never named; beside it a good site, linked once."""

    hosts = (TRAP, GOOD)
    pages = PAGES

    def answer(self, request: Request) -> Answer | None:
        """Links to ten new hosts; of the good site to the next page."""
        host, target = request.host, request.target
        if host != GOOD and not host.endswith(TRAP):
            return None
        if target == "/robots.txt":
            return Answer(404, _HTML, b"")
        if host == GOOD:
            number = int(target.strip("/") or 0)
            links = [f"/{number * 2 + step}" for step in (1, 2) if number * 2 + step < self.pages]
        else:
            name = host.removesuffix(TRAP).strip(".").replace(".", "")[-20:]
            links = [f"http://{name}{letter}.{TRAP}/" for letter in "abcdefghij"]
        text = "".join(f'<a href="{link}">{link}</a> ' for link in links)
        return Answer(200, _HTML, f"<title>{host}{target}</title><p>{host} {target} {text}</p>".encode())


@pytest.fixture(scope="module")
def world() -> HostileWorld:
    return HostileWorld(7, 2, pages=20, parts=(Subdomains,))


def test_wildcard_hosts_do_not_starve_a_good_site(world: HostileWorld, tmp_path: Path) -> None:
    """Hosts of the trap are refused beyond a number, and the good site is complete within the same requests."""
    seeds = [f"http://{TRAP}/", f"http://{GOOD}/"]
    with standing(world) as lab:
        options = as_domains(lab) | {"politeness.delay": 0.0, "politeness.slow_factor": 0.0, "crawl.limit": 600}
        crawl(tmp_path / "c", seeds, options | {"budgets.seed_hosts": 20, "scope.kind": "domain"})
    found = rows(tmp_path / "c", "select site, count(distinct url) n from pages group by all")
    pages = {row["site"]: row["n"] for row in found}
    assert pages[GOOD] == PAGES
    assert len(pages) < 20 * 8
    refused = rows(tmp_path / "c", "select distinct refused from discoveries where refused is not null")
    assert {row["refused"] for row in refused} == {"domain-hosts"}


def test_an_island_without_reputation_is_complete(world: HostileWorld, tmp_path: Path) -> None:
    """A domain with the smallest budget comes in later passes, and nothing of it is dropped."""
    with standing(world) as lab:
        options = as_domains(lab) | {"politeness.delay": 0.0, "politeness.slow_factor": 0.0}
        crawl(tmp_path / "c", [f"http://{GOOD}/"], options | {"budgets.seed_budget": 3})
    found = rows(tmp_path / "c", "select count(distinct url) n from pages")
    assert found[0]["n"] == PAGES


class LargeIsland(Subdomains):
    """The same with a larger good site."""

    pages = 500


@pytest.mark.slow
def test_an_island_of_500_pages_is_complete_with_the_base_budget(tmp_path: Path) -> None:
    """Its last page belongs to pass 5 of a domain with 10 pages in the first."""
    assert pass_of(LargeIsland.pages, 10) == 5
    with standing(HostileWorld(7, 2, pages=20, parts=(LargeIsland,))) as lab:
        options = as_domains(lab) | {"politeness.delay": 0.0, "politeness.slow_factor": 0.0}
        crawl(tmp_path / "c", [f"http://{GOOD}/"], options | {"budgets.seed_budget": 10})
    assert rows(tmp_path / "c", "select count(distinct url) n from pages") == [{"n": 500}]
