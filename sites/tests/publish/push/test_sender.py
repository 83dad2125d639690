"""Messages about changes, sent to a real receiver on loopback; hooks of applications."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.each_case import each_case
from tests.published.receiver import Receiver, receiving
from tests.published.small_site import BASE, Site

from periplus.formats.indexnow import read_batch
from periplus.model import UsageError
from periplus_sites.publish import FolderInventory, Publisher, PublishSettings
from periplus_sites.publish.push.sender import outcome
from periplus_sites.publish.settings import FeedSettings, PushSettings, SiteSettings


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, 30)


def settings(receiver: Receiver, base: str = BASE) -> PublishSettings:
    return PublishSettings(
        SiteSettings(base),
        push=PushSettings(indexnow=(receiver.url + "/indexnow",), ping=(receiver.url + "/ping",)),
        feed=FeedSettings(hub=receiver.url + "/hub"),
    )


def indexnow_urls(receiver: Receiver) -> list[set[str]]:
    return [set(read_batch(got.body).urls) for got in receiver.got if got.path == "/indexnow"]


def test_changes_are_sent_once_to_each_receiver(site: Site, receiver: Receiver) -> None:
    chosen = settings(receiver)
    site.scan(chosen)
    with site.publisher(chosen) as publisher:
        publisher.push(is_early=True)
    assert indexnow_urls(receiver) == []  # an endpoint hears of what happens from now on
    receiver.got.clear()
    site.next_day()
    site.edit(1, 2)
    site.path(3).unlink()
    site.scan(chosen)
    with site.publisher(chosen) as publisher:
        assert publisher.push() == []  # changes are gathered for a minute
        site.now += 61
        assert [(result.is_sent, result.messages) for result in publisher.push()] == [(True, 3), (True, 1), (True, 1)]
        assert publisher.push() == []
        assert publisher.status().waiting == 0
    assert indexnow_urls(receiver) == [{f"{BASE}page{number}.html" for number in (1, 2, 3)}]
    assert {(got.method, got.path) for got in receiver.got} == {
        ("POST", "/indexnow"),
        ("POST", "/hub"),
        ("GET", "/ping?sitemap=https%3A%2F%2Fwww.example.org%2Fsitemap.xml"),
    }
    (hub,) = [got for got in receiver.got if got.path == "/hub"]
    assert b"hub.mode=publish&hub.url=https%3A%2F%2Fwww.example.org%2Fchanges.atom" in hub.body


def test_an_endpoint_is_sent_the_changes_of_the_first_scan_that_knows_it(site: Site, receiver: Receiver) -> None:
    site.scan()
    site.next_day()
    site.edit(1, 2)
    chosen = settings(receiver)
    assert site.scan(chosen).unsent == 0
    with site.publisher(chosen) as publisher:
        publisher.push(is_early=True)
    assert indexnow_urls(receiver) == [{f"{BASE}page1.html", f"{BASE}page2.html"}]


def test_an_endpoint_is_sent_what_an_application_reports_first(site: Site, receiver: Receiver) -> None:
    site.scan()
    with site.publisher(settings(receiver)) as publisher:
        publisher.changed("/page7.html")
        publisher.write()
        publisher.push(is_early=True)
    assert indexnow_urls(receiver) == [{f"{BASE}page7.html"}]


def test_pages_of_the_first_scan_are_not_sent_and_counted(site: Site, receiver: Receiver) -> None:
    chosen = settings(receiver)
    assert site.scan(chosen).unsent == 30
    assert site.scan(chosen).unsent == 0


def test_the_key_file_is_written_and_belongs_to_the_message(site: Site, receiver: Receiver) -> None:
    chosen = settings(receiver)
    site.scan(chosen)
    site.next_day()
    site.edit(1)
    site.scan(chosen)
    with site.publisher(chosen) as publisher:
        publisher.push(is_early=True)
    (message,) = [read_batch(got.body) for got in receiver.got if got.path == "/indexnow"]
    assert (site.out / f"{message.key}.txt").read_text() == message.key
    assert message.key_location == f"{BASE}{message.key}.txt"
    assert len(message.key) == 32


def test_an_address_is_sent_at_most_once_in_ten_minutes(site: Site, receiver: Receiver) -> None:
    chosen = settings(receiver)
    site.scan(chosen)
    with site.publisher(chosen) as publisher:
        for _ in range(4):
            publisher.changed("/page1.html")
            publisher.write()
            publisher.push(is_early=True)
            site.now += 240
    assert len(indexnow_urls(receiver)) == 2


def test_a_receiver_in_trouble_gets_the_message_later(site: Site, receiver: Receiver) -> None:
    chosen = PublishSettings(SiteSettings(BASE), push=PushSettings(indexnow=(receiver.url + "/indexnow",)))
    site.scan(chosen)
    receiver.statuses = [503, 503, 200]
    with site.publisher(chosen) as publisher:
        publisher.changed("/page1.html")
        publisher.write()
        for wait, is_sent in ((61, False), (59, None), (2, False), (119, None), (2, True)):
            site.now += wait
            assert [result.is_sent for result in publisher.push()] == ([] if is_sent is None else [is_sent])
    assert len(indexnow_urls(receiver)) == 3


def test_messages_wait_in_the_ledger_while_no_receiver_is_there(site: Site, receiver: Receiver) -> None:
    chosen = PublishSettings(SiteSettings(BASE), push=PushSettings(indexnow=("http://127.0.0.1:9/indexnow",)))
    site.scan(chosen)
    with site.publisher(chosen) as publisher:
        publisher.changed("/page1.html")
        publisher.write()
        (result,) = publisher.push(is_early=True)
    assert result.answer.startswith("no answer")
    with site.publisher(chosen) as publisher:
        assert publisher.status().waiting == 1


def test_a_refused_key_is_explained(site: Site, receiver: Receiver) -> None:
    chosen = PublishSettings(
        SiteSettings(receiver.url + "/"), push=PushSettings(indexnow=(receiver.url + "/indexnow",))
    )
    with Publisher(site.out, chosen, clock=lambda: site.now) as publisher:
        publisher.scan([FolderInventory(site.root, publisher.base_url, skip=publisher.is_own)])
        publisher.changed("/page1.html")
        publisher.write()
        receiver.statuses = [403, 404]
        (result,) = publisher.push(is_early=True)
        assert "answers 404" in result.answer
        key = str(publisher.ledger.note("indexnow_key"))
        receiver.files[f"/{key}.txt"] = key.encode()
        receiver.statuses = [403]
        site.now += 3_601
        (result,) = publisher.push()
        assert result.answer.endswith("is as it should be")


@each_case(
    ("status", "retry_after", "attempts", "is_sent", "delay"),
    [
        (200, None, 1, True, None),
        (202, None, 1, True, None),
        (400, None, 1, False, None),
        (422, None, 1, False, None),
        (403, None, 1, False, 3_600),
        (403, None, 5, False, None),
        (429, 42.0, 1, False, 42),
        (429, None, 3, False, 2_400),
        (500, None, 1, False, 60),
        (0, None, 19, False, 21_600),
        (0, None, 20, False, None),
    ],
)
def test_answers(status: int, retry_after: float | None, attempts: int, is_sent: bool, delay: float | None) -> None:
    found = outcome(status, retry_after, attempts, 1_000.0)
    assert found.is_sent == is_sent
    assert found.next_at == (None if delay is None else 1_000.0 + delay)


def test_hooks_date_pages_now_and_a_scan_does_not_repeat_them(site: Site) -> None:
    site.scan()
    site.next_day()
    site.edit(4)
    site.now += 5
    with site.publisher() as publisher:
        publisher.changed("/page4.html")
        publisher.changed(f"{BASE}fresh.html", title="Fresh")
        publisher.moved("/page5.html", "/page5-new.html")
        assert publisher.removed("/page6.html")
        assert not publisher.removed("/never-there.html")
        with pytest.raises(UsageError):
            publisher.changed("https://other.example/")
        assert not publisher.is_written()
        publisher.write()
        assert publisher.is_written()
        changes = {change.url.removeprefix(BASE): change.kind for change in publisher.status().last_changes[:5]}
        assert changes == {
            "page4.html": "changed",
            "fresh.html": "new",
            "page5.html": "removed",
            "page5-new.html": "new",
            "page6.html": "removed",
        }
        hooked_at = site.now
        for name in ("fresh.html", "page5-new.html"):
            (site.root / name).write_text(site.html(5))
            os.utime(site.root / name, (site.now, site.now))
        for number in (5, 6):
            site.path(number).unlink()
        site.now += 60
        events = publisher.ledger.db.execute("select count(*) from events").fetchone()
        publisher.scan([FolderInventory(site.root, publisher.base_url, skip=publisher.is_own)])
        row = publisher.ledger.row(f"{BASE}page4.html")
        assert row is not None
        assert row.lastmod == hooked_at
        assert publisher.ledger.db.execute("select count(*) from events").fetchone() == events


def test_threads_share_a_publisher(site: Site) -> None:
    site.scan()
    with site.publisher() as publisher, ThreadPoolExecutor(4) as threads:
        done = [threads.submit(publisher.changed, f"/made-{number}.html") for number in range(100)]
        for one in done:
            one.result()
        assert publisher.status().published == 130
