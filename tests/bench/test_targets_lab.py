"""The lab's sites with files, as `bench.targets` counts requests on them."""

from __future__ import annotations

from bench.targets import breadth_first, graph_of
from bench.targets_lab import KINDS, OF_KIND, lab_sites

from periplus.model import Url
from periplus.policy.filters import MediaSettings, MediaTypes


def test_there_are_as_many_sites_of_every_kind() -> None:
    """A kind without sites would be missing from the table; portals of another seed come last."""
    sites = list(lab_sites())
    assert [site.kind for site in sites] == [kind for kind in (*KINDS, KINDS[0]) for _ in range(OF_KIND)]
    assert len({site.home for site in sites}) == len(sites)


def test_a_crawl_of_everything_finds_files_that_few_pages_link_to() -> None:
    """Files are where the kind of site has them: here in the folders of two sections."""
    site = min(lab_sites(), key=lambda each: each.site.size)
    graph = graph_of(site)
    files = [url for url, kind in graph.kinds.items() if kind == "target"]
    assert 20 <= len(files) <= len(graph.pages) / 2
    assert len({url.rpartition("/")[0] for url in files}) == 2
    assert graph.goal <= breadth_first(graph) <= len(graph.kinds)


def test_downloads_of_a_portal_have_no_names_that_give_them_away() -> None:
    """Neither their extension nor that of the pages beside them says which is which."""
    portal = next(lab_sites())
    assert portal.look(portal.home)[0] == "html"
    data = f"{portal.home}dataset/1/resource/00ff00"
    assert (portal.look(data)[0], portal.look(f"{data}/download")[0]) == ("html", "target")
    wanted = MediaTypes(MediaSettings(types=portal.types))
    assert not wanted.wants_url(Url(f"{data}/download"))
