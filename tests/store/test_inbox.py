"""The inbox of a collection: what was appended is there after a kill, in order, and bounded."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from periplus.model import CollectionDamaged, Discovery, Granularity, Hints, Lastmod, Purpose, Source, Url
from periplus.store import KeyClaim, MessageInbox

CLAIM = KeyClaim("a.test", "abcdefgh", "http://a.test/abcdefgh.txt")


def pings(*numbers: int) -> list[Discovery]:
    return [Discovery(Url(f"http://a.test/{number}"), Source.PING, 1000.0 + number) for number in numbers]


def waiting(inbox: MessageInbox) -> list[str]:
    pushed = inbox.peek(1000)
    return [] if pushed is None else [each.url.rpartition("/")[2] for each in pushed.discoveries]


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    """Every field of a discovery survives, and reading removes nothing."""
    sitemap = Discovery(Url("http://a.test/s.xml"), Source.PING, 1.5, purpose=Purpose.SITEMAP)
    dated = Discovery(Url("http://a.test/"), Source.PING, 2.0, hints=Hints(lastmod=Lastmod(5.0, Granularity.DAY)))
    inbox = MessageInbox(tmp_path / "deep" / "inbox.sqlite")
    assert inbox.append([sitemap, dated])
    inbox.close()
    for again in (MessageInbox(tmp_path / "deep" / "inbox.sqlite"), inbox):
        pushed = again.peek(10)
        assert pushed is not None
        assert pushed.discoveries == (sitemap, dated)
        again.close()
    assert stat.S_IMODE((tmp_path / "deep" / "inbox.sqlite").stat().st_mode) == 0o600


def test_reading_creates_no_file(tmp_path: Path) -> None:
    """A crawl of a collection without messages leaves its folder alone."""
    inbox = MessageInbox(tmp_path / "inbox.sqlite")
    assert inbox.peek(10) is None
    assert (len(inbox), inbox.claims()) == (0, [])
    assert list(tmp_path.iterdir()) == []


def test_removal_leaves_what_came_later(tmp_path: Path) -> None:
    """URLs that arrive between reading and removing stay."""
    reader, writer = MessageInbox(tmp_path / "inbox.sqlite"), MessageInbox(tmp_path / "inbox.sqlite")
    writer.append(pings(1, 2, 3))
    pushed = reader.peek(2)
    assert pushed is not None
    writer.append(pings(4))
    reader.remove(pushed.through)
    assert waiting(writer) == ["3", "4"]
    reader.remove(4)
    writer.append(pings(5))
    reader.remove(4)  # numbers are not used again
    assert waiting(reader) == ["5"]
    reader.close()
    writer.close()


def test_no_room(tmp_path: Path) -> None:
    """A message that does not fit is refused as a whole; held messages count."""
    inbox = MessageInbox(tmp_path / "inbox.sqlite", max_waiting=5)
    assert inbox.append(pings(1, 2))
    assert inbox.hold(CLAIM, pings(3, 4))
    assert not inbox.append(pings(5, 6))
    assert not inbox.hold(CLAIM, pings(5, 6))
    assert inbox.append(pings(5))
    assert len(inbox) == 5
    inbox.remove(2)
    assert inbox.append(pings(6))
    inbox.close()


def test_held_messages(tmp_path: Path) -> None:
    """They wait for their claim: released to the crawl, or dropped; other claims are not touched."""
    inbox = MessageInbox(tmp_path / "inbox.sqlite")
    other = KeyClaim("b.test", "abcdefgh", "http://b.test/abcdefgh.txt")
    for claim, numbers in ((CLAIM, (1, 2)), (other, (3,)), (CLAIM, (4,))):
        inbox.hold(claim, pings(*numbers))
    assert inbox.claims() == [CLAIM, other]
    assert waiting(inbox) == []
    assert inbox.release(CLAIM) == 3
    assert waiting(inbox) == ["1", "2", "4"]
    assert inbox.drop(other) == 1
    assert (inbox.claims(), inbox.release(CLAIM), len(inbox)) == ([], 0, 3)
    inbox.close()


def appending(path: Path, connection: Connection) -> None:
    """Append without end, and report each number only after its message is kept."""
    inbox = MessageInbox(path)
    for number in range(1_000_000):
        inbox.append(pings(number))
        connection.send(number)


def test_killed_writer_loses_nothing_that_it_confirmed(tmp_path: Path) -> None:
    """Three times: every number that arrived here before the kill is in the inbox."""
    path = tmp_path / "inbox.sqlite"
    context = multiprocessing.get_context("spawn")
    for _ in range(3):
        here, there = context.Pipe()
        writer = context.Process(target=appending, args=(path, there))
        writer.start()
        there.close()
        confirmed = [here.recv() for _ in range(20)]
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        here.close()
        inbox = MessageInbox(path)
        pushed = inbox.peek(100_000)
        assert pushed is not None
        assert {f"http://a.test/{number}" for number in confirmed} <= {each.url for each in pushed.discoveries}
        inbox.remove(pushed.through)
        inbox.close()


def test_damage_is_an_error_with_a_hint(tmp_path: Path) -> None:
    """A file that is not a database is named."""
    path = tmp_path / "inbox.sqlite"
    path.write_bytes(b"nonsense" * 1000)
    with pytest.raises(CollectionDamaged, match=r"inbox\.sqlite") as raised:
        MessageInbox(path).peek(1)
    assert "move it away" in raised.value.hint
