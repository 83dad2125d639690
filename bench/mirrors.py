"""Mirrors, soft 404s, parked domains and cloaking on the lab's hostile web, beside its truth.

    python -m bench.mirrors                 # all four, about two minutes
    python -m bench.mirrors mirrors cost    # one of them, and what the judges cost a page

Each measure is a crawl by the code that ships, of hosts whose truth is known, and recall and false verdicts by that.
`mirrors` crawls a part, judges, continues, and counts the requests to mirrors before and after. `cloaking` also
compares every page of the cloakers and of the innocents that churn, outside of a crawl.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from periplus.collection.collection import CollectionSetup
from periplus.collection.config.settings import Config
from periplus.collection.judging import judge
from periplus.collection.opening import open_crawl, settle
from periplus.collection.seeds import seeds_from
from periplus.content import read_page
from periplus.engine.fetch import opened_by
from periplus.model import Site, Url
from periplus.parts.absence.policy import ReadPage, SiteAbsence, learn_template, soft_404
from periplus.parts.absence.settings import AbsenceSettings
from periplus.parts.cloaking.policy import Copy, SiteProbes, Step, begin_comparison, copy_of, next_step
from periplus.parts.cloaking.settings import CloakingSettings
from periplus.parts.mirrors.policy import HostRule, LearntHosts, MirrorHosts, decode_hosts
from periplus.store import LearntFiles
from periplus_lab import World
from periplus_lab.http import Request
from periplus_lab.server import RunningLab, Server, SteppedClock
from periplus_lab.spam_web import AbsentPages, Cloakers, HostileWorld, MirroringHosts, ParkedDomains
from periplus_lab.spam_web.judged_hosts import CLOAKED_SIZE, PARKED
from periplus_lab.spam_web.part import SmallSite

SUFFIXES = ("lab.test",)
OPTIONS: dict[str, object] = {
    "politeness.delay": 0.0, "politeness.slow_factor": 0.0, "politeness.ip_delay": 0.0, "retries.backoff": 0.01,
    "sitemaps.follow": False, "scope.suffixes": SUFFIXES, "scope.kind": "host",
}  # fmt: skip
Figures = dict[str, Any]


def _judged(folder: Path, config: Config) -> LearntHosts:
    """What a crawl follows after a judgement."""
    found = CollectionSetup(folder, config, (), False)
    judge(found, time.time())
    files = LearntFiles(found.layout.learnt)
    return decode_hosts(files.read("mirrors", files.newest()["mirrors"]) or b"")


def mirrors(seed: int = 7) -> Figures:
    """Recall and precision over pairs of hosts; requests to mirrors before and after the judgement."""
    world = HostileWorld(seed, 2, pages=40, parts=(MirroringHosts, ParkedDomains))
    hosts = (*MirroringHosts.hosts, *ParkedDomains.hosts)
    copies = {mirror.host for mirror in world.mirrors() if mirror.prefix == "/"}
    with TemporaryDirectory() as name, _lab(world, standing=True) as lab:
        folder = Path(name)
        seeds = [lab.url(host) for host in hosts]
        config = _crawl(folder, lab, seeds, {"crawl.limit": len(seeds) * 45})
        before = _requests(folder)
        began = time.perf_counter()
        judged = _judged(folder, config)
        seconds = time.perf_counter() - began
        _crawl(folder, lab, seeds, {})
        after = _requests(folder) - before
        final = _judged(folder, config)
    true = {frozenset((mirror.host, mirror.original)) for mirror in world.mirrors()}
    at_half, at_end = (_pairs(each.rules) for each in (judged, final))
    known = {_host(rule.site) for rule in judged.rules if rule.root == "/"} & copies
    parked = set(final.parked)
    return {
        "pairs": len(true),
        "recall after a third": _share(at_half & true, true),
        "recall at the end": _share((at_half | at_end) & true, true),
        "precision": _share((at_half | at_end) & true, at_half | at_end),
        "requests to found mirrors before": sum(before[host] for host in known),
        "requests to found mirrors after": sum(after[host] for host in known),
        "seconds of the job": round(seconds, 2),
        "parked recall": _share(parked & {*PARKED}, {*PARKED}),
        "parked false": len(parked - {*PARKED}),
    }


def absence(seed: int = 7) -> Figures:
    """Recall and false verdicts of soft 404s, on sites that are made for it and on 60 ordinary ones."""
    hostile = HostileWorld(seed, 2, pages=40, parts=(AbsentPages,))
    ordinary = World(seed, 60, pages=1500)
    return {
        "hostile": _absence(hostile, AbsentPages.hosts, hostile.is_error),
        "60 sites": _absence(
            ordinary, [site.host for site in ordinary.sites()], lambda url: not ordinary.exists(url, ordinary.epoch)
        ),
    }


def _absence(world: World, hosts: Sequence[str], is_error: Callable[[str], bool]) -> Figures:
    with TemporaryDirectory() as name, _lab(world, standing=True) as lab:
        folder = Path(name)
        _crawl(folder, lab, [lab.url(host) for host in hosts], {})
        fetched = _column(
            folder,
            "select url from fetches where purpose = 'page' and (status = 200 or outcome = 'redirected')",
        )
        marked = _column(folder, "select url from pages where list_contains(problems, 'soft-404')")
        judged = _column(folder, "select subject from verdicts where judge = 'soft-404'")
        probes = Counter(_column(folder, "select site from fetches where purpose = 'probe'"))
        redirected = set(_column(folder, "select url from fetches where outcome = 'redirected'"))
    found = {*marked, *judged}
    true = {url for url in fetched if is_error(url) and (isinstance(world, HostileWorld) or url not in redirected)}
    return {
        "pages": len(fetched),
        "true": len(true),
        "recall": _share(found & true, true),
        "false": len(found - true),
        "probes": probes.total(),
        "most probes of a site": max(probes.values(), default=0),
    }


def cloaking(seed: int = 7) -> Figures:
    """Recall and false accusations: every page compared, and hosts in a crawl with its share of probes."""
    world = HostileWorld(seed, 4, pages=6000, parts=(Cloakers,))
    accused, false = _compared_all(world)
    hosts = [*Cloakers.hosts, *(site.host for site in world.sites())]
    with TemporaryDirectory() as name, _lab(world) as lab:
        folder = Path(name)
        _crawl(folder, lab, [lab.url(host) for host in hosts], {"cloaking.enabled": True})
        judged = _column(folder, "select subject from verdicts where judge = 'cloaking' and kind = 'site'")
        purposes = Counter(_column(folder, "select purpose from fetches"))
    true = {host for host in Cloakers.hosts if world.is_cloaked(f"http://{host}/")}
    found = {_host(site) for site in judged}
    return {
        "pages compared": len(Cloakers.hosts) * (CLOAKED_SIZE + 4),
        "recall of pages": accused,
        "false of honest pages": false,
        "cloaking hosts": len(true),
        "recall of hosts": _share(found & true, true),
        "false hosts": len(found - true),
        "probes": purposes["probe"],
        "share of requests": round(purposes["probe"] / purposes.total(), 4),
    }


def _compared_all(world: HostileWorld) -> tuple[float, int]:
    """Every page of every cloaker and innocent, as the crawl would compare it: recall, and false accusations."""
    settings = CloakingSettings(enabled=True)
    moment = world.epoch
    found, true, false = 0, 0, 0
    for host in Cloakers.hosts:
        for path in SmallSite(host, world.seed, CLOAKED_SIZE).paths():
            url, probes, step = f"http://{host}{path}", SiteProbes(), Step.ASK_AS_BROWSER
            begin_comparison(probes, Url(url), _copy(world, url, "Periplus/0.1", moment))
            verdict = None
            while step is not Step.DECIDED:
                moment += 0.7
                if step is Step.ASK_AS_BROWSER:
                    probes.browsers.append(_copy(world, url, settings.agent, moment))
                else:
                    probes.crawlers.append(_copy(world, url, "Periplus/0.1", moment))
                step, verdict = next_step(probes, settings, SUFFIXES)
            is_accused = verdict is not None and verdict.is_offence
            true += world.is_cloaked(url)
            found += is_accused and world.is_cloaked(url)
            false += is_accused and not world.is_cloaked(url)
    return found / true, false


def _copy(world: World, url: str, agent: str, moment: float) -> Copy:
    host, _, path = url.partition("://")[2].partition("/")
    answer = world.answer(Request("GET", host, "/" + path, (("user-agent", agent),), moment))
    body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
    return copy_of(read_page(body, url, "text/html"), has_scripts=b"<script" in body)


def cost() -> Figures:
    """Microseconds a page, or a URL, of what runs for each."""
    world = HostileWorld(7, 1, pages=40, parts=(AbsentPages, Cloakers))
    host = Cloakers.hosts[0]
    pages = [
        read_page(world.content(f"http://{host}{path}", world.epoch), f"http://{host}{path}", "text/html")
        for path in SmallSite(host, 7, CLOAKED_SIZE).paths()
    ]
    read = [ReadPage(page.url, page.title, page.sketch, page.digests.main, 200) for page in pages]
    settings = AbsenceSettings()
    known = SiteAbsence(probe=Url(f"http://{host}/abcdefghabcdefgh.html"))
    learn_template(known, read[0], None, settings, 0.0)
    hosts = MirrorHosts(suffixes=SUFFIXES)
    hosts.load(
        LearntHosts(
            tuple(HostRule(Site(f"m{number}.test"), "/", Site(f"o{number}.test"), "/") for number in range(1000))
        )
    )
    return {
        "compare with an error template": _micros(lambda: [soft_404(known, page, settings) for page in read], read),
        "make a copy for comparison": _micros(lambda: [copy_of(page) for page in pages], pages),
        "look for a mirror among 1,000 rules": _micros(lambda: [hosts.renamed(page.url) for page in pages], pages),
    }


def _micros(run: Callable[[], object], things: Sequence[object]) -> float:
    """The best of seven runs, a thing."""
    best = min(_timed(run) for _ in range(7))
    return round(1e6 * best / len(things), 1)


def _timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _lab(world: World, *, standing: bool = False) -> RunningLab:
    return RunningLab(Server(world, SteppedClock(world.epoch)) if standing else Server(world))


def _crawl(folder: Path, lab: RunningLab, seeds: Sequence[str], options: dict[str, object]) -> Config:
    config = Config().with_options(OPTIONS | {"dns.hosts": dict(lab.resolver)} | options)
    urls = seeds_from(list(seeds))
    config = config.with_options({"wire.allow_private": opened_by(urls, config.dns.hosts, ())})
    open_crawl(config, folder, urls, 1).run()
    settle(folder)
    return config


def _column(folder: Path, question: str) -> list[str]:
    with duckdb.connect() as database:
        for table in ("fetches", "pages", "verdicts"):
            if any((folder / "tables" / table).glob("*.parquet")):
                database.execute(f"create view {table} as select * from '{folder}/tables/{table}/*.parquet'")
            else:
                database.execute(f"create table {table} (subject text, judge text, kind text)")
        return [row[0] for row in database.execute(question).fetchall()]


def _requests(folder: Path) -> Counter[str]:
    sites = _column(folder, "select site from fetches where purpose in ('page', 'probe') and outcome <> 'excluded'")
    return Counter(map(_host, sites))


def _pairs(rules: Iterable[HostRule]) -> set[frozenset[str]]:
    return {frozenset((_host(rule.site), _host(rule.target))) for rule in rules}


def _host(site: str) -> str:
    return site.partition(":")[0]


def _share(part: set[Any], whole: set[Any]) -> float:
    return round(len(part) / len(whole), 4) if whole else 1.0


PARTS: dict[str, Callable[[], Figures]] = {"mirrors": mirrors, "absence": absence, "cloaking": cloaking, "cost": cost}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description="Measure judgements on the lab's hostile web.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which measures; by default all")
    chosen = parser.parse_args(arguments).parts or list(PARTS)
    for name in chosen:
        sys.stdout.write(json.dumps({name: PARTS[name]()}, indent=2) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
