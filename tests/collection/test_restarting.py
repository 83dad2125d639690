"""Requests to restart the shards of a running crawl, as files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from periplus.collection.restarting import (
    RestartRequest,
    drop_restart,
    end_restart,
    request_restart,
    requested_restart,
)
from periplus.engine.sharding.builds import Build
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


def test_a_request_that_another_user_could_have_written_asks_nothing(layout: Layout) -> None:
    """Whatever the process withholds: the file is private, and counts only as long as it is."""
    before = os.umask(0)
    try:
        request_restart(layout, RestartRequest.own())
    finally:
        os.umask(before)
    assert layout.restart_request.stat().st_mode & 0o777 == 0o600
    layout.restart_request.chmod(0o620)
    assert requested_restart(layout) is None
    layout.restart_request.chmod(0o602)
    assert requested_restart(layout) is None


def test_a_link_a_pipe_or_a_folder_asks_nothing(layout: Layout) -> None:
    """A link could be exchanged between two looks, and a pipe would be waited for."""
    request_restart(layout, RestartRequest.own())
    elsewhere = layout.restart_request.rename(layout.folder / "elsewhere")
    layout.restart_request.symlink_to(elsewhere)
    assert requested_restart(layout) is None
    layout.restart_request.unlink()
    os.mkfifo(layout.restart_request, 0o600)
    assert requested_restart(layout) is None
    layout.restart_request.unlink()
    layout.restart_request.mkdir(0o700)
    assert requested_restart(layout) is None


def test_a_request_that_took_the_place_of_one_that_is_done_stays(layout: Layout) -> None:
    """The crawl begins with it next."""
    first = RestartRequest.own()
    later = RestartRequest("/elsewhere/python", Build.own())
    request_restart(layout, later)
    end_restart(layout, first)
    assert requested_restart(layout) == later
    end_restart(layout, later)
    assert not layout.restart_request.exists()
