"""Real pages that servers made: none of them is taken for an application's shell."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from periplus.content import read_page
from periplus.parts.render.pages import script_need

pytestmark = pytest.mark.corpus


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
