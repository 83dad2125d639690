"""A survey of generated domains finds what was planned, in every table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.lab.surveyed_collection import PlayedSurvey
from tests.lab.surveyed_domains import SurveyedDomains
from tests.lab.surveyed_truth import differences, truth

from periplus.apps.survey import FileFact, RobotsFact, Survey, facts_of_collection, tables_of


@pytest.mark.parametrize(
    ("domains", "options"),
    [
        pytest.param(1000, {"seed": 1}, id="as in the report", marks=pytest.mark.slow),
        pytest.param(150, {"seed": 2, "port": 8080}, id="with a port"),
        pytest.param(60, {"seed": 3, "naming": 0.9, "most_entries": 2000}, id="mostly sitemaps"),
    ],
)
def test_every_table_is_the_truth(domains: int, options: dict[str, Any], tmp_path: Path) -> None:
    """What is counted of a collection equals what the generator planned, number by number, in every table."""
    plan = SurveyedDomains(domains, **options)
    PlayedSurvey(plan, tmp_path).run()
    survey = Survey().extend(facts_of_collection(tmp_path, plan.domains))
    assert differences(survey, plan) == []


def test_moved_files_are_known_under_either_name(tmp_path: Path) -> None:
    """Behind a redirect a file may be told of by the name that others know or by where it lies: it is the same file."""
    plan = SurveyedDomains(60, 10, naming=0.9)
    PlayedSurvey(plan, tmp_path, tells_place=True).run()
    assert differences(Survey().extend(facts_of_collection(tmp_path, plan.domains)), plan) == []


def test_the_seeds_are_the_domains_where_none_are_given(tmp_path: Path) -> None:
    """A collection knows whom it was asked to survey, and in which order."""
    plan = SurveyedDomains(80, 4)
    PlayedSurvey(plan, tmp_path).run()
    assert differences(Survey().extend(facts_of_collection(tmp_path)), plan) == []


def test_the_order_of_facts_does_not_matter(tmp_path: Path) -> None:
    """Shards tell in any order; the tables are the same."""
    plan = SurveyedDomains(80, 5, naming=0.5)
    PlayedSurvey(plan, tmp_path).run()
    facts = list(facts_of_collection(tmp_path, plan.domains))
    assert tables_of(Survey().extend(facts)) == tables_of(Survey().extend(reversed(facts)))


def test_the_generator_makes_what_the_report_found() -> None:
    """The plan holds every kind of domain and file, in the report's shares, or the tests above prove little."""
    plan = SurveyedDomains(2500, 6)
    found = [robots for robots in plan.robots if robots.is_file]
    assert 0.42 < len(found) / 2500 < 0.48
    assert 0.11 < sum(bool(robots.sitemaps) for robots in found) / len(found) < 0.17
    assert {"file", "file-at-www", "html-instead", "http-404", "http-503", "timeout", "closed-early"} <= {
        robots.outcome for robots in plan.robots
    }
    assert {file.kind for file in plan.files} >= {"urlset", "index", "text", "rss", "atom", "html", "unknown"}
    assert {file.outcome for file in plan.files} >= {"read", "html-instead", "not-a-sitemap", "http-404", "timeout"}
    assert {row[0] for row in truth(plan)["levels"]} >= {0, 1, 2, 3}
    assert {row[0] for row in truth(plan)["sitemap_problems"]} >= {"truncated", "gzip-truncated", "bad-lastmod"}
    assert {row[0] for row in truth(plan)["robots_problems"]} >= {"no-colon", "not-a-field", "outside-group"}


def test_the_same_seed_gives_the_same_domains() -> None:
    """A plan can be made again from its seed, answer by answer."""
    assert SurveyedDomains(100, 7).answers == SurveyedDomains(100, 7).answers
    assert SurveyedDomains(100, 7).answers != SurveyedDomains(100, 8).answers


def test_there_is_one_fact_for_each_domain_and_each_file(tmp_path: Path) -> None:
    """Facts come domain by domain in the order of the list, then file by file, each once."""
    plan = SurveyedDomains(80, 9, naming=0.5)
    PlayedSurvey(plan, tmp_path).run()
    facts = list(facts_of_collection(tmp_path, plan.domains))
    assert [fact.domain for fact in facts if isinstance(fact, RobotsFact)] == plan.domains
    files = [fact for fact in facts if isinstance(fact, FileFact)]
    assert sorted(fact.url for fact in files) == sorted(file.url for file in plan.files)
    assert {(fact.url, fact.tree, fact.parent, fact.depth) for fact in files} == {
        (file.url, file.tree, file.parent, file.depth) for file in plan.files
    }
