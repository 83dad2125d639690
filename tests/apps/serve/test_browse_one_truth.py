"""A number is the same wherever it is shown: on a terminal, as JSON, in a browser, in SQL, in a report, for Prometheus.

A collection is crawled in two runs. Every place that shows one of its counts is asked, after each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.apps.serve.asking import PATIENCE, Site
from tests.apps.serve.browsed import HURRIED
from tests.lab.crawling import by_proxy, standing
from typer.testing import CliRunner

from periplus.apps.report.making import report_of
from periplus.apps.serve.running import running
from periplus.apps.serve.served import Served, ServeSettings
from periplus.cli.app import app
from periplus.cli.crawl.summary import print_end
from periplus.collection.collection import existing, held, planned
from periplus.collection.facts.lines import collection_lines, site_lines
from periplus.collection.facts.lookup import collection_facts, site_facts
from periplus.collection.running import CrawlRun
from periplus.collection.summary import Summary
from periplus.insight.views import Views
from periplus_lab import World
from periplus_lab.sites import Profile

LIMIT = 60
PROFILES = (Profile.SHOP, Profile.NONE, Profile.PARTIAL)
"""Sites with sitemaps that are complete, missing and partial; with dead links, probes and pages robots.txt forbids."""


class Shown:
    """A collection after a run, and the server that shows it."""

    def __init__(self, folder: Path, site: Site, summaries: list[Summary]) -> None:
        self.folder, self.site, self.summaries = folder, site, summaries
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
        text = self.site.get("/metrics").text
        samples = re.findall(rf"^{name}\{{([^}}]*)\}} (\S+)$", text, re.MULTILINE)
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        return int(sum(float(value) for said, value in samples if all(each in said for each in wanted)))

    def sql(self, query: str) -> int:
        with Views(self.folder) as views:
            return int(views.rows(query)[0]["number"])


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


@pytest.fixture(scope="module", params=["with a queue", "finished"])
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """After one run that a limit ended, and after a second one to the end."""
    folder = tmp_path_factory.mktemp("truth") / "lab"
    world = World(11, len(PROFILES), pages=150, profiles=PROFILES)
    with standing(world) as lab:
        seeds, options = (
            [site.url for site in world.sites()],
            by_proxy(lab) | HURRIED | {"patterns.exclude": ["*/about.html"]},
        )
        summaries = [crawl(folder, seeds, options | {"crawl.limit": LIMIT})]
        if request.param == "finished":
            summaries.append(crawl(folder, seeds, options | {"crawl.limit": 0}))
    with running(Served((folder,), ServeSettings(port=0, timeout=PATIENCE))) as url:
        yield Shown(folder, Site(url), summaries)


def check(places: Mapping[str, object]) -> None:
    """All places say the same."""
    assert len({repr(value) for value in places.values()}) == 1, places


@pytest.mark.proof
def test_pages(shown: Shown) -> None:
    """Answers with a page, however often; not those that say there is none, and not probes."""
    check({
        "the end of the crawl": shown.summaries[-1].pages,
        "the runs it had": sum(each.this_run.pages for each in shown.summaries),
        "info": number(shown.lines["pages"]),
        "info --json": shown.info["tally"]["pages"],
        "the page Collection": shown.twin("")["facts"]["tally"]["pages"],
        "the page Runs": sum(row["pages"] for row in shown.rows("/runs", "runs")),
        "the page Live": shown.view["pages"],
        "metrics": sum(shown.metric("periplus_pages_total", kind=kind) for kind in ("new", "changed", "same")),
        "SQL": shown.sql("select count(*) filter (where is_page) as number from attempts"),
    })  # fmt: skip
    assert shown.sql("select count(*) as number from fetches where purpose = 'page'") > shown.facts.tally.pages


def test_pages_of_each_run(shown: Shown) -> None:
    rows = sorted(shown.rows("/runs", "runs"), key=lambda row: row["began"])
    assert [row["pages"] for row in rows] == [each.this_run.pages for each in shown.summaries]
    assert [row["requests"] for row in rows] == [each.this_run.fetches for each in shown.summaries]


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
    assert bool(shown.facts.queued) is (len(shown.summaries) == 1)


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


def test_sites(shown: Shown) -> None:
    check(
        {
            "the end of the crawl": shown.summaries[-1].sites,
            "info": number(shown.lines["sites"]),
            "the page Sites": shown.twin("/sites")["facts"]["sites"],
            "the page Live": shown.view["hosts"],
        }
    )


def test_next_visits(shown: Shown) -> None:
    """Of a collection that is not watched no page says that visits are planned."""
    with Views(shown.folder) as views:
        url = views.rows("select url from attempts where is_page order by url limit 1")[0]["url"]
    lines = dict(shown.twin("/freshness")["lines"])
    assert "planned" not in lines
    assert lines["budget"].startswith("none: ")
    assert dict(shown.site.get("/api/collection/url", url=url).json["lines"])["next visit"].startswith(
        "none is planned"
    )


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


def test_a_link_that_was_found_and_refused_is_known_as_such(shown: Shown) -> None:
    """On a terminal, as JSON and in a browser: where it was found and which rule refused it."""
    with Views(shown.folder) as views:
        [row] = views.rows(
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
