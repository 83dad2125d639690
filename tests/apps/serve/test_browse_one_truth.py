"""A number is the same wherever it is shown: on a terminal, as JSON, in a browser, in SQL, in a report, for Prometheus.

A collection is crawled in two runs, refreshed when its pages have changed, and watched. Every place that shows one of
its counts is asked after each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from tests.apps.serve.asking import PATIENCE, Site
from tests.apps.serve.browsed import HURRIED
from tests.lab.crawling import by_proxy

import periplus
from periplus.apps.report.making import report_of
from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus.cli.app import app
from periplus.cli.crawl.summary import print_end
from periplus.collection.collection import existing, held, planned
from periplus.collection.facts.lines import collection_lines, site_lines, url_lines
from periplus.collection.facts.lookup import collection_facts, site_facts, url_facts
from periplus.collection.running import CrawlRun
from periplus.collection.summary import Summary
from periplus.insight.views import Views
from periplus_lab import World
from periplus_lab.server import RunningLab, Server, SteppedClock
from periplus_lab.sites import Profile

LIMIT = 60
_LONG = 20 * 86400.0
"""Seconds in which pages of the lab change."""
PROFILES = (Profile.SHOP, Profile.NONE, Profile.PARTIAL)
"""Sites with sitemaps that are complete, missing and partial; with dead links, probes and pages robots.txt forbids."""


class Shown:
    """A collection after a run, and the server that shows it."""

    def __init__(self, folder: Path, site: Site, summaries: list[Summary], *, is_watched: bool) -> None:
        self.folder, self.site, self.summaries, self.is_watched = folder, site, summaries, is_watched
        self.facts = collection_facts(existing(folder))
        self.lines = dict(collection_lines(self.facts, is_whole=False))
        self.info = self.asked("info", str(folder), "--json")
        self.view = {name: self._field(name) for name in ("pages", "queued", "known", "hosts", "error_count")}

    def asked(self, *args: str) -> Any:
        result = CliRunner().invoke(app, args)
        assert result.exit_code == 0, result.output
        return msgspec.json.decode(result.stdout)

    def _field(self, name: str) -> int:
        """A number of the live page."""
        found = re.search(rf'data-field="{name}"[^>]*>([\d,]+)<', self.site.get("/live").text)
        assert found, name
        return number(found[1])

    def twin(self, path: str) -> Any:
        return self.site.get(f"/api/collection{path}").json

    def rows(self, path: str, table: str) -> Any:
        return self.site.get(f"/api/collection{path}", table=table).json

    def metric(self, name: str, **labels: str) -> int:
        """The sum of a metric over all labels that are not given."""
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        return int(sum(value for said, value in self.samples(name) if all(each in said for each in wanted)))

    def samples(self, name: str) -> list[tuple[str, float]]:
        text = self.site.get("/metrics").text
        return [
            (said, float(value)) for said, value in re.findall(rf"^{name}\{{([^}}]*)\}} (\S+)$", text, re.MULTILINE)
        ]

    def by_reason(self, name: str) -> dict[str, int]:
        found = ((re.search(r'reason="([^"]*)"', said), value) for said, value in self.samples(name))
        return {reason[1]: int(value) for reason, value in found if reason}

    def select(self, query: str) -> list[dict[str, Any]]:
        with Views(self.folder) as views:
            return views.rows(query)

    def sql(self, query: str) -> int:
        return int(self.select(query)[0]["number"])


def number(text: str) -> int:
    """The first number of a line."""
    found = re.match(r"[\d,]+", text)
    assert found, text
    return int(found[0].replace(",", ""))


def crawl(folder: Path, seeds: list[str], options: dict[str, object]) -> Summary:
    found = planned(folder, typed=seeds, options=options)
    with held(folder):
        found.save()
        run = CrawlRun(found)
        for statuses in run.open().progress():
            run.read(statuses)
        return run.end()


@pytest.fixture(scope="module", params=["with a queue", "finished", "watched"])
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """After one run that a limit ended, after a second one to the end, and after a refresh and a watch."""
    folder = tmp_path_factory.mktemp("truth") / "lab"
    world = World(11, len(PROFILES), pages=150, profiles=PROFILES)
    clock = SteppedClock(world.epoch)
    with RunningLab(Server(world, clock)) as lab:
        seeds, options = (
            [site.url for site in world.sites()],
            by_proxy(lab) | HURRIED | {"patterns.exclude": ["*/about.html"]},
        )
        summaries = [crawl(folder, seeds, options | {"crawl.limit": LIMIT})]
        if request.param != "with a queue":
            summaries.append(crawl(folder, seeds, options | {"crawl.limit": 0}))
        if is_watched := request.param == "watched":
            clock.advance(_LONG)
            assert periplus.open(folder).refresh().changed
            clock.advance(_LONG)
            with periplus.open(folder).watch(budget="500000", for_=4.0, settings={"refresh.shortest": 0.2}) as watch:
                assert any(True for _ in watch)
            summaries.append(watch.summary)
    with running(Served((folder,), ServeSettings(port=0, timeout=PATIENCE))) as url:
        yield Shown(folder, Site(url), summaries, is_watched=is_watched)


def check(places: Mapping[str, object]) -> None:
    """All places say the same."""
    assert len({repr(value) for value in places.values()}) == 1, places


@pytest.mark.proof
def test_pages(shown: Shown) -> None:
    """Answers with a page, however often; not those that say there is none, and not probes."""
    check({
        "the end of the crawl": shown.summaries[-1].pages,
        "info": number(shown.lines["pages"]),
        "info --json": shown.info["tally"]["pages"],
        "the page Collection": shown.twin("")["facts"]["tally"]["pages"],
        "the page Runs": sum(row["pages"] for row in shown.rows("/runs", "runs")),
        "the page Live": shown.view["pages"],
        "metrics": sum(shown.metric("periplus_pages_total", kind=kind) for kind in ("new", "changed", "same")),
        "SQL": shown.sql("select count(*) filter (where is_page) as number from attempts"),
    })  # fmt: skip
    assert shown.sql("select count(*) as number from fetches where purpose = 'page'") > shown.facts.tally.pages


@pytest.mark.proof
def test_pages_of_each_run(shown: Shown) -> None:
    """Of a watch as well; a refresh returns its own counts."""
    rows = sorted(shown.rows("/runs", "runs"), key=lambda row: row["began"])
    ran = [(each.this_run.pages, each.this_run.fetches) for each in shown.summaries]
    found = [(row["pages"], row["requests"]) for row in rows]
    assert (found[:2], found[-1]) == (ran[:2], ran[-1])
    assert len(rows) == len(ran) + shown.is_watched
    for each in shown.summaries:
        assert each.this_run.pages_per_second == pytest.approx(each.this_run.pages / each.this_run.seconds, abs=0.1)


@pytest.mark.proof
def test_pages_once(shown: Shown) -> None:
    """Pages that are there, each counted once: over all sites, and by site."""
    sites = [row["site"] for row in shown.rows("/sites", "sites")]
    found = {site: site_facts(existing(shown.folder), site) for site in sites}
    check({
        "the end of the crawl": shown.summaries[-1].new,
        "info": shown.facts.tally.new,
        "info SITE": sum(number(dict(site_lines(each))["pages"]) for each in found.values() if each is not None),
        "metrics": shown.metric("periplus_pages_total", kind="new"),
        "SQL": shown.sql("select count(distinct url) as number from attempts where is_page"),
    })  # fmt: skip
    if len(shown.summaries) == 1:
        assert shown.summaries[0].new == LIMIT


@pytest.mark.proof
def test_requests(shown: Shown) -> None:
    report = report_of(existing(shown.folder), lambda each: (each.kind, each.verdict))
    check({
        "the end of the crawl": shown.summaries[-1].fetches,
        "info": number(shown.lines["requests"]),
        "the page Runs": sum(row["requests"] for row in shown.rows("/runs", "runs")),
        "the figure of requests over time": sum(row["requests"] for row in shown.rows("", "rate")),
        "the report": report.row("requests")["requests"],
        "metrics": shown.metric("periplus_fetches_total"),
        "SQL": shown.sql("select count(*) as number from attempts"),
    })  # fmt: skip
    check(
        {
            "info": shown.facts.total.pages,
            "the page Sites": sum(row["pages"] for row in shown.rows("/sites", "sites")),
            "SQL": shown.sql("select count(*) as number from attempts where purpose = 'page'"),
        }
    )


@pytest.mark.proof
def test_errors(shown: Shown) -> None:
    """A robots.txt or sitemap that is not there is none."""
    check({
        "the end of the crawl": sum(shown.summaries[-1].errors.values()),
        "the page Collection": sum(row["number"] for row in shown.rows("", "errors")),
        "the page Runs": sum(row["errors"] for row in shown.rows("/runs", "runs")),
        "the figure of requests over time": sum(row["errors"] for row in shown.rows("", "rate")),
        "the page Live": shown.view["error_count"],
        "metrics": shown.metric("periplus_errors_total"),
        "SQL": shown.sql("select count(*) filter (where is_error) as number from attempts"),
    })  # fmt: skip
    assert shown.facts.tally.errors
    assert shown.sql("select count(*) as number from attempts where status >= 400 and not is_error")


@pytest.mark.proof
def test_bytes(shown: Shown) -> None:
    check(
        {
            "the end of the crawl": shown.summaries[-1].bytes,
            "info --json": shown.info["tally"]["downloaded"],
            "the page Runs": sum(row["bytes"] for row in shown.rows("/runs", "runs")),
            "metrics": shown.metric("periplus_fetch_bytes_total"),
            "SQL": shown.sql("select sum(bytes) as number from attempts"),
        }
    )


@pytest.mark.proof
def test_queue(shown: Shown) -> None:
    """Pages that wait, each once; by site, with a note of what is counted twice there."""
    ended, total = shown.summaries[-1], shown.facts.total
    check({
        "the end of the crawl": ended.queued - ended.queued_files,
        "info": number(shown.lines["queue"]),
        "info --json": shown.info["queued"],
        "the page Live": shown.view["queued"],
        "metrics": shown.metric("periplus_queue_urls"),
        "the queue as text": len(shown.site.get("/live/queue.txt").text.split()) + total.retries,
    })  # fmt: skip
    check(
        {
            "info": total.queued,
            "the page Sites": sum(row["queued"] for row in shown.rows("/sites", "sites")),
            "info of every site": shown.facts.queued + total.twice - total.retries - total.pooled,
        }
    )
    if not shown.is_watched:
        assert bool(shown.facts.queued) is (len(shown.summaries) == 1)


@pytest.mark.proof
def test_known(shown: Shown) -> None:
    check(
        {
            "the end of the crawl": shown.summaries[-1].known,
            "info": number(shown.lines["known"]),
            "the page Live": shown.view["known"],
            "metrics": shown.metric("periplus_known_urls"),
            "SQL": shown.sql("select count(*) filter (where is_new) as number from discoveries"),
        }
    )


@pytest.mark.proof
def test_sites(shown: Shown) -> None:
    check(
        {
            "the end of the crawl": shown.summaries[-1].sites,
            "info": number(shown.lines["sites"]),
            "the page Sites": shown.twin("/sites")["facts"]["sites"],
            "the page Live": shown.view["hosts"],
        }
    )


@pytest.mark.proof
def test_next_visits(shown: Shown) -> None:
    """Of a collection that is not watched, nothing says that visits are planned, whatever came of the last."""
    kinds = ("is_page", "outcome = 'redirected'", "purpose = 'page' and status = 404")
    urls = [shown.select(f"select min(url) as url from attempts where {kind}")[0]["url"] for kind in kinds]
    page, *others = [dict(shown.site.get("/api/collection/url", url=url).json["lines"]) for url in urls]
    for url, lines in zip(urls, (page, *others), strict=True):
        said = dict(url_lines(url_facts(existing(shown.folder), url), str(shown.folder)))
        assert {name: said[name] for name in lines} | {"fresh": ""} == lines | {"fresh": ""}
    lines = dict(shown.twin("/freshness")["lines"])
    next_of = [said.get("next visit") or said.get("next") or "none is planned" for said in (page, *others)]
    planned = ["planned" in lines, *(not said.startswith("none") for said in (lines["budget"], *next_of))]
    assert planned == [shown.is_watched] * 5
    assert bool(shown.samples("periplus_refresh_price")[0][1]) is shown.is_watched


def test_freshness(shown: Shown) -> None:
    """Its sentence, without the time that passes, and its number, where it is known well enough."""
    fresh = shown.facts.freshness
    assert fresh is not None
    sentences = {
        "info": shown.lines["fresh"],
        "the page Collection": dict(shown.twin("")["lines"])["fresh"],
        "the page Freshness": dict(shown.twin("/freshness")["lines"])["fresh"],
    }
    check(
        {place: re.split(r" \(95 %|; last", said)[0] for place, said in sentences.items()}
    )  # the rest is of the moment
    ratio = [round(value, 3) for _, value in shown.samples("periplus_freshness_ratio")]
    assert ratio == ([round(fresh.fresh, 3)] if fresh.is_narrow else [])
    assert bool(fresh.checked) is shown.is_watched


def test_visits_that_found_a_change(shown: Shown) -> None:
    """Of all pages, the kinds add up; of some pages, what is said of each is what was seen."""
    tally, ended = shown.facts.tally, shown.summaries[-1]
    check({
        "the end of the crawl": (ended.new, ended.changed, ended.same),
        "info": (tally.new, tally.changed, tally.same),
        "info, in words": tuple(map(number, re.split(": |, ", shown.lines["pages"])[1:4])),
        "metrics": tuple(shown.metric("periplus_pages_total", kind=kind) for kind in ("new", "changed", "same")),
        "the changes of SQL": (
            shown.sql("select count(distinct url) as number from attempts where is_page"),
            shown.sql("select count(*) as number from changes where level in ('minor', 'major')"),
            shown.sql("select count(*) as number from changes where level not in ('minor', 'major')"),
        ),
    })  # fmt: skip
    check({
        "info": tally.new + tally.changed + tally.same,
        "again, of the page Runs": tally.new + sum(row["visited_again"] for row in shown.rows("/runs", "runs")),
    })  # fmt: skip
    assert bool(tally.changed) is shown.is_watched
    for row in shown.select(
        "select url, count(*) as visits from attempts where is_page group by url order by md5(url) limit 5"
    ):
        record = url_facts(existing(shown.folder), row["url"]).record
        assert record is not None
        assert record.visits == row["visits"]
    if shown.is_watched:
        classes = shown.rows("/freshness", "classes")
        check({
            "the page Freshness": sum(row["comparisons"] for row in classes),
            "the same by site": sum(row["comparisons"] for row in shown.rows("/freshness", "rates")),
            "SQL": shown.sql("select count(*) as number from changes"),
        })  # fmt: skip


def test_redirects(shown: Shown) -> None:
    check({
        "the end of the crawl": shown.summaries[-1].redirects,
        "info": number(shown.lines["requests"].rpartition("; ")[2]),
        "metrics": shown.metric("periplus_fetches_total", outcome="redirected", purpose="page"),
        "SQL": shown.sql("select count(*) as number from attempts where outcome = 'redirected' and purpose = 'page'"),
    })  # fmt: skip
    assert shown.facts.tally.redirects


def test_what_was_refused_or_left_out(shown: Shown) -> None:
    """By reason: each time that a link was refused, and each URL once where URLs are listed."""
    tally, ended = shown.facts.tally, shown.summaries[-1]
    where = {"refused": "discoveries where refused is not null", "excluded": "fetches where outcome = 'excluded'"}
    for name, table in where.items():
        column = "refused" if name == "refused" else "reason"
        rows = shown.select(f"select {column} as reason, count(*) as number from {table} group by all")
        check({
            "the end of the crawl": sorted(getattr(ended, name).items()),
            "info": sorted(getattr(tally, name).items()),
            "metrics": sorted(shown.by_reason(f"periplus_{name}_total").items()),
            "SQL": sorted((row["reason"], row["number"]) for row in rows),
        })  # fmt: skip
    listed = shown.rows("/excluded", "rules")
    assert sum(row["urls"] for row in listed) == shown.sql(
        "select (select count(*) from (select distinct url, refused, rule from discoveries where refused is not null))"
        " + (select count(*) from (select distinct url, reason, rule from fetches where outcome = 'excluded'))"
        " as number"
    )
    assert tally.refused
    assert tally.excluded


def test_languages_and_pages_of_sites(shown: Shown) -> None:
    """A page that was read again counts once, by what it declares now."""
    for site in [row["site"] for row in shown.rows("/sites", "sites")]:
        known = shown.site.get(f"/api/sites/{site}").json
        rows = shown.rows(f"/sites/{site}", "languages")
        check({
            "the page of the site": {row["language"]: row["pages"] for row in rows},
            "its answer to programs": known["languages"],
        })  # fmt: skip
        check({
            "its languages": sum(known["languages"].values()),
            "its answer to programs": known["pages"],
            "SQL": shown.sql(f"select count(distinct url) as number from pages where site = '{site}'"),
        })  # fmt: skip


@pytest.mark.proof
def test_what_another_run_excluded_is_not_said_of_this_one(shown: Shown, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that was allowed to fetch private addresses does not report those of the run before."""
    ended = msgspec.structs.replace(shown.summaries[-1], excluded={"private-address": 445})
    print_end(ended, is_json=False)
    assert "not fetched" not in capsys.readouterr().out
    said = msgspec.structs.replace(ended.this_run, excluded={"private-address": 3})
    print_end(msgspec.structs.replace(ended, this_run=said), is_json=False)
    assert "3 URLs not fetched: private-address" in capsys.readouterr().out
    before = shown.summaries[0].excluded
    assert sum(each.this_run.excluded.get("robots", 0) for each in shown.summaries) >= before.get("robots", 0)


@pytest.mark.proof
def test_a_link_that_was_found_and_refused_is_known_as_such(shown: Shown) -> None:
    """On a terminal, as JSON and in a browser: where it was found and which rule refused it."""
    [row] = shown.select(
        "select url, arg_max(referrer, found_at) as referrer, arg_max(refused, found_at) as refused"
        " from discoveries group by url having bool_and(refused is not null) order by url limit 1"
    )
    found = shown.asked("info", str(shown.folder), row["url"], "--json")
    assert not found["is_known"]
    assert (found["refused"]["reason"], found["refused"]["referrer"]) == (row["refused"], row["referrer"])
    page = shown.site.get("/api/collection/url", url=row["url"]).json
    lines = dict(page["lines"])
    assert lines["known"].startswith(f"no: found by a {found['refused']['source']} on {row['referrer']} at ")
    assert row["refused"] in lines["filters"]
    assert row["refused"] in page["why"][0]
    never = shown.asked("info", str(shown.folder), f"{row['url']}/never/heard/of", "--json")
    assert never["refused"] is None
