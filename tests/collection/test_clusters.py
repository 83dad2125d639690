"""A cluster is an entry point of an installed package; without one, an error says what to install."""

from __future__ import annotations

from importlib.metadata import EntryPoints

import pytest

from periplus.collection import clusters
from periplus.model import UsageError


def test_the_installed_cluster_is_that_of_ray() -> None:
    """Which is loaded without Ray itself."""
    assert getattr(clusters.installed_cluster(), "__name__", "") == "periplus_ray"


def test_without_one_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "entry_points", lambda **_: EntryPoints(()))
    with pytest.raises(UsageError, match="needs periplus-ray") as error:
        clusters.installed_cluster()
    assert "pip install periplus-ray" in error.value.hint
