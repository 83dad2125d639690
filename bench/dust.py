"""Duplicate URLs: what learnt rules spare on the sites of the lab that are made for it.

Each site is crawled twice in virtual time, without rules and with them. A page counts once by whatever URL it came: the
world knows (`periplus.lab.web.spam_web.dust`). Requests are counted, so figures carry over to any machine.

    python -m bench.dust [NAME ...]
"""

from __future__ import annotations

import sys

from periplus.lab.simulate.world_crawl import WorldCrawl, hurried
from periplus.lab.web.spam_web import Dust, HostileWorld
from periplus.lab.web.spam_web.dust import HOSTS, page_of
from periplus.model import Judged


def main(names: list[str]) -> None:
    """Print a row for each site."""
    world = HostileWorld(7, 2, pages=20, parts=(Dust,))
    print(f"{'site':12} {'requests':>9} {'pages':>6}   {'with rules':>10} {'pages':>6}  rules")
    for host in HOSTS:
        name = host.partition("-")[0]
        if names and name not in names:
            continue
        plain, learnt = (
            WorldCrawl(world, [f"http://{host}/"], hurried(scope__kind="host", dust__enabled=enabled), limit=4000).run()
            for enabled in (False, True)
        )
        counts = [(len(each.fetched), len({page_of(url) for url, _ in each.fetched})) for each in (plain, learnt)]
        rules = [f"{each.verdict} {each.evidence[0]}" for each in learnt.events if isinstance(each, Judged)]
        (requests, pages), (with_rules, pages_with) = counts
        print(f"{name:12} {requests:9,} {pages:6,}   {with_rules:10,} {pages_with:6,}  {'; '.join(rules)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
