"""URLs that sites pushed stay in the inbox until the crawl has committed them."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

from tests.faults.simulation import read_now

from periplus.engine.sharding.crawl import PushedUrls
from periplus.model import Discovery, Source, Url
from periplus.store import MessageInbox


def test_urls_stay_until_they_are_committed(tmp_path: Path) -> None:
    """A crawl that is killed before finds them again."""
    inbox = MessageInbox(tmp_path / "inbox")
    inbox.append([Discovery(Url("https://a.test/"), Source.PING, 1.0)])
    committed: Future[None] = Future()
    pushed = PushedUrls(inbox, lambda _found: committed)
    for _ in range(3):
        read_now(pushed)
        assert len(inbox) == 1
    committed.set_result(None)
    read_now(pushed)
    assert len(inbox) == 0
    assert pushed.is_empty
    pushed.close()
