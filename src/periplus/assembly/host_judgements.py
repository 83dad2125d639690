"""Mirrors and parked domains of a collection: judged, written down, and handed to its crawl."""

from __future__ import annotations

from periplus.insight import verdicts
from periplus.insight.mirrors import JUDGE, PARKED, JudgedHosts, judge_hosts
from periplus.insight.views import Views
from periplus.policy.mirrors import encode_hosts
from periplus.store import LearntFiles

from .collection import Collection

KIND = "mirrors"
"""The kind of the learnt file."""


def judge(found: Collection, now: float) -> JudgedHosts:
    """Judge the hosts of a collection: its view `verdicts` has the results, and a crawl that runs takes them over."""
    config, layout = found.config, found.layout
    with Views(found.folder, spooled=layout.spooled) as views:
        judged = judge_hosts(
            views, now, settings=config.mirrors, parked_settings=config.parked, suffixes=config.scope.suffixes
        )
    verdicts.write(found.folder, JUDGE, judged.mirrors)
    verdicts.write(found.folder, PARKED, judged.parked)
    LearntFiles(layout.learnt).write(KIND, encode_hosts(judged.learnt))
    return judged
