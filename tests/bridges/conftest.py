"""One small crawl that the tests of bridges share."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bridges.small_crawl import crawl_small_site


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of a small site (see `small_crawl`); tests do not change it."""
    return crawl_small_site(tmp_path_factory.mktemp("bridges") / "site")
