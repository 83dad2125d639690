"""`periplus simulate` as its own process: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from msgspec import Struct
from tests.processes import wait_until_gone
from tests.system.typed import Program, run_program

from periplus.cli import main
from periplus.store.tables import SCHEMAS

QUICK = ("--pages", "200", "--sites", "10", "--workers", "1")


class Done(Struct, frozen=True):
    """How a command ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The program's own `main`, in this process: starting thirty would take a minute."""

    def typed(*args: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["periplus", "simulate", *args])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Done(int(ended.value.code or 0), said.out, said.err)

    return typed


@pytest.fixture
def rows(run: Run) -> Callable[..., list[dict[str, Any]]]:
    """What `--json` says."""

    def read(*args: str) -> list[dict[str, Any]]:
        done = run(*args, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return read


Rows = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """Two sites; everything leads to one page of the second."""
    pages = [f"https://a.test/{number}" for number in range(20)] + [f"https://b.test/{number}" for number in range(5)]
    links = [f"{page}\t{pages[(place + 1) % 25]}" for place, page in enumerate(pages)]
    links += [f"{page}\thttps://b.test/hub" for page in pages]
    file = tmp_path / "links.tsv"
    file.write_text("# from to\n" + "\n".join(links) + "\n")
    return file


def test_orderings_are_compared_a_line_a_result(graph: Path, rows: Rows) -> None:
    """A line for every policy and budget, in the order in which they were asked for; chance is behind the oracle."""
    found = rows(
        "ordering",
        "--graph",
        str(graph),
        "--policy",
        "optimal,random,batch:every=5",
        "--budget",
        "0.2,1",
        "--workers",
        "1",
    )
    assert [(row["policy"], row["budget"]) for row in found] == [
        (policy, budget) for policy in ("optimal", "random", "batch:every=5") for budget in (0.2, 1.0)
    ]
    assert {row["total"] for row in found} == {26}
    assert found[5]["settings"] == {"every": 5}
    at_end = [row["pagerank"] for row in found if row["budget"] == 1.0]
    assert at_end == pytest.approx([1.0, 1.0, 1.0])
    assert found[0]["pagerank"] >= found[2]["pagerank"]


@pytest.mark.proof
def test_the_same_seed_gives_the_same_lines_whatever_the_workers(run: Run) -> None:
    """Deterministic: results do not depend on who did the work."""
    args = ("ordering", "--pages", "40", "--sites", "4", "--policy", "opic,random", "--repetitions", "2", "--json")
    alone, together = (run(*args, "--workers", workers) for workers in ("1", "2"))
    assert alone.returncode == 0, alone.stderr
    assert alone.stdout == together.stdout
    assert run(*args, "--workers", "1", "--seed", "9").stdout != alone.stdout


def test_people_get_a_table_and_files(tmp_path: Path, run: Run) -> None:
    """Aligned lines where there is no terminal; a plot, a CSV and the seven tables where they were asked for."""
    plot, table, folder = tmp_path / "a" / "p.svg", tmp_path / "r.csv", tmp_path / "t"
    files = ("--plot", str(plot), "--csv", str(table), "--tables", str(folder))
    done = run("ordering", *QUICK, "--policy", "breadth_first,opic", "--budget", "10%", *files)
    assert done.returncode == 0, done.stderr
    assert "breadth_first" in done.stdout
    assert "at 10 %" in done.stdout
    assert ElementTree.parse(plot).getroot().tag.endswith("svg")
    with table.open() as file:
        assert [row["policy"] for row in csv.DictReader(file)] == ["breadth_first", "opic"]
    fetches = pq.read_table(folder / "opic" / "fetches")
    assert fetches.num_rows == 200
    assert pq.read_table(folder / "opic" / "pages").num_rows == 200
    assert pq.read_table(folder / "opic" / "links").num_rows > 200
    assert {path.name for path in (folder / "breadth_first").iterdir() if path.is_dir()} == set(SCHEMAS)
    again = run("ordering", *QUICK, "--policy", "opic", "--tables", str(folder))
    assert again.returncode == 2
    assert "has tables already" in again.stderr


def test_a_crawl_in_tables_is_crawled_again(tmp_path: Path, run: Run, rows: Rows) -> None:
    """The tables of a simulated crawl are those of any crawl: they can be replayed."""
    assert run("ordering", *QUICK, "--policy", "opic", "--tables", str(tmp_path)).returncode == 0
    (tmp_path / "opic").rename(tmp_path / "tables")
    found = rows("ordering", "--collection", str(tmp_path), "--policy", "breadth_first", "--workers", "1")
    assert found[0]["total"] == 200


def test_speed_ups_are_told_with_what_bounds_them(rows: Rows) -> None:
    """Every number of connections on every line; none surpasses the bound."""
    found = rows("speedup", *QUICK, "--connections", "1,8", "--bandwidth", "1M,10k", "--delay", "1s")
    assert [(row["connections"], row["bandwidth"]) for row in found] == [(1, 1e6), (8, 1e6), (1, 1e4), (8, 1e4)]
    assert found[0]["speedup"] == 1.0
    assert all(row["speedup"] <= row["bound"] * 1.001 for row in found)


def test_a_batch_tells_how_idle_robots_were(rows: Rows) -> None:
    """A row for every way; fewer visits are never slower."""
    found = rows("batch", "--pages", "200", "--sites", "10", "--pages-per-visit", "1,100", "--bandwidth", "1M")
    assert [row["pages_per_visit"] for row in found] == [1, 100]
    assert found[1]["makespan"] <= found[0]["makespan"]


def test_freshness_is_compared_on_a_history(tmp_path: Path, rows: Rows) -> None:
    """A page that changes every day and one that never does, over twenty days."""
    day = 86_400
    file = tmp_path / "h.tsv"
    daily = " ".join(str(at * day + 600) for at in range(21))
    file.write_text(f"#site page in_head times\na.test\t/daily\t1\t{daily}\na.test\t/still\t1\t600\n")
    found = rows("freshness", "--history", str(file), "--policy", "oracle,conventional", "--budget", "0.5,1")
    by = {(row["policy"], row["budget"]): row for row in found}
    assert by["oracle", 0.5]["needless"] == 0.0
    assert by["conventional", 1.0]["needless"] == pytest.approx(0.5, abs=0.06)
    assert by["oracle", 0.5]["freshness"] >= by["conventional", 0.5]["freshness"]


def test_freshness_is_compared_on_a_crawl_set(tmp_path: Path, rows: Rows, run: Run) -> None:
    """A folder of Microsoft's form; what could not be read is said, with its reason."""
    lines = [f"{number}\t0.5\t{[[1.0, number % 2]] * 30}" for number in range(40)]
    (tmp_path / "urlid_offset_history.txt").write_text("\n".join([*lines, "dirty"]))
    (tmp_path / "urlid_imp.txt").write_text("\n".join(f"{number}\t{number + 1}" for number in range(40)))
    typed = ("freshness", "--history", str(tmp_path), "--policy", "uniform,learned", "--budget", "0.3")
    found = rows(*typed)
    assert [(row["policy"], row["pages"]) for row in found] == [("uniform", 40), ("learned", 40)]
    assert found[1]["freshness"] > found[0]["freshness"]
    assert "1 x fields-missing" in run(*typed).stdout


@pytest.mark.slow
def test_freshness_with_signals_against_another_policy(tmp_path: Path, run: Run) -> None:
    """The gain over it, as numbers and as a picture; where it was not asked for it is run as well."""
    plot = tmp_path / "gain.svg"
    done = run(
        "freshness", "--pages", "60", "--days", "40", "--signals", "good", "--policy", "learned",
        "--budget", "0.1,0.3", "--against", "uniform", "--plot", str(plot),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "how much fresher than uniform" in done.stdout
    assert "good signals" in done.stdout
    assert any(line.startswith("uniform") and line.split()[1:3] == ["0.0", "0.0"] for line in done.stdout.splitlines())
    assert "gain over uniform" in plot.read_text()


def test_balance_divides_fetches_between_two_sources(tmp_path: Path, rows: Rows, run: Run) -> None:
    """Every way on every kind of site, as JSON, as a table and as CSV."""
    found = rows("balance", "--pages", "300", "--budget", "150", "--repetitions", "2")
    ways = {row["way"] for row in found}
    assert {"balance", "strict", "half and half", "best split"} <= ways
    assert all(len(row["values"]) == 2 and row["unique"] <= 150 for row in found)
    done = run("balance", "--pages", "300", "--budget", "150", "--csv", str(tmp_path / "balance.csv"))
    assert "forgotten sitemap" in done.stdout
    with (tmp_path / "balance.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(found)


@pytest.mark.slow
def test_reputation_compares_scores_against_farms(run: Run) -> None:
    """A line for each score, with a share for each farm."""
    done = run("reputation", "--seed", "1")
    assert done.returncode == 0, done.stderr
    assert "2,000 honest domains" in done.stdout
    (line,) = (line.split() for line in done.stdout.splitlines() if line.startswith("trust"))
    assert len(line) == 9


def test_a_graph_of_bare_numbers_is_warned_of(tmp_path: Path, run: Run) -> None:
    """On stderr, once; not where pages are grouped by an option."""
    file = tmp_path / "links.csv"
    file.write_text("source,target\n" + "".join(f"{page},{page + 1}\n" for page in range(40)))
    plain = ("ordering", "--graph", str(file), "--policy", "breadth_first", "--workers", "1", "--delay", "0s")
    assert run(*plain).stderr.count("--pages-per-site") == 1
    assert "warning" not in run(*plain, "--pages-per-site", "5").stderr


def test_what_signals_are_worth(tmp_path: Path, rows: Rows, run: Run) -> None:
    """By quality, or by one property that is varied."""
    small = ("--sites", "3", "--pages", "10", "--days", "8", "--workers", "1")
    found = rows("signals", *small, "--quality", "good,useless", "--budget", "0.3", "--policy", "informed,trusting")
    assert [(row["policy"], row["quality"]) for row in found] == [
        (policy, quality) for policy in ("informed", "trusting") for quality in ("good", "useless")
    ]
    plot = tmp_path / "delay.svg"
    done = run("signals", *small, "--vary", "delay", "--policy", "informed,uniform", "--plot", str(plot))
    assert done.returncode == 0, done.stderr
    assert "8 d" in done.stdout
    assert ElementTree.parse(plot).getroot().tag.endswith("svg")


def test_scaling_divides_a_crawl_among_shards(tmp_path: Path, run: Run, rows: Rows) -> None:
    """A row for each number of shards, a table for people, a plot, and settings from a file below options."""
    file = tmp_path / "s.toml"
    file.write_text("[web]\npages = 3000\nsites = 60\n[coordinator]\nstatus_interval = 1.0\n[pace]\nrate = 50.0\n")
    small = ("scaling", "--config", str(file), "--shards", "8,2", "--rate", "100")
    found = rows(*small)
    assert [(row["shards"], row["rate"], row["statuses"]) for row in found] == [(2, 100.0, 2.0), (8, 100.0, 8.0)]
    plot, table = tmp_path / "s.svg", tmp_path / "s.csv"
    done = run(*small, "--plot", str(plot), "--csv", str(table))
    assert done.returncode == 0, done.stderr
    assert "largest site" in done.stdout
    assert "3,000 pages on 60 sites" in done.stdout
    assert ElementTree.parse(plot).getroot().tag.endswith("svg")
    assert [row["shards"] for row in csv.DictReader(table.read_text().splitlines())] == ["2", "8"]


def test_settings_come_from_a_file_and_options_win(tmp_path: Path, rows: Rows) -> None:
    """The same settings in TOML."""
    file = tmp_path / "s.toml"
    file.write_text(
        '[experiment]\npolicies = ["random", "opic"]\nbudgets = [0.5]\nseed = 3\n[web]\npages = 300\nsites = 9\n'
    )
    found = rows("ordering", "--config", str(file), "--policy", "opic", "--workers", "1")
    assert [(row["policy"], row["seed"], row["total"]) for row in found] == [("opic", 3, 300)]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("ordering", "--policy", "opik"), "opic"),
        (("ordering", "--policy", "batch:evry=5"), "every"),
        (("ordering", "--budget", "1.5"), "0.01,0.05"),
        (("ordering", "--graph", "nowhere.txt"), "No such file"),
        (("ordering", "--pages", "600", "--policy", "opic", "--limit", "30"), "--budget 0.025"),
        (("ordering", "--delay", "soon"), "90s"),
        (("speedup", "--policy", "opic,random"), "one here"),
        (("freshness", "--policy", "metdata"), "metadata"),
        (("freshness", "--history", "nowhere.tsv"), "No such file"),
        (("freshness", "--signals", "goood"), "good"),
        (("signals", "--vary", "recal"), "recall"),
        (("signals", "--quality", "goood"), "good"),
        (("scaling", "--shares", "some"), "present"),
        (("scaling", "--shards", "none"), "--shards"),
        (("scaling", "--pages", "9", "--sites", "10"), "sites"),
        (("--reproduce", "brandman", "ordering"), "takes no verb"),
        (("--reproduce", "plato"), "castillo"),
        (("nonsense",), "nonsense"),
    ],
)
def test_wrong_usage_ends_with_2_and_the_next_step(args: tuple[str, ...], says: str, run: Run) -> None:
    """What is wrong and what to type, without a traceback."""
    done = run(*args)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_line_of_a_graph_that_is_none_is_named(tmp_path: Path, run: Run) -> None:
    """File and line."""
    file = tmp_path / "g.txt"
    file.write_text("1 2\n2 3\nnonsense\n")
    done = run("ordering", "--graph", str(file))
    assert done.returncode == 2
    assert f"{file}:3" in done.stderr


def test_alone_it_shows_what_there_is(run: Run) -> None:
    """The experiments, and an example."""
    done = run()
    assert done.returncode == 0
    assert all(name in done.stdout for name in ("ordering", "speedup", "batch", "freshness", "--reproduce"))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks the system whether workers have begun")
def test_ctrl_c_ends_it_with_130_and_says_what_was_kept(tmp_path: Path) -> None:
    """At once, workers too, without a traceback."""
    args = ("ordering", "--pages", "200000", "--sites", "2000", "--workers", "2", "--csv", str(tmp_path / "r.csv"))
    process = Program("simulate", *args, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None and len(children.read_text().split()) < 2:
        time.sleep(0.0005)  # at its birth: half a worker would complain
    workers = [int(child) for child in children.read_text().split()]
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    assert not (tmp_path / "r.csv").exists()
    wait_until_gone(workers)


def test_it_runs_as_a_program() -> None:
    """In a process of its own."""
    done = run_program("simulate", "batch", "--pages", "60", "--sites", "5", "--pages-per-visit", "1,9", "--json")
    assert done.returncode == 0, done.stderr
    assert len({json.loads(line)["pages_per_visit"] for line in done.stdout.splitlines()}) == 2
