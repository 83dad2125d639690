"""The frontier for other crawlers against a small model: the same calls give the same answers, after restarts too."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from periplus_urlfrontier.client_frontier import MAX_GRANTED, ClientFrontier, SentUrl
from periplus_urlfrontier.client_queues import ClientQueues


class Model:
    """URLs by queue: when each is due (`None`: done) and in which order it became so."""

    def __init__(self) -> None:
        self.urls: dict[str, dict[str, tuple[float | None, int]]] = {}
        self.out: dict[tuple[str, str], float] = {}
        self.delay: dict[str, float] = {}
        self.blocked: dict[str, float] = {}
        self.limit: dict[str, int] = {}
        self.granted_at: dict[str, float] = {}
        self.step = 0

    def discover(self, key: str, url: str, now: float) -> None:
        self.step += 1
        self.urls.setdefault(key, {}).setdefault(url, (now, self.step))

    def report(self, key: str, url: str, date: float) -> None:
        self.step += 1
        self.out.pop((key, url), None)
        self.urls.setdefault(key, {})[url] = (date or None, self.step)

    def take(self, key: str, limit: int, lease: float, now: float) -> list[str]:
        self.out = {place: end for place, end in self.out.items() if end > now}
        if now < self.blocked.get(key, 0.0) or now < self.granted_at.get(key, 0.0) + self.delay.get(key, 0.0):
            return []
        urls = self.urls.get(key, {})
        used = sum(due is None for due, _ in urls.values()) + sum(out[0] == key for out in self.out)
        if self.limit.get(key):
            limit = min(limit, self.limit[key] - used)
        due = sorted((at, step, url) for url, (at, step) in urls.items() if at is not None and at <= now)
        found = [url for _, _, url in due[: max(0, limit)]]
        for url in found:
            self.step += 1
            urls[url] = now + lease, self.step
            self.out[key, url] = now + lease
        if found:
            self.granted_at[key] = now
        return found

    def totals(self, key: str, now: float) -> tuple[int, int, int]:
        urls = self.urls.get(key, {})
        done = sum(due is None for due, _ in urls.values())
        return len(urls) - done, sum(out[0] == key and end > now for out, end in self.out.items()), done


@pytest.mark.parametrize("seed", range(2))
def test_the_frontier_answers_as_the_model(tmp_path: Path, seed: int) -> None:
    random, model, now = Random(seed), Model(), 1000.0
    queues = ClientQueues(tmp_path)
    frontier = ClientFrontier(queues)
    for _ in range(600):
        now += random.choice([0.0, 0.5, 3.0])
        key, url = f"queue {random.randrange(4)}", f"https://x.example/{random.randrange(30)}"
        match random.randrange(12):
            case 0 | 1 | 2:
                frontier.discover([SentUrl(key, url, url)], now)
                model.discover(key, url, now)
            case 3 | 4:
                date = random.choice([0.0, now - 1, now + 5])
                frontier.report(SentUrl(key, url, url), date, now)
                model.report(key, url, date)
            case 5 | 6 | 7 | 8:
                limit, lease = random.randrange(1, 4), random.choice([1.0, 10.0])
                granted = [each.url for each in frontier.take(0, limit, key, lease, now, 100)]
                assert granted == model.take(key, limit, lease, now)
            case 9:
                value = random.choice([0.0, 2.0])
                frontier.set_delay(key, value)
                model.delay[key] = value
            case 10:
                until = random.choice([0.0, now + 4])
                frontier.block(key, until)
                model.blocked[key] = until
                limit = random.choice([0, 3, 8])
                if frontier.set_limit(key, limit):
                    model.limit[key] = limit
            case _:
                queues.commit()
                queues.close()
                queues = ClientQueues(tmp_path)
                frontier = ClientFrontier(queues)
        totals = frontier.totals(key, now)
        assert (totals.waiting, totals.out, totals.done) == model.totals(key, now)
    everything = frontier.totals("", now)
    each = [frontier.totals(f"queue {number}", now) for number in range(4)]
    assert everything.waiting == sum(queue.waiting for queue in each)
    assert everything.out == sum(queue.out for queue in each)
    assert everything.done == sum(queue.done for queue in each)
    removed = sum(frontier.delete_some(f"queue {number}", 1000) for number in range(4))
    assert removed == everything.waiting + everything.done
    assert queues.size == (0, 0, 0, 0)
    assert list(queues.scheduled()) == []
    queues.close()


def test_every_queue_is_granted_from_before_any_twice(tmp_path: Path) -> None:
    with ClientQueues(tmp_path) as queues:
        frontier = ClientFrontier(queues)
        frontier.discover([SentUrl(f"q{n % 7}", f"u{n}", f"u{n}") for n in range(70)], 1.0)
        for turn in range(10):
            keys = [each.key for _ in range(7) for each in frontier.take(1, 1, "", 30.0, 2.0 + turn, 100)]
            assert sorted(keys) == [f"q{n}" for n in range(7)]


def test_one_call_grants_no_more_than_its_bound(tmp_path: Path) -> None:
    with ClientQueues(tmp_path) as queues:
        frontier = ClientFrontier(queues)
        frontier.discover([SentUrl("q", f"u{n}", f"u{n}") for n in range(MAX_GRANTED + 1)], 1.0)
        assert len(frontier.take(0, 0, "", 30.0, 2.0, MAX_GRANTED + 1)) == MAX_GRANTED
        assert [each.url for each in frontier.take(0, 0, "", 30.0, 2.0, 100)] == [f"u{MAX_GRANTED}"]


def test_changes_without_a_commit_are_lost_whole(tmp_path: Path) -> None:
    with ClientQueues(tmp_path) as queues:
        ClientFrontier(queues).discover([SentUrl("q", "a", "a")], 1.0)
        queues.commit()
        ClientFrontier(queues).discover([SentUrl("q", "b", "b")], 2.0)
    with ClientQueues(tmp_path) as queues:
        frontier = ClientFrontier(queues)
        assert [each.row.url for each in frontier.page("", b"", 10)] == ["a"]
        assert frontier.totals("q", 3.0).waiting == 1
