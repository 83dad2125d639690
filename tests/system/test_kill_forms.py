"""A crawl that submits a form, killed several times: it ends with every record, and asks for hardly any twice."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.lab.crawling import by_address, standing
from tests.system.crawled import Asked, begin, finish, rows

from periplus.engine.fetch import opened_by
from periplus.model import Url
from periplus_lab import World

HOST = "kaimplolail.lab.test"


@pytest.mark.slow
def test_killed_while_it_submits_a_form(tmp_path: Path) -> None:
    world, kills, chance = World(), 4, random.Random(5)
    with standing(world) as lab:
        options: dict[str, object] = by_address(lab) | {
            "politeness.delay": 0.0, "politeness.slow_factor": 0.0, "politeness.ip_delay": 0.0, "forms.interval": 0.0,
            "forms.enabled": "submit", "sitemaps.follow": False, "engine.checkpoint_interval": 0.5,
            "patterns.include": ["*/search", "*/find*", "*/record/*"],
        }  # fmt: skip
        seed = Url(f"{lab.url(HOST)}search")
        options["wire.allow_private"] = opened_by([seed], lab.resolver, ())
        what = Asked((seed,), options)
        for _ in range(kills):
            process = begin(tmp_path, what)
            time.sleep(chance.uniform(1.0, 3.0))
            process.kill()
            process.join()
        finish(tmp_path, what)
        visits = Counter(visit.target for visit in lab.log.visits() if visit.target.startswith(("/find", "/record/")))
    assert sum(target.startswith("/record/") for target in visits) == len(world.records(HOST))
    assert sum(visits.values()) - len(visits) <= kills
    [ended] = [row for row in rows(tmp_path, "form_probes") if row["status"] == "ended"]
    assert (ended["reason"], ended["records"]) == ("complete", len(world.records(HOST)))
