"""Requests to restart the shards of a running crawl, as files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from periplus.collection.restarting import RestartRequest, drop_restart, request_restart, requested_restart
from periplus.store.layout import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A collection without anything in it."""
    (tmp_path / "state").mkdir()
    return Layout(tmp_path)


def test_a_request_is_read_as_it_was_written(layout: Layout) -> None:
    """And there is none where none was made."""
    assert requested_restart(layout) is None
    request_restart(layout, RestartRequest.own())
    assert requested_restart(layout) == RestartRequest.own()


def test_a_request_of_another_user_asks_nothing(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names a program that would be run."""
    request_restart(layout, RestartRequest.own())
    monkeypatch.setattr("periplus.collection.restarting.os.geteuid", lambda: layout.folder.stat().st_uid + 1)
    assert requested_restart(layout) is None


def test_a_request_from_before_the_crawl_is_refused(layout: Layout) -> None:
    """Who asked is told; a file with something else in it asks nothing."""
    request_restart(layout, RestartRequest.own())
    drop_restart(layout)
    asked = requested_restart(layout)
    assert asked is not None
    assert asked.refused
    layout.restart_request.write_bytes(os.urandom(30))
    assert requested_restart(layout) is None
