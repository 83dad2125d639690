"""The files of a served frontier: what is left where a commit fails or the process ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("grpc")
pytest.importorskip("google.protobuf")

from tests.faults.disk import Crashed, Disk, Fault

from periplus.model import CollectionError
from periplus_urlfrontier.client_frontier import MAX_GRANTED_BYTES, SentUrl
from periplus_urlfrontier.crawls import Crawls
from periplus_urlfrontier.messages import FAIL, MESSAGES, OK
from periplus_urlfrontier.service import Service
from periplus_urlfrontier.worker import Worker

from .frontier_client import Time

FOUND = SentUrl("k", "https://a.example/", "https://a.example/")


def test_clients_are_answered_when_commits_fail(tmp_path: Path) -> None:
    """An error of the disk is FAIL for each URL by its name; any other error ends the call, not the server."""
    info = MESSAGES["URLInfo"](url="https://a.example/")
    info.metadata["depth"].values.append("1")
    item = MESSAGES["URLItem"](discovered=MESSAGES["DiscoveredURLItem"](info=info))

    async def sent() -> AsyncIterator[Any]:
        yield item

    async def put() -> None:
        crawls = Crawls(tmp_path)
        errors: list[Exception] = [CollectionError("no space is left"), OSError("unexpected")]
        commit = crawls.commit

        def failing() -> None:
            if errors and any(queues.uncommitted for queues, _ in crawls._open.values()):
                raise errors.pop(0)
            commit()

        crawls.commit = failing  # type: ignore[method-assign]
        worker = Worker(crawls)
        service = Service(crawls, worker, Time(), node="here")
        acks = [MESSAGES["AckMessage"].FromString(ack) async for ack in service.put_urls(sent())]
        assert [(ack.ID, ack.status) for ack in acks] == [("https://a.example/", FAIL)]
        with pytest.raises(OSError, match="unexpected"):
            await worker.do(lambda: crawls.frontier("").block("k", 1.0), durable=True)
        assert [MESSAGES["AckMessage"].FromString(ack).status async for ack in service.put_urls(sent())] == [OK]
        await worker.close()

    asyncio.run(put())


def test_a_crawl_is_deleted_whole_or_not_at_all(tmp_path: Path) -> None:
    """A process that ends at any operation of it leaves no crawl that cannot be opened."""
    left, at = set(), 0
    while "deleted" not in left:
        at += 1
        disk = Disk(tmp_path / str(at), Random(at))
        with disk.installed():
            crawls = Crawls(disk.root)
            crawls.frontier("c").discover([FOUND], 1.0)
            crawls.commit()
            disk.fault = Fault("kill", at=disk.operations + at)
            try:
                crawls.delete("c")
                left.add("deleted")
            except Crashed:
                pass
        crawls.close()
        again = Crawls(disk.image or disk.root)
        count = 0 if again.existing("c") is None else again.frontier("c").totals("", 2.0).waiting
        assert (count == 1) == ("c" in again.names)
        left.add(f"{count} URLs")
        assert [path.name for path in (disk.image or disk.root).iterdir() if path.is_dir()] == ["crawl-c"] * count
        again.close()
    assert left == {"1 URLs", "0 URLs", "deleted"}


def test_the_names_of_a_new_crawl_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit syncs the file of a crawl; after a loss of power its folder has to be there, too."""
    synced: set[int] = set()
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        synced.add(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", noted)
    crawls = Crawls(tmp_path / "queues")
    crawls.frontier("c").discover([FOUND], 1.0)
    crawls.commit()
    assert {path.stat().st_ino for path in (tmp_path, tmp_path / "queues", tmp_path / "queues" / "crawl-c")} <= synced
    crawls.close()


def test_what_one_call_grants_is_bounded_by_its_size(tmp_path: Path) -> None:
    """A call stops at the bound, inside a queue and between queues; the next one continues."""
    crawls = Crawls(tmp_path)
    frontier = crawls.frontier("c")
    large = b"x" * (MAX_GRANTED_BYTES // 4)
    urls = [f"https://{host}.example/{n}" for host in "ab" for n in range(3)]
    frontier.discover([SentUrl(url[8], url, url, large) for url in urls], 1.0)
    first, second = (frontier.take(0, 0, "", 100.0, now, 1000) for now in (2.0, 3.0))
    assert [each.url for each in (*first, *second)] == urls
    assert len(first) == 4
    crawls.close()
