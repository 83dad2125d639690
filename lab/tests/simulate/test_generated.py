"""Generated webs have the shape of the paper's sample: that is what makes them worth crawling."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.each_case import each_case

from periplus.model import ConfigError
from periplus_lab.simulate.generated import WebSettings, generate, paper_settings, site_sizes, small_settings
from periplus_lab.simulate.web import NO_ANSWER, OK, Web


@pytest.fixture(scope="module")
def web() -> Web:
    return generate(WebSettings(pages=35_000, sites=500, seed=4))


def depths(web: Web) -> NDArray[np.int64]:
    """Clicks from the seeds, or -1."""
    depth = np.full(len(web), -1)
    sources, targets = web.edges
    depth[web.seeds] = level = 0
    while (reached := targets[(depth[sources] == level) & (depth[targets] < 0)]).size:
        level += 1
        depth[reached] = level
    return depth


def pagerank(web: Web) -> NDArray[np.float64]:
    sources, targets = web.edges
    out, rank = np.diff(web.starts), np.full(len(web), 1 / len(web))
    for _ in range(40):
        rank = 0.85 * np.bincount(targets, rank[sources] / out[sources], len(web))
        rank += (1 - rank.sum()) / len(web)
    return rank


def tail_exponent(degrees: NDArray[np.int64], least: int) -> float:
    """Of a power law, from the degrees from `least` on (Hill's estimator)."""
    return float(1 + 1 / np.log(degrees[degrees >= least] / (least - 0.5)).mean())


def test_columns_are_whole(web: Web) -> None:
    """Links ascend, each once, none to itself; every page has its site, the home page first."""
    sources, targets = web.edges
    assert len(web.starts) == len(web) + 1 == 35_001
    assert len(web.sites) == len(web.latency) == len(web.bandwidth) == 500
    assert (np.diff(sources * len(web) + targets) > 0).all()
    assert (sources != targets).all()
    assert web.seeds.tolist() == np.unique(web.site, return_index=True)[1].tolist()


@pytest.mark.parametrize("settings", [small_settings(), WebSettings(ok=0.8), WebSettings(pages=50, sites=50)])
def test_every_page_can_be_reached_from_home_pages(settings: WebSettings) -> None:
    """Over pages that answer: those that fail have no links."""
    web = generate(settings)
    assert (depths(web) >= 0).all()
    assert (np.diff(web.starts)[web.status != OK] == 0).all()
    assert (web.status == OK).mean() == pytest.approx(settings.ok, abs=1e-4)
    assert (web.size[web.status == NO_ANSWER] == 0).all()


def test_links_are_as_many_and_as_local_as_asked_for(web: Web) -> None:
    """Ten a page, and about four of five within a site."""
    sources, targets = web.edges
    assert len(targets) / len(web) == pytest.approx(10, rel=0.02)
    assert (web.site[sources] == web.site[targets]).mean() == pytest.approx(0.8, abs=0.06)


def test_degrees_have_heavy_tails(web: Web) -> None:
    """Exponents near those of Broder et al. (2000): 2.1 for in-links, 2.72 for out-links."""
    incoming = np.bincount(web.targets, minlength=len(web))
    assert tail_exponent(incoming, 30) == pytest.approx(2.1, abs=0.3)
    assert tail_exponent(np.diff(web.starts), 30) == pytest.approx(2.72, abs=0.3)
    assert incoming.max() > 1_000


def test_rank_and_depth_go_together_for_a_few_clicks_alone(web: Web) -> None:
    """Figure 12: home pages below the pages one click away; then ranks fall, and beyond three clicks hardly."""
    rank, depth = pagerank(web) * len(web), depths(web)
    mean = [rank[depth == clicks].mean() for clicks in range(6)]
    assert mean[0] < mean[1]
    assert mean[1] > 2 * mean[2] > 2 * mean[3]
    assert mean[3] - mean[5] < (mean[1] - mean[3]) / 5
    incoming = np.bincount(web.targets, minlength=len(web))
    assert (incoming[web.seeds] <= 2).mean() > 0.3


def test_sizes_of_sites_follow_zipf() -> None:
    """The paper's numbers: all pages are there, no site above 25,000, and ranks times sizes are level."""
    paper = paper_settings()
    sizes = site_sizes(paper.pages, paper.sites, 1.0, paper.largest_site)
    assert sizes.sum() == 3_500_000
    assert (sizes.max(), sizes.min() >= 1) == (25_000, True)
    level = (sizes * np.arange(1, len(sizes) + 1))[100:10_000]
    assert level.max() / level.min() < 1.05


def test_sizes_and_speeds_are_those_of_the_settings(web: Web) -> None:
    """Pages of 24 KB in the mean; half of the sites slower than the medians."""
    assert web.size.mean() == pytest.approx(24_000, rel=0.05)
    assert np.median(web.latency) == pytest.approx(0.5, rel=0.1)
    assert np.median(web.bandwidth) == pytest.approx(50_000, rel=0.1)


def test_popularity_ties_fame_to_size() -> None:
    """With 1, large sites get more links from others, page for page as many as small ones; with 0 they do not."""

    def correlation(popularity: float) -> float:
        web = generate(WebSettings(popularity=popularity, unlinked=0.0, seed=9))
        sources, targets = web.edges
        foreign = targets[web.site[sources] != web.site[targets]]
        counts = np.bincount(web.site[foreign], minlength=len(web.sites))
        return float(np.corrcoef(np.log1p(counts), np.log(np.bincount(web.site)))[0, 1])

    assert abs(correlation(0.0)) < 0.25
    assert correlation(1.0) > 0.5


def test_a_seed_is_a_web() -> None:
    """The same to the last link; another with another seed."""
    one, same, other = (generate(WebSettings(pages=5_000, sites=50, seed=seed)) for seed in (1, 1, 2))
    for field in ("site", "starts", "targets", "size", "status", "latency", "bandwidth", "seeds"):
        assert np.array_equal(getattr(one, field), getattr(same, field))
    assert not np.array_equal(one.targets[:1000], other.targets[:1000])


def test_blocks_leave_no_seam() -> None:
    """Links are drawn for a block of pages at a time; a web of several blocks is as well linked throughout."""
    web = generate(WebSettings(pages=450_000, sites=100, links=3.0))
    thirds = np.add.reduceat(np.diff(web.starts), [0, 150_000, 300_000]) / 150_000
    assert thirds == pytest.approx([3.0] * 3, rel=0.05)


@each_case(
    "wrong",
    [
        WebSettings(pages=10, sites=11),
        WebSettings(pages=100, sites=1, largest_site=99),
        WebSettings(local=1.1),
        WebSettings(latency=0.0),
        WebSettings(links=float("nan")),
        WebSettings(ok=0.1),
        WebSettings(pages=1 << 40, sites=1 << 30),
    ],
)
def test_impossible_webs_are_refused(wrong: WebSettings) -> None:
    """With a hint, before any memory is taken."""
    with pytest.raises(ConfigError) as caught:
        generate(wrong)
    assert caught.value.hint


@pytest.mark.parametrize("settings", [WebSettings(pages=1, sites=1), WebSettings(unlinked=1.0), WebSettings(links=0.0)])
def test_the_smallest_and_the_loneliest_webs_are_webs(settings: WebSettings) -> None:
    """One page; sites without links to them; nothing but the tree."""
    web = generate(settings)
    sources, targets = web.edges
    assert (depths(web) >= 0).all()
    if settings.unlinked == 1.0:
        assert (web.site[sources] == web.site[targets]).all()
