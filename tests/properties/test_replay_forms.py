"""A crash in a crawl that submits forms costs nothing: replay gives the state of the run that was not killed."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.properties.replayed_world import IDENTIFIERS, START, Collection
from tests.properties.simulated_web import World
from tests.properties.test_replay import Witness, config_of, differ, go_on

from periplus.model import Fetched, FetchOutcome, FetchTask, Purpose, Url
from periplus.parts.forms.part import Forms
from periplus.urls import site_of

OPTIONS: dict[str, object] = {
    "forms.enabled": "submit",
    "forms.interval": 0.4,
    "politeness.delay": 0.1,
    "politeness.slow_factor": 0.0,
    "politeness.ip_delay": 0.0,
    "engine.checkpoint_interval": 5.0,
}
WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"]


class FormWorld(World):
    """Two sites with a form; that of the second refuses every query, and has a second form with a changing token."""

    @classmethod
    def made(cls) -> FormWorld:
        world = cls(0, 0, 1)
        plain = World.plain(2, 2)
        for name in ("sites", "robots", "names", "ips", "urls", "kinds", "links"):
            setattr(world, name, getattr(plain, name))
        return world

    def answer(self, task: FetchTask, now: float) -> FetchOutcome:
        if task.ip is None or task.purpose is Purpose.ROBOTS:
            return super().answer(task, now)
        self.asked[task.url, False] += 1
        if task.purpose is Purpose.SITEMAP:
            return self._fetched(task, now, 404, b"")
        query = dict(parse_qsl(urlsplit(task.url).query))
        if query and site_of(task.url) == "s1.test":
            return self._fetched(task, now, 429, b"")
        body = _results(query) if query else _page(task.url, now)
        return Fetched(task, 200, (("Content-Type", "text/html"),), body, now, 0.05, task.ip)


def _page(url: Url, now: float) -> bytes:
    options = "".join(f"<option>{number}" for number in range(1, 25))
    token = f"<form action=/other><input name=q><input type=hidden name=x value={now}></form>"
    form = f"<form action=/find><input name=q><select name=kind><option value=''>{options}</select></form>"
    return f"<title>{url}</title><p>{url} has words: {' '.join(WORDS)}</p>{form}{token}".encode()


def _results(query: dict[str, str]) -> bytes:
    """Three pages of two records for each kind."""
    kind, number = query.get("kind", ""), int(query.get("page", "1"))
    if not kind:
        return b"<title>nothing</title><p>nothing was found"
    links = "".join(f"<a href=/r/{kind}-{number}-{place}>{WORDS[place + number]} {kind}</a> " for place in (1, 2))
    following = f"<a href='/find?kind={kind}&amp;page={number + 1}'>next</a>" if number < 3 else ""
    return f"<title>results</title>{links}{following}".encode()


def test_a_crash_between_any_two_queries_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("periplus.store.warc.archive.identifiers", IDENTIFIERS)
    world = FormWorld.made()
    run = Collection(tmp_path / "run", config_of(OPTIONS), world, tuple(world.urls))
    run.begin()
    run.run(START + 8.0)
    witness = Witness(run, tmp_path / "photographs", 7, 10_000)
    run.run(START + 14.0)
    run.machine.after = None
    run.state.commit = witness._commit  # type: ignore[method-assign]
    rows = {row.form.action: row for row in run.state.forms}
    last = run.finish()
    assert rows[Url("https://s0.test/find")].status == "open"
    assert rows[Url("https://s0.test/other")].reason == "form-token"
    assert rows[Url("https://s1.test/find")].refusals == 1
    forms = run.machine.part(Forms)
    assert forms is not None
    assert len(forms._open[rows[Url("https://s0.test/find")].key].prober.state.records) > 5
    photographed = [number for number, moment in enumerate(witness.seen) if moment.photograph is not None]
    assert len(photographed) > 4
    for number in photographed:
        moment = witness.seen[number]
        assert moment.photograph is not None
        again = run.reopened(moment.photograph)
        differ(again.rows(), moment.rows, f"after input {number}, {type(moment.given).__name__}")
        if number in photographed[1::5]:
            go_on(again, witness.seen[number + 1 :])
            differ(again.finish(), last, f"at the end, after a crash at input {number}")
        else:
            again.engine.close()
        shutil.rmtree(moment.photograph.folder)


def test_a_server_that_refuses_is_asked_three_times(tmp_path: Path) -> None:
    """Over several days: once a day, and the form with a changing token never."""
    world = FormWorld.made()
    run = Collection(tmp_path / "run", config_of(OPTIONS), world, tuple(world.urls))
    run.begin()
    for day in range(5):
        run.clock.at = max(run.clock.at, START + day * 86_400.0)
        run.run(START + day * 86_400.0 + 6.0)
    rows = {row.form.action: row for row in run.state.forms}
    assert rows[Url("https://s1.test/find")].reason == "form-refused"
    asked = [url for url, is_dns in world.asked if not is_dns]
    assert not [url for url in asked if "/other" in url]
    assert 1 <= len({url for url in asked if url.startswith("https://s1.test/find")}) <= 3
    run.finish()
