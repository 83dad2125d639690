"""A site published every day and its dishonest twin, watched: what a crawler learns of their dates and saves."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.published_twins import HONEST, TWIN, twins
from tests.markup import elements

from periplus.apps.report import gather_report, page
from periplus.insight.views import Views

DAYS = 14.0
"""How long the sites are watched: by then every page that never changes has been fetched a second time."""


@pytest.mark.slow
def test_a_published_site_is_believed_and_its_twin_is_not(tmp_path: Path) -> None:
    """The crawler learns that the dates are right, and fetches far less in vain.

    Both sites have the same pages, which are all written again every day; 36 % of them with changes.
    """
    with twins(tmp_path, pages=150) as sites:
        sites.crawl({"watch.visits_a_day": 60, "sitemaps.archives": True})
        sites.watch(DAYS)
        honest, twin = sites.learnt(HONEST), sites.learnt(TWIN)
        with Views(sites.collection) as views:
            report = gather_report(views, "twins", sites.clock.now())
    shown = {row["site"]: row for row in report.parts["lastmod_trust"].rows}
    assert honest.precision >= 0.98
    assert honest.verdict == "honest"
    assert twin.precision < 0.1
    assert shown[HONEST]["revisits"] >= 100
    assert shown[HONEST]["precision"] >= 0.98
    assert shown[TWIN]["precision"] < 0.8
    assert shown[HONEST]["needless_share"] < 0.6 * shown[TWIN]["needless_share"]
    (figure,) = elements(page(report), "//figure[@id='lastmod_trust']//svg")
    assert f"{HONEST}: lastmod is right" in figure.text_content()
    assert f"{TWIN}: needless visits" in figure.text_content()
