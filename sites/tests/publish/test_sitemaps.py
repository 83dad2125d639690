"""Sitemaps as files: a log that leaves old files as they are, and sets that are consistent at every moment."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.published.small_site import BASE, DAY, Site

from periplus.formats import sitemap
from periplus_sites.publish import Publisher, RowInventory
from periplus_sites.publish.settings import PublishSettings, SitemapSettings, SiteSettings


def in_files_of(urls: int) -> PublishSettings:
    return PublishSettings(SiteSettings(BASE), sitemap=SitemapSettings("log", urls_per_file=urls))


LOG = in_files_of(100)


class Rows:
    """A site of rows whose pages change when told, published as a log."""

    def __init__(self, out: Path, pages: int, settings: PublishSettings = LOG) -> None:
        self.now = 1_750_000_000.0
        self.out = out
        self.settings = settings
        self.changed_at = dict.fromkeys(range(pages), 1_700_000_000.0)

    def scan(self) -> None:
        rows = [{"url": f"/item/{number}", "updated_at": at} for number, at in self.changed_at.items()]
        with Publisher(self.out, self.settings, clock=lambda: self.now) as publisher:
            publisher.scan([RowInventory(rows, BASE)])

    def edit(self, *numbers: int) -> None:
        for number in numbers:
            self.changed_at[number] = self.now

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.out.glob("sitemap*")}

    def listed(self) -> dict[str, float | None]:
        return read_set(self.out)


def read_set(out: Path) -> dict[str, float | None]:
    """All that the announced sitemap leads to, as a crawler reads it: the latest date of each address."""
    found: dict[str, float | None] = {}
    for value in sitemap.read((out / "sitemap.xml").read_bytes()):
        assert isinstance(value, sitemap.Child | sitemap.Entry)
        inside = (
            [value]
            if isinstance(value, sitemap.Entry)
            else list(sitemap.read((out / value.url.removeprefix(BASE)).read_bytes()))
        )
        for entry in inside:
            assert isinstance(entry, sitemap.Entry)
            at = entry.lastmod.at if entry.lastmod else None
            found[entry.url] = max(filter(None, (found.get(entry.url), at)), default=None)
    return found


def test_a_log_adds_a_file_a_day_and_leaves_the_others(tmp_path: Path) -> None:
    rows = Rows(tmp_path, 1_000)
    rows.scan()
    base = rows.files()
    assert len(base) == 11
    rows.now += DAY
    rows.edit(5, 500)
    rows.scan()
    after = rows.files()
    assert {name: body for name, body in after.items() if "-b" in name} == {
        name: body for name, body in base.items() if "-b" in name
    }
    (delta,) = [body for name, body in after.items() if "-d" in name]
    assert gzip.decompress(delta).count(b"<loc>") == 2
    assert rows.listed()[f"{BASE}item/500"] == rows.now


def test_the_open_file_of_a_day_grows_and_the_next_day_begins_another(tmp_path: Path) -> None:
    rows = Rows(tmp_path, 300)
    rows.scan()
    rows.now += DAY
    rows.edit(1)
    rows.scan()
    rows.now += 600
    rows.edit(2)
    rows.scan()
    rows.now += DAY
    rows.edit(3)
    rows.scan()
    counts = {name: gzip.decompress(body).count(b"<loc>") for name, body in rows.files().items() if "-d" in name}
    assert sorted(counts.values()) == [1, 2]


def test_gone_entries_are_removed_once_they_are_many_or_old(tmp_path: Path) -> None:
    rows = Rows(tmp_path, 1_000)
    rows.scan()
    rows.now += DAY
    del rows.changed_at[7]
    rows.scan()
    assert f"{BASE}item/7" not in rows.listed()  # one of a hundred is more than a two-hundredth
    assert any("~2" in name for name in rows.files())


def test_compaction_after_thirty_days_keeps_files_that_are_the_same(tmp_path: Path) -> None:
    rows = Rows(tmp_path, 50, in_files_of(10))
    rows.scan()
    for _ in range(30):
        rows.now += DAY
        rows.edit(49)
        rows.scan()
    names = set(rows.files())
    assert "sitemap-b1-1.xml.gz" in names
    assert "sitemap-b2-5.xml.gz" in names
    index = (tmp_path / "sitemap.xml").read_text()
    assert "-d20" not in index
    assert rows.listed()[f"{BASE}item/49"] == rows.now


def test_old_files_stay_two_days_after_the_last_index_that_named_them(tmp_path: Path) -> None:
    rows = Rows(tmp_path, 300)
    rows.scan()
    rows.now += 31 * DAY
    rows.edit(*range(300))
    rows.scan()
    assert (tmp_path / "sitemap-b1-1.xml.gz").exists()
    rows.now += 2 * DAY + 1
    rows.edit(1)
    rows.scan()
    assert not (tmp_path / "sitemap-b1-1.xml.gz").exists()


@pytest.mark.parametrize(
    ("kind", "share", "bar"),
    [
        ("few", 0.1, 0.047),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in (("even", 0.01, 0.043), ("mix", 0.173, 0.206))),
    ],
)
@pytest.mark.parametrize("days", [30, pytest.param(60, marks=pytest.mark.slow)])  # compacted once, and twice
def test_what_a_crawler_must_read_again_a_day(tmp_path: Path, kind: str, share: float, bar: float, days: int) -> None:
    """The measured shares of a log with files of a twentieth of the site, within a fifth."""
    import random

    pages = 300
    rows = Rows(tmp_path, pages, in_files_of(pages // 20))
    chosen = random.Random(kind)
    rows.scan()
    seen = rows.files()
    again = 0
    for day in range(days):
        rows.now += DAY
        if kind == "few":
            rows.edit(*[number for number in range(pages) if number % 10 == 0 and number // 10 % 7 == day % 7])
        else:
            rows.edit(*[number for number in range(pages) if chosen.random() < share])
        rows.scan()
        now = rows.files()
        again += sum(
            gzip.decompress(body).count(b"<loc>")
            for name, body in now.items()
            if name.endswith("gz") and seen.get(name) != body
        )
        seen = now
    assert again / days / pages == pytest.approx(bar, rel=0.2)


def test_others_read_it(tmp_path: Path) -> None:
    from lxml import etree

    site = Site(tmp_path, 30)
    site.scan()
    tree = etree.fromstring((site.out / "sitemap.xml").read_bytes())
    assert len(tree.findall("{http://www.sitemaps.org/schemas/sitemap/0.9}url")) == 30


_SCANNER = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from test_sitemaps import Rows
rows = Rows(Path({out!r}), 1_500)
rows.now = {now!r}
number = 0
print("ready", flush=True)
while True:
    rows.now += 7_000
    rows.edit(*range(number % 1_400, number % 1_400 + 60))
    rows.changed_at.pop(number % 1_500, None)
    rows.changed_at[100_000 + number] = rows.now
    number += 60
    rows.scan()
"""


def _kill_scans(out: Path, kills: int) -> None:
    Rows(out, 1_500).scan()
    for number in range(kills):
        program = _SCANNER.format(
            path=[str(Path(__file__).parents[3]), str(Path(__file__).parent), *sys.path],
            out=str(out),
            now=1_750_000_000.0 + number * 1_000,
        )
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.01 * (number * 37 % 61))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert len(read_set(out)) > 500  # every file that the index names is there and whole
    last = Rows(out, 1_500)
    last.now = 1_750_000_000.0 + 40 * DAY
    last.scan()
    assert set(read_set(out)) == {f"{BASE}item/{number}" for number in range(1_500)}


@pytest.mark.proof
def test_kills_leave_a_consistent_set(tmp_path: Path) -> None:
    _kill_scans(tmp_path, 1)


@pytest.mark.slow
def test_two_hundred_kills_leave_a_consistent_set(tmp_path: Path) -> None:
    _kill_scans(tmp_path, 200)


def test_files_are_made_durable_before_they_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Record the order of syncs and renames: no rename of a file that was not synced."""
    order: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def recorded_sync(number: int) -> None:
        order.append("sync")
        fsync(number)

    def recorded_rename(path: Path, target: Path) -> Path:
        order.append("rename")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", recorded_sync)
    monkeypatch.setattr(Path, "replace", recorded_rename)
    Rows(tmp_path, 300).scan()
    assert order[:2] == ["sync", "rename"]
    assert "rename rename" not in " ".join(order)
