"""Revisits that wait again after a failure keep their lane, whatever their pages gain by links."""

from __future__ import annotations

from periplus.collection.config.settings import Config
from periplus.engine.frontier.scores import PriorityIndex
from periplus.model import Discovery, Lane, Queued, Source, Url
from periplus.store import MemoryState
from periplus.urls import site_of

URL = Url("https://a.test/")
SITE = site_of(URL)


def test_a_revisit_that_failed_is_not_queued_as_a_discovery() -> None:
    """Its site would count a revisit that is not there, and miss a page that is."""
    state = MemoryState()
    ordering = Config().with_options({"crawl.ordering": "opic"}).ordered()
    scores = PriorityIndex(state, ordering, is_out=lambda _url: False, pages=0)
    found = Discovery(URL, Source.LINK, 1.0)
    scores.queue([(found, 1.0, Queued(URL, SITE, Lane.DISCOVERY, 30))])
    state.queues.remove(state.queues.heads(SITE, Lane.DISCOVERY, 1))
    scores.removed(URL)
    scores.released(state.queues.push([Queued(URL, SITE, Lane.REFRESH, 30)]))
    scores.found_again(Discovery(URL, Source.LINK, 2.0, gain=1000.0), None)
    assert state.queues.length(SITE, Lane.REFRESH) == 1
    assert state.queues.length(SITE, Lane.DISCOVERY) == 0
