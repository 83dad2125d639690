"""Auditing a site again: answers are current, and what changed since the last audit is reported."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.lab.scripted_web import MovedTo, ScriptedWeb, urlset
from tests.system.test_cli_audit import HOME, NAMES, clean, page, typed
from tests.system.typed import Run

import periplus
from periplus.apps.report.making import described, report_of
from periplus.cli.app import app
from periplus.collection.collection import existing
from periplus.collection.config.settings import Config


def in_a_hurry(folder: Path) -> None:
    """Let what fails be tried again at once."""
    settings = folder / "periplus.toml"
    settings.write_text(Config.load(settings).with_options({"retries.backoff": 0.02}).dump())


def names(audit: dict[str, Any]) -> set[str]:
    return {found["name"] for found in audit["findings"]}


@pytest.mark.slow
def test_a_restored_page_is_not_dead_any_more(run: Run, tmp_path: Path) -> None:
    """Also where the link stays; and a page that fails now is broken, however good it was."""
    folder = str(tmp_path / "c")
    with ScriptedWeb(clean()) as web:
        web.said[f"{HOME}/{NAMES[0]}"] = page("All about apples", f"{HOME}/", f"{HOME}/new")
        first = json.loads(run(*typed(web, "-o", folder, "--json")).stdout)
        assert "broken-links" in names(first)
        web.said[f"{HOME}/new"] = page("All about new things", f"{HOME}/")
        web.failing = {f"{HOME}/figs"}
        del web.said[f"{HOME}/nuts"]
        in_a_hurry(tmp_path / "c")
        second = json.loads(run(*typed(web, "-o", folder, "--json")).stdout)
        [found] = [each for each in second["findings"] if each["name"] == "broken-links"]
        assert {example["url"] for example in found["examples"]} == {f"{HOME}/figs", f"{HOME}/nuts"}
        [change] = [each for each in second["comparison"]["changes"] if each["name"] == "broken-links"]
        assert (change["new"], change["fixed"]) == ([f"{HOME}/figs", f"{HOME}/nuts"], [f"{HOME}/new"])


@pytest.mark.proof
def test_missing_pages_are_asked_again_only_while_something_refers_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a link, or in a sitemap; one that came back is noticed by the audit that finds the new link to it.

    A redirect that is a page now refers to nothing.
    """
    monkeypatch.setattr("periplus.cli.crawl.running.tune_garbage_collection", lambda: None)  # it lasts as long as we do
    folder, dead, moved = str(tmp_path / "c"), [f"{HOME}/dead-{number}" for number in range(9)], f"{HOME}/moved"
    with ScriptedWeb(clean()) as web:
        web.said[f"{HOME}/{NAMES[0]}"] = page("All about apples", f"{HOME}/", *dead, moved)
        web.said[moved] = MovedTo(dead[3])
        first = _audit(web, folder)
        assert {"broken-links", "needless-requests"} <= names(first)
        web.said[f"{HOME}/{NAMES[0]}"] = page("All about apples", f"{HOME}/", dead[0], moved)
        web.said[moved] = page("Kites and how to build them", f"{HOME}/")
        web.said[f"{HOME}/{NAMES[1]}"] = page("All about pears", f"{HOME}/", dead[2])
        web.said[f"{HOME}/sitemap.xml"] = urlset(f"{HOME}/", *(f"{HOME}/{name}" for name in NAMES), dead[1])
        web.said[dead[2]] = page("All about something that is back", f"{HOME}/")
        web.asked.clear()
        second = _audit(web, folder)
        assert sorted(url for url in web.asked if url in dead) == dead[:3]
    shown = {each["name"]: [example["url"] for example in each["examples"]] for each in second["findings"]}
    assert (shown["broken-links"], shown["listed-errors"]) == (dead[:1], dead[1:2])
    assert sorted(shown["pages-unlisted"]) == [dead[2], moved]
    assert "needless-requests" not in shown
    assert second["pages"] == first["pages"] + 2
    assert second["cost"]["requests"] == len(web.asked), "the requests of this audit"


def _audit(web: ScriptedWeb, folder: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, list(typed(web, "-o", folder, "--json")), prog_name="periplus")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.proof
def test_only_what_is_new_fails_and_budgets_always(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first audit is the baseline; the report of the collection has the same numbers as its audit."""
    monkeypatch.setattr("periplus.cli.crawl.running.tune_garbage_collection", lambda: None)
    folder, files = tmp_path / "c", {name: tmp_path / name for name in ("pages.csv", "pages.html", "audit.csv")}
    with ScriptedWeb(clean()) as web:
        web.said[f"{HOME}/{NAMES[0]}"] = page("All about apples", f"{HOME}/", f"{HOME}/dead")
        typed_now = typed(web, "-o", str(folder), "--fail-on", "new")
        assert _typed(*typed_now) == (0, {})
        web.said[f"{HOME}/{NAMES[1]}"] = page("All about pears", f"{HOME}/", f"{HOME}/lost")
        web.said[f"{HOME}/{NAMES[0]}"] = page("All about apples", f"{HOME}/")
        code, second = _typed(*typed_now, "--json", "--csv", str(files["audit.csv"]))
        assert (code, second["failed_on"]) == (4, ["broken-links"])
    assert [(point["errors"], point["warnings"]) for point in second["trend"]] == [(0, 1), (0, 1)]
    assert [(point["new"], point["fixed"]) for point in second["trend"]] == [(None, None), (1, 1)]
    assert periplus.open(folder).audit_trend()[-1].faults == {"broken-links": 1}
    rows = list(csv.DictReader(io.StringIO(files["audit.csv"].read_text())))
    assert {(row["state"], row["url"]) for row in rows if row["finding"] == "broken-links"} == {
        ("new", f"{HOME}/lost"), ("fixed", f"{HOME}/dead"),
    }  # fmt: skip
    assert _typed("audit", str(folder), "--fail-on", "new", "--grid", str(files["pages.csv"])) == (0, {})
    assert _typed("audit", str(folder), "--fail-on", "new", "--fail-on", "error") == (0, {})
    assert _typed("audit", str(folder), "--grid", str(files["pages.html"]))[0] == 0
    urls = [row["url"] for row in csv.DictReader(io.StringIO(files["pages.csv"].read_text()))]
    assert {f"{HOME}/lost", f"{HOME}/{NAMES[0]}"} <= set(urls)
    assert "application/json" in files["pages.html"].read_text()
    settings = folder / "periplus.toml"
    settings.write_text(Config.load(settings).with_options({"audit.max_broken_links": 0}).dump())
    code, third = _typed("audit", str(folder), "--json")
    assert (code, third["failed_on"]) == (4, ["max_broken_links"])
    report = report_of(existing(folder), described)
    assert {row["name"]: row["count"] for row in report.rows("findings")} == {
        each["name"]: each["count"] for each in third["findings"]
    }
    assert {row["name"]: row["why"] for row in report.rows("unchecked")} == third["unjudged"]
    assert all(report.row("audited")[name] == third[name] for name in ("pages", "listed", "linked", "waiting"))


def _typed(*words: str) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(app, list(words), prog_name="periplus")
    return done.exit_code, json.loads(done.stdout) if "--json" in words else {}


class NowDated(dict[str, str | bytes]):
    """A site whose sitemap has the time of the request in every entry."""

    def get(self, key: str, default: Any = None) -> Any:
        """The sitemap is written at every request."""
        return dated(datetime.now(UTC)) if key == f"{HOME}/sitemap.xml" else super().get(key, default)


def dated(when: datetime) -> str:
    lastmod = when.isoformat(timespec="microseconds")
    return urlset(*(f"{HOME}/{name} {lastmod}" for name in ("", *NAMES)))


@pytest.mark.slow
@pytest.mark.parametrize("follows", [False, True], ids=["built", "follows"])
def test_a_sitemap_of_this_minute_is_not_said_to_follow_the_request(run: Run, follows: bool) -> None:
    """Dates that were written just before the audit stand still at a second look; those of the request move."""
    site = clean()
    site[f"{HOME}/sitemap.xml"] = dated(datetime.now(UTC))
    with ScriptedWeb(NowDated(site) if follows else site) as web:
        audit = json.loads(run(*typed(web, "--json")).stdout)
    assert names(audit) == {"lastmod-always-now" if follows else "lastmod-build-time"}
