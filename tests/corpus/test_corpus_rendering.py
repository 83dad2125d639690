"""Real pages that servers made: none of them is taken for an application's shell."""

from __future__ import annotations

import tarfile
from itertools import islice
from pathlib import Path

import pytest

from periplus.content import read_page
from periplus.parts.render.pages import script_need
from periplus_lab import World


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("folder", "least"),
    [pytest.param("forms_formasaurus", 470, marks=pytest.mark.slow), ("pagination_autopager", 100)],
)
def test_pages_made_by_servers_need_no_scripts(corpus: Path, folder: str, least: int) -> None:
    """Not one is flagged."""
    read, found = 0, []
    with tarfile.open(corpus / folder / "pages.tar.gz") as pages:
        for member in pages:
            file = pages.extractfile(member)
            if file is not None:
                body = file.read()
                need = script_need(read_page(body, "https://example.org/", "text/html"), body.decode("latin-1"))
                read += 1
                if need.is_needed:
                    found.append((member.name, need))
    assert read >= least
    assert found == []


def test_pages_of_the_lab_need_no_scripts() -> None:
    """What the lab's sites serve is complete without scripts, on every site."""
    world = World(sites=12, pages=240)
    for site in world.sites():
        for url in islice(world.urls(site.host, world.epoch), 3):
            body = world.content(url, world.epoch)
            need = script_need(read_page(body, url, "text/html"), body.decode("latin-1"))
            assert not need.is_needed, url
