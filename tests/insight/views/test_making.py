"""`insight.views`: what is computed in partitions equals what is computed in memory, whichever way was taken."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.each_case import each_case
from tests.insight.asked_collection import Made

from periplus.insight.executors import SerialExecutor, Workplace
from periplus.insight.views import Views, ViewSettings
from periplus.insight.views.making import SQL
from periplus.model import Executor, Url, UsageError
from periplus.policy.duplicates import Hint, HintKind, HintTarget, believe

A, B = "http://a.test", "http://b.test"


class Counting(SerialExecutor):
    """Does the jobs, and counts how often it was asked."""

    asked = 0

    def map(self, *args: Any) -> Any:
        self.asked += 1
        return super().map(*args)


def made_in(folder: Path) -> None:
    made = Made(folder)
    for number in range(12):
        made.told(f"{A}/{number}", "link" if number else "seed")
        made.got(f"{A}/{number}", number % 5, [f"{A}/{number * 7 % 12}", f"{A}/{number + 1}", f"{B}/{number % 3}"])
    for number in range(3):
        made.told(f"{B}/{number}", "link")
        made.asked(f"{B}/{number}", 301, target=f"{A}/{number}")
    made.write()


def computed(folder: Path, settings: ViewSettings | None = None, executor: Executor | None = None) -> list[Any]:
    made_in(folder)
    with Views(folder, settings=settings, executor=executor) as views:
        return [views.rows(f"select * from {name} order by all") for name in ("urls", "site_ranks")]


@pytest.fixture(scope="module")
def at_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], set[str]]:
    """The rows that are computed in memory, and the names of the files that are left behind."""
    folder = tmp_path_factory.mktemp("at-once")
    return computed(folder), {path.name for path in (folder / "insight").iterdir()}


def test_an_executor_that_is_given_does_the_work(tmp_path: Path, at_once: tuple[list[Any], set[str]]) -> None:
    """However small the tables: an executor that is named is used. Nothing but the result is left behind."""
    executor = Counting()
    (one, kept), other = at_once, computed(tmp_path, executor=executor)
    assert executor.asked > 10
    assert [[row["url"] for row in one[0]]] == [[row["url"] for row in other[0]]]
    for rows, others in zip(one, other, strict=True):
        for row, another in zip(rows, others, strict=True):
            inexact = {name: row[name] for name in ("pagerank", "held") if name in row}
            assert {name: another[name] for name in inexact} == pytest.approx(inexact, abs=1e-6)
            assert another | inexact == row
    assert {path.name for path in (tmp_path / "insight").iterdir()} == kept


def test_more_than_allowed_is_computed_in_partitions(tmp_path: Path, at_once: tuple[list[Any], set[str]]) -> None:
    """By processes of this machine, if no executor is named: with the same result."""
    one, other = at_once[0], computed(tmp_path, ViewSettings(memory_bytes=2_000))
    assert [row["same_as"] for row in one[0]] == [row["same_as"] for row in other[0]]
    assert [row["pagerank"] for row in one[0]] == pytest.approx([row["pagerank"] for row in other[0]], abs=1e-6)


def test_partitions_need_a_folder(tmp_path: Path) -> None:
    """A folder that cannot be made is what we did wrong, and says what is needed."""
    (tmp_path / "file").touch()
    with (
        pytest.raises(UsageError, match="file") as raised,
        Workplace(SerialExecutor(), tmp_path / "file" / "work").files(),
    ):
        pass
    assert "every machine" in raised.value.hint


@each_case(("job_bytes", "parts"), [(1 << 30, 1), (1000, 1), (999, 2), (300, 4), (250, 4), (0, 1024)])
def test_parts_are_as_many_as_jobs_need(tmp_path: Path, job_bytes: int, parts: int) -> None:
    """A power of two, so that each is a range of the first bits; bounded, whatever is allowed."""
    workplace = Workplace(SerialExecutor(), tmp_path, job_bytes)
    assert workplace.parts(1000) == parts
    assert workplace.parts(1 << 50) <= 1 << 20
    assert workplace.parts(0) == 1


@pytest.mark.parametrize("named", ["home", "next", "gone", "first"])
def test_a_canonical_that_is_not_believed_keeps_no_page_from_the_index(tmp_path: Path, named: str) -> None:
    """Templates that name the home page, the next page, an error, or the first page of a list."""
    made, pages = Made(tmp_path), 9
    for number in range(pages):
        url = f"{A}/list/{number}" if number else f"{A}/"
        target = {"home": f"{A}/", "next": f"{A}/list/{number + 1}", "gone": f"{A}/404", "first": f"{A}/list/1"}
        made.told(url, "link" if number else "seed")
        made.got(url, number + 1, canonical=target[named] if number < pages - 1 or named != "next" else None)
    made.told(f"{A}/404", "link")
    made.asked(f"{A}/404", 404)
    with made.views() as views:
        assert views.rows("select count(*) as indexed from urls where is_indexable") == [{"indexed": pages}]
        assert views.rows("select distinct believed_canonical, same_as from urls where is_page") == [
            {"believed_canonical": None, "same_as": None}
        ]


def test_the_rule_in_sql_is_that_of_the_policy() -> None:
    """`believed` in SQL and `believe` agree on every combination of what may be known of a target."""
    targets = (f"{A}/p", f"{A}/", f"{A}/x", f"{B}/x", f"{B}/")
    database = duckdb.connect()
    for target, is_asked, is_there, likes, names in product(
        targets, (True, False), (True, False), (True, False), (None, "itself", f"{A}/y")
    ):
        if (is_there or names or likes) and not is_asked:
            continue  # what was not asked for is not known
        name = target if names == "itself" else names
        known = HintTarget(
            is_asked, likes if is_there else None, is_asked and not is_there, Url(name) if name else None
        )
        belief = believe(Hint(Url(f"{A}/p"), Url(target), HintKind.CANONICAL), known)
        row = {"canonical": target, "url": f"{A}/p", "site": "a.test", "is_asked": is_asked, "is_there": is_there}
        row |= {"names": name, "named_cluster": 1, "cluster": 1 if likes else 2}
        columns = ", ".join(f"${key} as {key}" for key in row)
        (found,) = database.execute(f"select {SQL['believed']} from (select {columns})", row).fetchone() or (None,)
        assert (found is not None) == (belief.is_believed and target != f"{A}/p"), (row, belief)
