"""A collection that was imported from an archive of another program, once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.archives.foreign import a_site, write_warc

from periplus.collection.importing import import_archives


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A WARC file of another program."""
    return write_warc(tmp_path_factory.mktemp("foreign") / "old.warc.gz", a_site())


@pytest.fixture(scope="session")
def imported(archive: Path) -> Path:
    """The collection made of it."""
    folder = archive.parent / "old"
    import_archives(folder, [archive])
    return folder
