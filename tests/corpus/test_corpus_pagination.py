"""Next pages of real lists, against what people have annotated (autopager)."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from periplus.content import read_page
from periplus.urls import canonical

pytestmark = pytest.mark.corpus


def test_next_pages(corpus: Path) -> None:
    """Precision and recall over all pages, those without a next page included."""
    folder = corpus / "pagination_autopager"
    right = found = wanted = 0
    with tarfile.open(folder / "pages.tar.gz") as pages:
        for page in json.loads((folder / "annotations.json").read_text()):
            file = pages.extractfile(page["page"])
            assert file is not None
            ours = read_page(file.read(), page["url"], f"text/html; charset={page['encoding']}").relations.next
            right += ours is not None and ours in {canonical(url) for url in page["next"]}
            found += ours is not None
            wanted += bool(page["next"])
    assert (right / found, right / wanted) >= (0.82, 0.82)
    assert right / wanted >= 0.9
