"""What pages may be used for, on the page of a URL, in the report, and as a finding of an audit."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.crawling import crawl
from tests.lab.scripted_web import ScriptedWeb, page

from periplus.apps.audit.site_checks import SITE_CHECKS
from periplus.apps.report.questions import questions_for
from periplus.apps.serve.browse_urls import _of_tables
from periplus.insight.views import Views

HOME = "http://a.test/"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site that forbids training, and claims that one page was paid for."""
    folder = tmp_path_factory.mktemp("permissions") / "c"
    said: dict[str, str | bytes] = {
        HOME: page("home", "/paid"),
        f"{HOME}paid": page("paid"),
        f"{HOME}robots.txt": "User-agent: *\nContent-Usage: train-ai=n\n",
    }
    with ScriptedWeb(said) as web:
        web.headers[f"{HOME}paid"] = {"crawler-charged": "USD 0.01"}
        crawl(folder, [HOME], web.settings | {"permissions.ledger": True})
    return folder


def test_shown(crawled: Path) -> None:
    """Each place asks the view."""
    of_page = next(each for each in _of_tables(HOME) if each.name == "permitted")
    of_report = next(each for each in questions_for(9) if each.name == "permitted")
    with Views(crawled) as views:
        shown = {row["use"]: row for row in views.rows(of_page.sql)}
        counted = {(row["use"], row["answer"]): row["pages"] for row in views.rows(of_report.sql)}
    assert shown["train"]["evidence"] == f"{HOME}robots.txt line 2 Content-Usage: train-ai=n"
    assert (shown["train"]["answer"], shown["search"]["answer"]) == ("disallow", "unknown")
    assert counted["train", "disallow"] == 2


def test_charge_is_a_finding(crawled: Path) -> None:
    """A response that claims to have been paid is found, with the amount."""
    check = next(each for each in SITE_CHECKS if each.kind.name == "charged-without-consent")
    with Views(crawled) as views:
        views.ask("create temp table audited as select distinct url from fetches").read_all()
        found = views.rows(check.sql)
    assert [(row["url"], row["note"]) for row in found] == [(f"{HOME}paid", "USD 0.01")]
