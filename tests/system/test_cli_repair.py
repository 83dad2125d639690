"""A small collection is damaged in every way that a disk or a person can think of, refused, repaired, and compared."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from tests.lab.crawling import crawl
from tests.lab.scripted_web import ScriptedWeb, page
from tests.system.crawled import captures
from tests.system.small_collection import HOME, small_collection
from tests.system.typed import Run

from periplus.store.tables import SCHEMAS
from periplus.store.warc import archived_answers

Damage = Callable[[Path], None]
REBUILT = ("fetches", "pages", "links")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_collection(tmp_path_factory.mktemp("whole") / "docs")


@pytest.fixture
def docs(whole: Path, tmp_path: Path) -> Path:
    """A copy of a whole collection, to be damaged."""
    return Path(shutil.copytree(whole, tmp_path / "docs"))


def halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    """Change a bit somewhere in the first half."""
    data = bytearray(path.read_bytes())
    data[random.Random(path.name).randrange(len(data) // 4, len(data) // 2)] ^= 4
    path.write_bytes(data)


def flip_footer(path: Path) -> None:
    """Change many bits of what a Parquet file says about itself."""
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[: -8 - length] + bytes(byte ^ 0x55 for byte in data[-8 - length : -8]) + data[-8:])


def lose_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


DAMAGE: list[Damage] = [Path.unlink, halve, flip, lose_folder]
LOSSES: list[Damage] = [Path.unlink, halve]
DEFAULT: list[tuple[Damage, str]] = [(lose_folder, "pages"), (halve, "links"), (flip, "fetches")]


def rows_of(folder: Path, table: str) -> Counter[tuple[Any, ...]]:
    """Every row of a table's Parquet files, in any order."""
    found: Counter[tuple[Any, ...]] = Counter()
    for path in (folder / "tables" / table).glob("*.parquet"):
        for row in pq.read_table(path).to_pylist():
            found[tuple(msgspec.json.encode(value) for value in row.values())] += 1
    return found


def all_rows(folder: Path) -> dict[str, Counter[tuple[Any, ...]]]:
    return {table: rows_of(folder, table) for table in SCHEMAS}


def parquet(folder: Path, table: str) -> Path:
    return folder / "tables" / table / "00-000001.parquet"


def state_of(folder: Path) -> Path:
    return folder / "state" / "shard-00" / "data.mdb"


def without_spools(folder: Path) -> None:
    """The spools of finished files are there until the next checkpoint; a long crawl has removed them."""
    for path in folder.glob("state/shard-*/spool/*-000001.arrows"):
        path.unlink()


def crawl_on(folder: Path, seed: str) -> list[str]:
    """Continue a crawl: what is asked for."""
    with ScriptedWeb({f"{HOME}new": page("new")}) as web:
        crawl(folder, [HOME, seed], web.settings)
        return web.asked


def crawl_again(folder: Path) -> None:
    with ScriptedWeb({HOME: page("home", "/new"), f"{HOME}new": page("new")}) as web:
        crawl(folder, [HOME], web.settings)


def test_a_whole_collection_is_whole(docs: Path, run: Run) -> None:
    """Nothing is said to be damaged, and nothing changes."""
    before = {path: path.read_bytes() for path in docs.rglob("*") if path.is_file() and "lock" not in path.name}
    done = run("repair", str(docs))
    assert (done.returncode, "everything is whole" in done.stdout) == (0, True), done
    assert {path: path.read_bytes() for path in before} == before
    assert not (docs / "damaged").exists()


@pytest.mark.parametrize("damage", [flip, *(pytest.param(damage, marks=pytest.mark.slow) for damage in LOSSES)])
def test_a_damaged_state(docs: Path, run: Run, damage: Damage) -> None:
    """Crawls are refused, query and export go on; after a repair every row and record is there, and crawls go on."""
    rows, records = all_rows(docs), sorted(captures(docs))
    damage(state_of(docs))
    files = {path: path.read_bytes() for path in (docs / "warc").iterdir()}
    for command in (("crawl", HOME, "--workers", "1", "-o", str(docs)), ("info", str(docs))):
        refused = run(*command)
        assert refused.returncode == 3, (command, refused)
        assert f"periplus repair {docs}" in refused.stderr
    assert {path: path.read_bytes() for path in (docs / "warc").iterdir()} == files
    assert all_rows(docs) == rows

    asked = run("query", str(docs), "select count(*) as n from fetches", "--json")
    assert (asked.returncode, msgspec.json.decode(asked.stdout)) == (0, {"n": rows["fetches"].total()})
    assert f"periplus repair {docs}" in asked.stderr
    exported = run("export", str(docs), "--format", "jsonl")
    assert (exported.returncode, exported.stdout.count("\n")) == (0, 4), exported
    assert "as far as they go" in exported.stderr

    assert run("repair", str(docs), "--dry-run").returncode == 3
    repaired = run("repair", str(docs))
    assert repaired.returncode == 0, repaired
    assert "shard 0 has a new state, made from the archive" in repaired.stdout
    assert all_rows(docs) == rows
    assert run("repair", str(docs)).stdout.endswith("everything is whole\n")
    if damage is not Path.unlink:
        assert (docs / "damaged" / "1" / "state" / "shard-00" / "data.mdb").is_file()

    assert crawl_on(docs, HOME) == []
    assert (all_rows(docs), sorted(captures(docs))) == (rows, records)
    assert crawl_on(docs, f"{HOME}new") == [f"{HOME}new"]
    assert not list((docs / "warc").glob("*.orphan"))
    assert Counter(captures(docs)) - Counter(records) == {(f"{HOME}new", "response"): 1}
    for table, before in rows.items():
        assert not before - rows_of(docs, table), table


def test_an_export_of_a_damaged_archive_is_an_error(docs: Path, run: Run) -> None:
    """After all pages that can be read were written."""
    [row] = [row for row in fetch_rows(docs) if row["url"] == f"{HOME}one"]
    file, at = docs / "warc" / row["warc_file"], row["warc_offset"]
    data = bytearray(file.read_bytes())
    data[at + 20 : at + 220] = b"\0" * 200
    file.write_bytes(data)
    for form in ("jsonl", "text"):
        out = docs.with_name(f"out-{form}")
        exported = run("export", str(docs), "--format", form, "-o", str(out))
        assert exported.returncode == 3, exported
        assert f"periplus repair {docs}" in exported.stderr
        assert "3 pages to" in exported.stderr
        assert out.exists()


def test_every_table_is_damaged(docs: Path, run: Run) -> None:
    """All of them are written again from their spools."""
    rows = all_rows(docs)
    for number, table in enumerate(sorted(SCHEMAS)):
        DAMAGE[number % len(DAMAGE)](parquet(docs, table))
    repaired = run("repair", str(docs), "--json")
    assert (repaired.returncode, msgspec.json.decode(repaired.stdout)["lost"]) == (0, {}), repaired
    assert all_rows(docs) == rows


@pytest.mark.parametrize(
    ("damage", "table"),
    [
        pytest.param(damage, table, marks=() if (damage, table) in DEFAULT else pytest.mark.slow)
        for damage in DAMAGE
        for table in sorted(SCHEMAS)
    ],
)
def test_a_damaged_table(docs: Path, run: Run, damage: Damage, table: str) -> None:
    """The last file of a table is written again from its spool: no row is lost."""
    rows = all_rows(docs)
    damage(parquet(docs, table))
    if damage is not flip:
        for command in (
            ("crawl", HOME, "--workers", "1", "-o", str(docs)),
            ("query", str(docs), f"select * from {table}", "--json"),
        ):
            refused = run(*command)
            assert refused.returncode == 3, (command, refused)
            assert f"{table}/00-000001.parquet" in refused.stderr
            assert f"periplus repair {docs}" in refused.stderr
    exported = run("export", str(docs), "--format", "parquet", "-o", str(docs.with_name("tables")))
    assert exported.returncode == 3, exported
    assert f"periplus repair {docs}" in exported.stderr
    assert run("repair", str(docs), "--dry-run").returncode == 3
    repaired = run("repair", str(docs), "--json")
    assert repaired.returncode == 0, repaired
    assert all_rows(docs) == rows
    assert msgspec.json.decode(repaired.stdout)["lost"] == {}
    assert run("repair", str(docs)).stdout.endswith("everything is whole\n")
    crawl_again(docs)
    assert not rows[table] - rows_of(docs, table)


@pytest.mark.parametrize(
    ("damage", "table"),
    [
        pytest.param(damage, table, marks=() if (damage, table) == (halve, "links") else pytest.mark.slow)
        for damage in LOSSES
        for table in REBUILT
    ],
)
def test_a_table_is_rebuilt_from_the_archive(docs: Path, run: Run, damage: Damage, table: str) -> None:
    """Without a spool the rows come from archived answers; times come from the tables that are whole."""
    before = rows_of(docs, table)
    without_spools(docs)
    damage(parquet(docs, table))
    repaired = run("repair", str(docs), "--json")
    assert repaired.returncode == 0, repaired
    report = msgspec.json.decode(repaired.stdout)
    assert report["rebuilt"][table] == before.total() - report["lost"].get(table, 0)
    after = rows_of(docs, table)
    assert not after - before if table != "fetches" else True
    assert after.total() == report["rebuilt"][table]
    if table == "fetches":
        archived = list(archived_answers(docs / "warc", 0))
        assert after.total() == len(archived)
        places = {(answer.stored.file, answer.stored.offset) for answer in archived}
        assert {(row["warc_file"], row["warc_offset"]) for row in fetch_rows(docs)} == places
    else:
        assert after == before
    counts = ", ".join(f"(select count(*) from {name}) as {name}" for name in SCHEMAS)
    asked = run("query", str(docs), f"select {counts}", "--json")
    assert asked.returncode == 0, asked
    assert msgspec.json.decode(asked.stdout) == {name: rows_of(docs, name).total() for name in SCHEMAS}


def fetch_rows(folder: Path) -> list[dict[str, Any]]:
    return [
        row for path in (folder / "tables" / "fetches").glob("*.parquet") for row in pq.read_table(path).to_pylist()
    ]


def test_rebuilt_fetches_are_those_that_were(docs: Path, run: Run) -> None:
    """All columns but when an answer was handed over, which is archived nowhere; of pages that, too."""

    def known() -> list[dict[str, Any]]:
        rows = sorted(fetch_rows(docs), key=lambda row: str(row["warc_offset"]))
        return [{name: value for name, value in row.items() if name != "ended_at"} for row in rows if row["warc_file"]]

    def read_at() -> dict[str, Any]:
        return {row["url"]: row["ended_at"] for row in fetch_rows(docs) if row["outcome"] == "fetched"}

    before, times = known(), read_at()
    without_spools(docs)
    parquet(docs, "fetches").unlink()
    assert run("repair", str(docs)).returncode == 0
    assert known() == before
    assert read_at()[HOME] == times[HOME]


def test_state_and_tables_are_lost_together(docs: Path, run: Run) -> None:
    """The archive alone gives back what was answered, what pages say and where they lead."""
    without_spools(docs)
    pages = {row[0]: row[3:] for row in rows_of(docs, "pages")}
    shutil.rmtree(docs / "state")
    shutil.rmtree(docs / "tables")
    refused = run("crawl", HOME, "--workers", "1", "-o", str(docs))
    assert (refused.returncode, f"periplus repair {docs}" in refused.stderr) == (3, True), refused
    repaired = run("repair", str(docs))
    assert repaired.returncode == 0, repaired
    assert {row[0]: row[3:] for row in rows_of(docs, "pages")} == pages
    answers = list(archived_answers(docs / "warc", 0))
    assert len(fetch_rows(docs)) == len(answers)
    crawl_again(docs)
    assert list(archived_answers(docs / "warc", 0))[: len(answers)] == answers


def test_a_lost_list_of_files_is_written_again(docs: Path, run: Run) -> None:
    """From the files, after all of them were read."""
    rows = all_rows(docs)
    listing = docs / "tables" / "manifest-00.json"
    before = msgspec.json.decode(listing.read_bytes())
    listing.unlink()
    assert run("query", str(docs), "select * from pages").returncode == 3
    assert run("repair", str(docs)).returncode == 0
    assert msgspec.json.decode(listing.read_bytes()) == before
    assert all_rows(docs) == rows


@pytest.mark.parametrize("damage", [flip, *(pytest.param(damage, marks=pytest.mark.slow) for damage in LOSSES)])
def test_indexes_are_written_again(docs: Path, run: Run, damage: Damage) -> None:
    """That of all files and that of each: they hold nothing that the WARC files do not."""
    paths = [docs / "warc" / "index.cdxj", next((docs / "warc").glob("periplus-*.cdxj"))]
    before = {path: path.read_bytes() for path in paths}
    for path in paths:
        damage(path)
    assert run("repair", str(docs), "--dry-run").returncode == 3
    assert run("repair", str(docs)).returncode == 0
    assert {path: path.read_bytes() for path in paths} == before


def test_a_damaged_record_stays_and_is_reported(docs: Path, run: Run) -> None:
    """The archive is what all else is rebuilt from: nothing gives it back."""
    path = next((docs / "warc").glob("*.warc.gz"))
    flip(path)
    repaired = run("repair", str(docs))
    assert repaired.returncode == 3
    assert path.name in repaired.stdout
    assert "restore these files from a backup" in repaired.stdout
    assert path.is_file()


def test_an_archive_that_was_cut_short(docs: Path, run: Run) -> None:
    """The state takes note of where it ends now; what was there is kept aside, and crawls go on."""
    path = next((docs / "warc").glob("*.warc.gz"))
    answers = list(archived_answers(docs / "warc", 0))
    halve(path)
    short = path.read_bytes()
    refused = run("crawl", HOME, "--workers", "1", "-o", str(docs))
    assert refused.returncode == 3
    assert f"periplus repair {docs}" in refused.stderr
    repaired = run("repair", str(docs))
    assert repaired.returncode == 0, repaired
    assert (docs / "damaged" / "1" / "warc" / path.name).read_bytes() == short
    kept = list(archived_answers(docs / "warc", 0))
    assert 0 < len(kept) < len(answers)
    assert kept == answers[: len(kept)]
    crawl_again(docs)
    assert list(archived_answers(docs / "warc", 0))[: len(kept)] == kept


def test_a_collection_in_use_is_left_alone(docs: Path, run: Run) -> None:
    """Two commands never repair or crawl at once."""
    from periplus.collection.collection import held

    with held(docs):
        refused = run("repair", str(docs))
    assert refused.returncode == 3
    assert "in use by process" in refused.stderr


@pytest.mark.parametrize(
    "damage", [Path.unlink, *(pytest.param(damage, marks=pytest.mark.slow) for damage in (flip_footer, halve, flip))]
)
def test_what_was_computed_is_computed_again(docs: Path, run: Run, damage: Damage) -> None:
    """Damage to what `query` keeps for itself costs time, never an answer."""
    question = ("query", str(docs), "select * from urls order by url", "--json")
    before = run(*question)
    assert before.returncode == 0, before
    damage(docs / "insight" / "urls.parquet")
    again = run(*question)
    if again.returncode == 3:
        assert "run the same command again" in again.stderr
        again = run(*question)
    assert again.stdout == before.stdout or damage is flip
    assert again.returncode == 0
