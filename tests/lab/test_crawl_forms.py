"""Forms in whole crawls: traps that are never submitted, a database that is found completely, and manners."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest
from click.testing import CliRunner
from tests.lab.crawling import by_address, crawl, standing
from tests.lab.form_probing import floor
from tests.lab.scripted_web import ScriptedWeb, page, urlset

import periplus
from periplus.apps.report.drawing import FIGURES
from periplus.apps.report.questions import BY_NAME
from periplus.cli.app import app
from periplus.cli.crawl.summary import print_end
from periplus.insight.views import Views
from periplus.parts.forms.show import FormFacts
from periplus_lab import World

HOST = "kaimplolail.lab.test"
"""The smallest database of the lab whose form robots.txt allows."""
SUBMIT: dict[str, object] = {"forms.enabled": "submit", "forms.interval": 0.0}
HURRIED: dict[str, object] = {"politeness.delay": 0.0, "politeness.slow_factor": 0.0, "politeness.ip_delay": 0.0}
ONLY_THE_DATABASE = {"patterns.include": ["*/search", "*/find*", "*/record/*"]}

TRAPS = {
    "delete": "<form action=/delete><input name=q><button>Go</button></form>",
    "delete by its button": "<form action=/do><input name=id><button>Delete</button></form>",
    "sign-in": "<form action=/enter><input name=user><input type=password name=secret></form>",
    "newsletter": "<form action=/news><input type=email name=email><button>Subscribe</button></form>",
    "another domain": "<form action=http://elsewhere.example/search><input name=q></form>",
    "logout": "<form action=/logout><input type=submit value='Log out'></form>",
    "post": "<form action=/post/search method=post><input name=q></form>",
    "cart": "<form action=/cart/add><input name=quantity value=1><button>Add to cart</button></form>",
    "contact": "<form action=/contact><input name=name><textarea name=message></textarea></form>",
    "upload": "<form action=/put><input type=file name=f><input name=q></form>",
    "forbidden": "<form action=/private/search><input name=q></form>",
}


class TrapWeb(ScriptedWeb):
    """A site whose every form must be left alone; one has a hidden field that differs at every load."""

    def __init__(self) -> None:
        forms = "".join(TRAPS.values())
        super().__init__(
            {
                "http://a.test/": f"{page('home', '/token')}{forms}",
                "http://a.test/robots.txt": "User-agent: *\nDisallow: /private/",
            },
            knows_etags=False,
        )
        self.said = _Changing(self.said)


class _Changing(dict[str, str | bytes]):
    """A page whose form has a new value in a hidden field each time."""

    loads = 0

    def get(self, key: str, default: Any = None) -> Any:
        if key != "http://a.test/token":
            return super().get(key, default)
        self.loads += 1
        return f"{page('token')}<form action=/token/search><input name=q><input type=hidden name=x value={self.loads}>"


def table(folder: Path, question: str) -> list[dict[str, Any]]:
    with Views(folder) as views:
        return list(views.rows(question))


def test_no_trap_is_ever_submitted(tmp_path: Path) -> None:
    """The log of the server is the proof: it was asked for pages, and for nothing that a form leads to."""
    with TrapWeb() as web:
        crawl(tmp_path, ["http://a.test/"], web.settings | SUBMIT)
        asked = {urlsplit(url).path for url in web.asked} - {"/sitemap.xml", "/favicon.ico"}
        assert {path for path in asked if not path.startswith("/sitemap")} == {"/", "/token", "/robots.txt"}
        assert Counter(web.asked)["http://a.test/token"] == 2
    forms = table(tmp_path, "select * from forms")
    assert len(forms) == len(TRAPS) + 1
    assert {row["status"] for row in forms} == {"refused"}
    reasons = {urlsplit(row["action"]).path: row["reason"] for row in forms}
    assert reasons["/token/search"] == "form-token"
    assert reasons["/private/search"] == "robots"
    assert reasons["/post/search"] == "form-method"
    assert reasons["/search"] == "form-elsewhere"
    assert reasons["/do"] == "form-kind"


class Found:
    """What a crawl of one database asked for, and its collection."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        world = World()
        self.records = len(world.records(HOST))
        with standing(world) as lab:
            self.base = lab.url(HOST)
            options = by_address(lab) | HURRIED | SUBMIT | ONLY_THE_DATABASE
            crawl(folder, [f"{self.base}search"], options)
            (folder / "periplus.toml").touch()
            self.asked = [visit.target for visit in lab.log.visits()]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    return Found(tmp_path_factory.mktemp("forms"))


def test_a_query_is_sent_once(tmp_path: Path) -> None:
    """Pages of results are not compared with what browsers get: that would be the same query again, and at once."""
    with standing(World()) as lab:
        compared = {"cloaking.enabled": True, "cloaking.share": 1.0, "cloaking.first_after": 1}
        options = by_address(lab) | HURRIED | SUBMIT | ONLY_THE_DATABASE | compared
        crawl(tmp_path, [lab.url(HOST, "/search")], options | {"patterns.include": []})
        asked = Counter(visit.target for visit in lab.log.visits())
    queries = {target: times for target, times in asked.items() if "/find?" in target}
    assert len(queries) > 20
    assert set(queries.values()) == {1}
    assert asked["/"] > 1, "nothing was compared"


def test_a_choice_leads_to_every_record(found: Found) -> None:
    """All records, with at most 1.15 times the fewest possible requests."""
    records = {target for target in found.asked if target.startswith("/record/")}
    requests = [target for target in found.asked if target.startswith(("/record/", "/find"))]
    assert len(records) == found.records
    assert len(requests) <= 1.15 * floor(found.records)
    assert max(Counter(requests).values()) == 1


def test_what_the_form_brought_is_recorded(found: Found) -> None:
    [form] = table(found.folder, "select * from forms")
    assert (form["kind"], form["status"], form["reason"]) == ("search", "ended", "complete")
    assert form["records"] == form["new_records"] == found.records
    assert form["estimate_low"] <= found.records <= form["estimate_high"]
    sources = table(found.folder, "select source, count(*) as urls from discoveries where is_new group by source")
    assert {row["source"] for row in sources} == {"seed", "form"}
    [verdict] = table(found.folder, "select * from verdicts where judge = 'forms'")
    assert verdict["verdict"] == "complete"


def test_forms_are_only_found_unless_asked_for(tmp_path: Path) -> None:
    """By default a search form is reported and not submitted; a later crawl with `--forms` submits it."""
    web = ScriptedWeb(
        {
            "http://a.test/": f"{page('home')}<form action=/find><select name=k><option>x<option>y<option>z</select>"
            "<input type=search name=q></form>",
            **{f"http://a.test/find?k={k}": page(f"all {k}", f"/r/{k}") for k in "xyz"},
            **{f"http://a.test/r/{k}": page(f"record {k}") for k in "xyz"},
        }
    )
    with web:
        crawl(tmp_path, ["http://a.test/"], web.settings)
        assert not [url for url in web.asked if "?" in url]
        assert [row["status"] for row in table(tmp_path, "select * from forms")] == ["found"]
        crawl(tmp_path, ["http://a.test/"], web.settings | SUBMIT)
    assert {url for url in web.asked if "/r/" in url} == {f"http://a.test/r/{k}" for k in "xyz"}


@pytest.mark.proof
def test_next_pages_are_asked_by_the_form_alone(tmp_path: Path) -> None:
    """Pages of results come one after the other, the interval apart, although each links to the next."""
    results = {_result(k, number): _results(k, number) for k in "xy" for number in range(1, 5)}
    home = f"{page('home')}<form action=/find><select name=k><option>x<option>y</select></form>"
    web = ScriptedWeb({"http://a.test/": home, **results})
    with web:
        crawl(tmp_path, ["http://a.test/"], web.settings | SUBMIT | {"forms.interval": 0.1, "sitemaps.follow": False})
    asked = table(
        tmp_path, "select url, epoch(started_at) as began from fetches where url like '%find?%' order by began"
    )
    assert {row["url"] for row in asked} == set(results)
    assert all(later["began"] - row["began"] >= 0.1 for row, later in pairwise(asked))


def _result(k: str, number: int) -> str:
    return f"http://a.test/find?k={k}" + (f"&page={number}" if number > 1 else "")


def _results(k: str, number: int) -> str:
    """One of four pages, with links to all others."""
    others = "".join(f"<a href='{_result(k, each)}'>{each}</a> " for each in range(1, 5) if each != number)
    return f"{page(f'{k} {number}', f'/r/{k}{number}')}{others}"


class SearchWeb(ScriptedWeb):
    """A site with a form, whose results are records that the same number of letters names."""

    def __init__(self, letters: str, *, links: bool = False, sitemap: bool = False) -> None:
        options = "".join(f"<option>{letter}" for letter in letters)
        records = [f"http://a.test/r/{letter}{number}" for letter in letters for number in range(3)]
        super().__init__(
            {
                "http://a.test/": f"{page('home', '/all')}"
                f"<form action=/find><select name=k>{options}</select><input type=search name=q></form>",
                "http://a.test/all": page("all", *(records if links else ())),
                **{url: page(f"record {url[-2:]}") for url in records},
                **{
                    f"http://a.test/find?k={letter}": page(
                        f"all {letter}", *(f"/r/{letter}{number}" for number in range(3))
                    )
                    for letter in letters
                },
            }
        )
        if sitemap:
            self.said["http://a.test/robots.txt"] = "Sitemap: http://a.test/s.xml"
            self.said["http://a.test/s.xml"] = urlset(*records)

    @property
    def queries(self) -> list[str]:
        return [dict(parse_qsl(urlsplit(url).query)).get("k", "") for url in self.asked if "/find?" in url]


@pytest.mark.parametrize(
    ("how", "reason"), [("links", "form-known"), pytest.param("sitemap", "form-listed", marks=pytest.mark.slow)]
)
def test_a_form_whose_records_are_known_is_retired(tmp_path: Path, how: str, reason: str) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    with SearchWeb(letters, **{how: True}) as web:
        crawl(tmp_path, ["http://a.test/"], web.settings | SUBMIT)
    assert [row["reason"] for row in table(tmp_path, "select * from forms")] == [reason]
    assert 0 < len(web.queries) < len(letters)


def test_a_server_that_refuses_is_left_alone(tmp_path: Path) -> None:
    """An error of the server ends queries for a day, and so for this crawl."""
    with SearchWeb("abcdefghijkl") as web:
        web.failing = {url for url in web.said if "/find?" in url}
        crawl(tmp_path, ["http://a.test/"], web.settings | SUBMIT | {"retries.max_attempts": 1})
    assert len({query for query in web.queries if query}) == 1
    assert [row["status"] for row in table(tmp_path, "select * from forms")] == ["open"]


def test_a_form_is_not_submitted_with_credentials(tmp_path: Path) -> None:
    """With a cookie of a person, a query might do something in their name."""
    with SearchWeb("abcdefghijkl") as web:
        cookies = {"session": "s3cret"}
        periplus.crawl(
            "http://a.test/", out=tmp_path, forms=True, sitemaps=False, proxy=web.base, delay=0.0, cookies=cookies
        ).run()
    assert "http://a.test/" in web.asked
    assert web.queries == []
    assert [form.reason for form in periplus.open(tmp_path).forms()] == ["form-signed-in"]


def typed(*words: str) -> str:
    done = CliRunner().invoke(app, list(words), prog_name="periplus")
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_command_shows_what_forms_brought(found: Found) -> None:
    said = typed("forms", str(found.folder))
    assert "1 form of 1 site: 1 ended" in said
    assert f"{found.records} records, {found.records} of them found by the form alone" in " ".join(said.split())
    [line] = typed("forms", str(found.folder), HOST, "--json").splitlines()
    [form] = periplus.open(found.folder).forms()
    assert msgspec.json.decode(line, type=FormFacts) == form
    assert (form.records, form.status, form.next) == (found.records, "ended", ())


def test_the_next_queries_are_shown(tmp_path: Path) -> None:
    """Of a form that was only found, and of one that rests."""
    with SearchWeb("abcdefghijkl") as web:
        crawl(tmp_path, ["http://a.test/"], web.settings)
        (tmp_path / "periplus.toml").touch()
        said = " ".join(typed("forms", str(tmp_path)).split())
        assert said.count("http://a.test/find?k=") == 10
        assert "--forms submits search forms" in said
        web.failing = {url for url in web.said if "/find?" in url}
        crawl(tmp_path, ["http://a.test/"], web.settings | SUBMIT | {"retries.max_attempts": 1})
    [form] = periplus.open(tmp_path).forms("a.test")
    assert form.status == "open"
    assert len(form.next) == 10
    assert form.rests_until > 0


def test_the_report_draws_records_against_requests(found: Found) -> None:
    question = BY_NAME["form_records"]
    rows = table(found.folder, question.sql)
    drawn = FIGURES[question.figure](rows, question.title)
    assert rows[-1]["records"] == found.records
    assert all(row["fewest"] <= row["requests"] for row in rows)
    assert "fewest possible" in drawn
    assert HOST in drawn


@pytest.mark.proof
def test_end_says_which_forms_are_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A form that rests until tomorrow has queries left: not every URL was visited, and the command shows it."""
    with standing(World()) as lab:
        few: dict[str, object] = {"forms.requests_per_day": 3, "crawl.workers": 1}
        options = by_address(lab) | HURRIED | SUBMIT | ONLY_THE_DATABASE | few
        summary = periplus.crawl(f"{lab.url(HOST)}search", out=tmp_path / "c", settings=options).run()
    assert summary.ended == "complete"
    assert [work.what for work in summary.open_work] == ["1 form is open, with queries left"]
    print_end(summary, is_json=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert "no URL waits, but 1 form is open, with queries left" in printed
    assert f"periplus forms {tmp_path / 'c'}" in printed
    assert "every URL in scope was visited" not in printed
    assert "(continues)" in printed
