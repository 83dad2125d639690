"""What is typed after `periplus watch`, and what it makes of a collection's settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.each_case import each_case

from periplus.apps.changes.watching import for_this_run, visits_a_day
from periplus.collection.collection import CollectionSetup
from periplus.collection.config.settings import Config
from periplus.model import Url, UsageError


@each_case("text", ["10000", "10000/day", "10000/d", "10,000", " 10_000/day "])
def test_a_budget_is_a_number_of_visits_a_day(text: str) -> None:
    """However people write it."""
    assert visits_a_day(text) == 10_000


@each_case("text", ["", "0", "-5", "many", "10/week", "1e9", "9" * 13, "1.5", "٣"])
def test_what_is_not_a_budget_is_refused_with_the_way_to_write_it(text: str) -> None:
    """Nothing would be fetched, or something that was not meant."""
    with pytest.raises(UsageError) as refused:
        visits_a_day(text)
    assert "10000/day" in refused.value.hint


def collected(**settings: object) -> CollectionSetup:
    config = Config().with_options({name.replace("__", "."): value for name, value in settings.items()})
    return CollectionSetup(Path("docs"), config, (Url("http://a.test/"),), is_new=False)


def test_limits_of_a_crawl_do_not_end_a_watch() -> None:
    """Neither pages nor time; only what is asked for now does."""
    crawled = collected(crawl__limit=100, crawl__for=60.0)
    now = for_this_run(crawled, None).config
    assert (now.crawl.limit, now.crawl.duration) == (0, 0.0)
    assert for_this_run(crawled, 5.0).config.crawl.duration == 5.0
    assert now.politeness == crawled.config.politeness


def test_visits_a_day_of_one_site_are_its_rest() -> None:
    """Never less than politeness asks for; sites at one address do not slow each other down by it."""
    slow = for_this_run(collected(watch__per_site=100), None).config.politeness
    assert slow.delay == 864.0
    assert slow.between_requests_to_an_address == 0.25
    assert for_this_run(collected(politeness__delay=30.0, watch__per_site=86_400), None).config.politeness.delay == 30.0
