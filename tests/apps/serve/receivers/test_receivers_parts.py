"""Parts of the receivers by themselves, in times that a test gives: limits, keys, subscriptions, counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.apps.serve.receivers.receiving import collection

from periplus.apps.serve.receivers.intake import MAX_SENDERS, Intake, MessageCounts, MessageKind, Result, SenderLimits
from periplus.apps.serve.receivers.keys import (
    MAX_CLAIMS,
    MAX_CLAIMS_OF_HOST,
    PROVED_FOR,
    RETRIES,
    WRONG_FOR,
    KeyChecks,
    KeyState,
)
from periplus.apps.serve.receivers.websub import (
    MAX_RETRY,
    MAX_SUBSCRIPTIONS,
    RETRY_AFTER,
    VERIFY_WITHIN,
    FeedHubs,
    Subscriptions,
    discoveries_in,
    hubs_of,
)
from periplus.apps.serve.served import Served, ServeSettings
from periplus.formats.websub import LEASE, Intent
from periplus.model import (
    CollectionDamaged,
    ConfigError,
    Excluded,
    Failed,
    Fetched,
    FetchOutcome,
    FetchTask,
    Lane,
    Purpose,
    Site,
    Source,
    Url,
)
from periplus.store import KeyClaim

KEY = "0123456789abcdef"
FEED, HUBS = "http://a.test/feed", (Url("http://hub.test/"), Url("http://other.test/"))


def claim(number: int = 0, host: str = "a.test") -> KeyClaim:
    return KeyClaim(host, KEY, f"http://{host}/{number}.txt")


def answer(status: int, body: bytes = b"") -> FetchOutcome:
    return Fetched(task(), status, (), body, 0.0, 0.0)


def task() -> FetchTask:
    return FetchTask(Url("http://a.test/k.txt"), Site("a.test"), Purpose.PAGE, Lane.FILES, 0.0)


# limits


def test_messages_of_a_sender() -> None:
    """A burst of a second's worth, then the rate; others are not affected."""
    limits = SenderLimits(10, 1000)
    assert [limits.wait_for_message("a", 0.0) for _ in range(10)] == [0.0] * 10
    assert limits.wait_for_message("a", 0.0) == pytest.approx(0.1)
    assert limits.wait_for_message("b", 0.0) == 0.0
    assert limits.wait_for_message("a", 0.1) == 0.0
    assert limits.wait_for_message("a", 0.1) > 0.0


def test_urls_of_a_sender() -> None:
    """An hour's worth at once, then the rate; what is refused is not counted."""
    limits = SenderLimits(10, 3600)
    assert limits.wait_for_urls("a", 3000, 0.0) == 0.0
    assert limits.wait_for_urls("a", 700, 0.0) == pytest.approx(100.0)
    assert limits.wait_for_urls("a", 600, 0.0) == 0.0
    assert limits.wait_for_urls("a", 10, 10.0) == 0.0
    assert limits.wait_for_urls("new", 10_000, 0.0) == 0.0  # more than an hour's worth, with a full allowance


def test_no_request_without_the_settings_that_are_not_trusted(tmp_path: Path) -> None:
    """The proxy of a collection that others made is not used; nor is a key fetched without it."""
    made = collection(tmp_path / "c", ["http://a.test/"], {})
    trusted = Served([made.folder], ServeSettings()).first
    Intake(trusted).requests()
    made.layout.settings.write_text(made.config.with_options({"wire.proxy": "http://127.0.0.1:9"}).dump())
    changed = Served([made.folder], ServeSettings()).first
    with pytest.raises(ConfigError, match=r"wire\.proxy"):
        Intake(changed).requests()


def test_senders_are_bounded() -> None:
    """An attacker with many addresses does not fill the memory."""
    limits = SenderLimits(1, 1)
    for number in range(MAX_SENDERS + 100):
        limits.wait_for_message(str(number), 0.0)
    assert len(limits._senders) == MAX_SENDERS


# keys


def test_life_of_a_key() -> None:
    """Unknown, proved for a day, unknown again; wrong for an hour, unknown again."""
    keys = KeyChecks(1.0)
    for body, state, lasts in ((KEY.encode(), KeyState.PROVED, PROVED_FOR), (b"other", KeyState.WRONG, WRONG_FOR)):
        now = 0.0 if state is KeyState.PROVED else 1e6
        assert keys.state(claim(), now) is KeyState.UNKNOWN
        keys.add(claim(), now)
        assert keys.take_due(now) == [claim()]
        assert keys.take_due(now) == []
        assert keys.checked(claim(), answer(200, body), now) is state
        assert keys.state(claim(), now + lasts - 1) is state
        assert keys.state(claim(), now + lasts) is KeyState.UNKNOWN
        assert keys.take_due(now + 1e5) == []


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (answer(404), KeyState.WRONG),
        (answer(403, KEY.encode()), KeyState.WRONG),
        (answer(503), KeyState.UNKNOWN),
        (answer(429), KeyState.UNKNOWN),
        (Failed(task(), "connect-timeout", 0.0, 0.0), KeyState.UNKNOWN),
        (Failed(task(), "unwanted-type", 0.0, 0.0), KeyState.WRONG),
        (Excluded(task(), "private-address"), KeyState.WRONG),
    ],
)
def test_answers_about_a_key(outcome: FetchOutcome, state: KeyState) -> None:
    """A host that could not answer is asked again; every other answer without the key is a no."""
    keys = KeyChecks(0.0)
    keys.add(claim(), 0.0)
    keys.take_due(0.0)
    assert keys.checked(claim(), outcome, 0.0) is state


def test_retries_of_a_key() -> None:
    """A host that does not answer is asked again after a while, twice; then the key counts as wrong."""
    keys, now = KeyChecks(0.0), 0.0
    keys.add(claim(), now)
    for wait in RETRIES:
        assert keys.take_due(now) == [claim()]
        assert keys.checked(claim(), answer(500), now) is KeyState.UNKNOWN
        assert keys.take_due(now + wait - 0.1) == []
        now += wait
    assert keys.take_due(now) == [claim()]
    assert keys.checked(claim(), answer(500), now) is KeyState.WRONG


def test_check_that_was_not_completed() -> None:
    """A fault on our side does not block the host: the key is checked again."""
    keys = KeyChecks(0.0)
    keys.add(claim(), 0.0)
    keys.take_due(0.0)
    keys.check_again(claim(), 0.0)
    assert keys.take_due(RETRIES[-1] - 1) == []
    assert keys.take_due(RETRIES[-1]) == [claim()]


def test_hosts_are_asked_politely() -> None:
    """One request at a time to a host, with the delay in between; other hosts do not wait."""
    keys = KeyChecks(5.0)
    for number in range(2):
        keys.add(claim(number), 0.0)
        keys.add(claim(number, "b.test"), 0.0)
    assert keys.take_due(0.0) == [claim(0), claim(0, "b.test")]
    assert keys.take_due(100.0) == []  # both are under way
    keys.checked(claim(0), answer(200, KEY.encode()), 100.0)
    assert keys.take_due(104.0) == []
    assert keys.take_due(105.0) == [claim(1)]


def test_keys_are_bounded() -> None:
    """A host has a few keys that wait, and all hosts together a number of them."""
    keys = KeyChecks()
    for number in range(MAX_CLAIMS_OF_HOST):
        keys.add(claim(number), 0.0)
    assert not keys.has_room(claim(99))
    assert keys.has_room(claim(0))
    assert keys.has_room(claim(0, "b.test"))
    for number in range(MAX_CLAIMS):
        keys.add(claim(0, f"{number}.test"), 0.0)
    assert not keys.has_room(claim(0, "c.test"))


# subscriptions


def test_life_of_a_subscription(tmp_path: Path) -> None:
    """Asked for at once, again if it is not verified, renewed after 80 % of the lease that the hub grants."""
    path = tmp_path / "subscriptions.json"
    book = Subscriptions(path)
    assert book.add([FeedHubs(FEED, HUBS), FeedHubs("http://a.test/none", ())], 0.0) == 1
    assert book.add([FeedHubs(FEED, HUBS)], 0.0) == 0
    [asked] = book.take_due(0.0)
    assert (asked.topic, asked.hub, asked.is_active(0.0)) == (FEED, HUBS[0], False)
    assert book.take_due(VERIFY_WITHIN - 1) == []
    assert [each.token for each in book.take_due(VERIFY_WITHIN)] == [asked.token]
    assert book.verify(asked.token, Intent("subscribe", FEED, "c", 1000), 600.0)
    for known in (book, Subscriptions(path)):
        found = known.get(asked.token)
        assert found is not None
        assert (found.expires_at, found.next_at, found.secret) == (1600.0, 1400.0, asked.secret)
        assert found.is_active(1599.0)
        assert not found.is_active(1600.0)
    assert book.take_due(1399.0) == []
    [renewed] = book.take_due(1400.0)
    assert (renewed.token, renewed.secret) == (asked.token, asked.secret)
    assert book.verify(asked.token, Intent("subscribe", FEED, "c"), 1400.0)
    assert book.all()[0].expires_at == 1400.0 + LEASE


def test_questions_about_subscriptions(tmp_path: Path) -> None:
    """Only what we asked for is confirmed."""
    book = Subscriptions(tmp_path / "subscriptions.json")
    book.add([FeedHubs(FEED, HUBS)], 0.0)
    token = book.all()[0].token
    for asked, intent in (
        ("0" * 32, Intent("subscribe", FEED, "c")),
        (token, Intent("subscribe", FEED + "/", "c")),
        (token, Intent("unsubscribe", FEED, "c")),
        (token, Intent("denied", FEED)),
    ):
        assert not book.verify(asked, intent, 0.0)
    assert not book.all()[0].is_active(0.0)


def test_hubs_that_refuse(tmp_path: Path) -> None:
    """The next hub is asked, less and less often, at most once a day."""
    book = Subscriptions(tmp_path / "subscriptions.json")
    book.add([FeedHubs(FEED, HUBS)], 0.0)
    token, waits, hubs = book.all()[0].token, [], []
    for _ in range(7):
        book.refused(token, 0.0)
        waits.append(book.all()[0].next_at)
        hubs.append(book.all()[0].hub)
    assert waits == [RETRY_AFTER, 2 * RETRY_AFTER, 4 * RETRY_AFTER, 8 * RETRY_AFTER, 16 * RETRY_AFTER, *[MAX_RETRY] * 2]
    assert hubs[:3] == [HUBS[1], HUBS[0], HUBS[1]]


def test_subscriptions_are_bounded_and_their_tokens_differ(tmp_path: Path) -> None:
    """A collection of many feeds has a limited number of subscriptions."""
    book = Subscriptions(tmp_path / "subscriptions.json")
    feeds = [FeedHubs(f"http://a.test/{number}", HUBS) for number in range(MAX_SUBSCRIPTIONS + 5)]
    assert book.add(feeds, 0.0) == MAX_SUBSCRIPTIONS
    assert len({(each.token, each.secret) for each in book.all()}) == MAX_SUBSCRIPTIONS


def test_damaged_subscriptions(tmp_path: Path) -> None:
    """The file is named, and what to do."""
    (tmp_path / "subscriptions.json").write_bytes(b"[{")
    with pytest.raises(CollectionDamaged, match=r"subscriptions\.json") as raised:
        Subscriptions(tmp_path / "subscriptions.json")
    assert "delete it" in raised.value.hint


def test_hubs_of_feeds() -> None:
    """In the feed or in the Link field, which goes first; topics are as the publisher writes them."""
    links_of_feed = b'<link rel="self" href="http://a.test/F"/><link rel="hub" href="/h"/>'
    body = b'<feed xmlns="http://www.w3.org/2005/Atom">' + links_of_feed + b"</feed>"
    assert hubs_of(FEED, body, []) == FeedHubs("http://a.test/F", (Url("http://a.test/h"),))
    links = ['<http://hub.test>; rel="hub", <http://a.test/own>; rel=self']
    assert hubs_of(FEED, body, links) == FeedHubs("http://a.test/own", (Url("http://hub.test/"),))
    assert hubs_of(FEED, b"<rss/>", links[:1]) == FeedHubs("http://a.test/own", (Url("http://hub.test/"),))
    assert hubs_of(FEED, b"<rss/>", []) is None
    assert hubs_of(FEED, b"\x00", ["<javascript:x>; rel=hub"]) is None


def test_entries_and_tombstones_of_a_message() -> None:
    """What has a date has changed then, and what is gone as well; the rest is only found."""
    items = b'<entry><link href="/1"/><updated>2023-11-01</updated></entry><entry><link href="/2"/></entry>'
    gone = b'<at:deleted-entry ref="http://a.test/3" when="2023-11-01"/><at:deleted-entry ref="x:4" when="2023-11-01"/>'
    spaces = b'xmlns="http://www.w3.org/2005/Atom" xmlns:at="http://purl.org/atompub/tombstones/1.0"'
    found = discoveries_in(b"<feed " + spaces + b">" + items + gone + b"</feed>", FEED)
    assert [(each.url, each.source, each.hints.lastmod is not None) for each in found] == [
        ("http://a.test/1", Source.PING, True),
        ("http://a.test/2", Source.FEED, False),
        ("http://a.test/3", Source.PING, True),
    ]


def test_counts() -> None:
    """In a fixed order, without what did not occur."""
    counts = MessageCounts()
    counts.add(MessageKind.WEBSUB, Result.ACCEPTED)
    counts.add(MessageKind.WEBSUB, Result.ACCEPTED)
    counts.add(MessageKind.INDEXNOW, Result.HELD)
    assert counts.items() == [("indexnow", "held", 1), ("websub", "accepted", 2)]
    assert counts[MessageKind.CHANGED, Result.FULL] == 0
