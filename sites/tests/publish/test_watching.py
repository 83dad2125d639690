"""A watched folder is scanned once it has changed and come to rest; what is written there by us does not count."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace
from tests.published.small_site import Site

from periplus.model import UsageError
from periplus_sites.publish import collections as publishing
from periplus_sites.publish import settings_for, watching
from periplus_sites.publish.settings import SourceSettings
from periplus_sites.publish.watching import fingerprint, folder_changes


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, 3)


def test_every_kind_of_change_is_seen(site: Site) -> None:
    seen = {fingerprint(site.root)}
    assert fingerprint(site.root) in seen
    site.edit(1)
    seen.add(fingerprint(site.root))
    (site.root / "deep").mkdir()
    (site.root / "deep" / "new.html").write_text("new")
    seen.add(fingerprint(site.root))
    site.path(0).unlink()
    seen.add(fingerprint(site.root))
    assert len(seen) == 4
    (site.root / ".hidden").write_text("not ours")
    (site.root / "sitemap.xml").write_text("ours")
    assert fingerprint(site.root, lambda path: path == "sitemap.xml") in seen


def test_a_build_counts_once_and_when_it_is_complete(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is written between two looks at the changed folder: it has not come to rest yet."""
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    edits: Iterator[tuple[int, ...]] = iter([(), (0,), (1,), ()])
    looked: list[int] = []

    def look(root: Path, skip: Callable[[str], bool]) -> int:
        site.edit(*next(edits))
        looked.append(fingerprint(root, skip))
        return looked[-1]

    monkeypatch.setattr(watching, "fingerprint", look)
    changes = folder_changes(site.root, poll=0.001, debounce=0.001)
    next(changes)
    assert len(looked) == 4
    assert len(set(looked)) == 3


def test_watching_ends(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    stop = Event()
    thread = Thread(target=lambda: list(folder_changes(site.root, stop=stop, poll=30.0)))
    thread.start()
    stop.set()
    thread.join(20.0)
    assert not thread.is_alive()


def test_the_system_is_asked_where_it_can_tell(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("watchfiles")
    counted: list[bool] = []

    def watch(root: Path, *, watch_filter: Callable[[object, str], bool], **options: Any) -> Iterator[set[str]]:
        counted.extend(watch_filter(1, str(root / name)) for name in ("page1.html", ".git/index", "sitemap.xml"))
        assert options["step"] == 2_000
        yield {"page1.html"}

    module.watch = watch
    monkeypatch.setitem(sys.modules, "watchfiles", module)
    assert list(folder_changes(site.root, skip=lambda path: path == "sitemap.xml")) == [None]
    assert counted == [True, False, False]


def test_a_watched_folder_is_scanned_and_a_half_written_one_is_not(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a change most files are missing; after the next they are back, with an edit."""
    for number in range(3, 30):
        site.versions.append(0)
        site.write(number)
    site.scan()
    settings = replace(settings_for("https://www.example.org/"), source=SourceSettings(folder=str(site.root)))
    said: list[str] = []

    def changes(*_: object, **__: object) -> Iterator[None]:
        for number in range(30):
            site.path(number).rename(site.root / f".page{number}")
        yield
        for number in range(30):
            (site.root / f".page{number}").rename(site.path(number))
        site.next_day()
        site.edit(2)
        yield

    monkeypatch.setattr(publishing, "folder_changes", changes)
    with site.publisher(settings) as publisher:
        done = list(publishing.scans_of_changes(publisher, settings, say=said.append))
    assert [each.scan.changed for each in done] == [1]
    assert said == ["not scanned: 30 of 30 known resources are missing from the source; nothing was changed"]


def test_only_a_folder_is_watched(site: Site) -> None:
    settings = replace(settings_for("https://www.example.org/"), source=SourceSettings(rows="-"))
    with site.publisher(settings) as publisher, pytest.raises(UsageError, match="only a folder"):
        next(publishing.scans_of_changes(publisher, settings, say=lambda _: None))
