"""The files of a survey: the same rows in every form, and nothing in a report that a domain could make markup of."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from periplus.apps.survey import FileFact, RobotsFact, Survey, figures_of, summary_of, tables_of, write_survey

HOSTILE = "](http://evil.test)<script>|\n\x1b[31m`"


@pytest.fixture
def survey() -> Survey:
    return Survey().extend(
        [
            RobotsFact(
                "a.test", "file", 200, size=30, lines=3, sections=1, agents=("*", HOSTILE),
                fields=(("user-agent", 2), ("disallow", 1), (HOSTILE, 1)), disallows=(1,),
                sitemaps=("http://a.test/s.xml",), rank=1,
            ),
            RobotsFact("b.example", "http-404", 404, rank=2),
            FileFact("http://a.test/s.xml", "a.test", "http://a.test/s.xml", kind="index", children=2),
            FileFact(
                "http://a.test/1.xml", "a.test", "http://a.test/s.xml", "http://a.test/s.xml", 1, "urlset",
                entries=60_000, with_lastmod=30_000, size=9,
            ),
            FileFact(
                "http://a.test/2.xml", "a.test", "http://a.test/s.xml", "http://a.test/s.xml", 1, outcome="http-403",
                status=403,
            ),
        ]
    )  # fmt: skip


@pytest.mark.proof
def test_every_table_is_there_in_both_forms(survey: Survey, tmp_path: Path) -> None:
    """Parquet and CSV of a table hold the rows of the table."""
    import pandas

    written = write_survey(survey, tmp_path)
    assert all(path.is_file() for path in written)
    for table in tables_of(survey):
        names = [column.name for column in table.columns]
        frame = pandas.read_parquet(tmp_path / "tables" / f"{table.name}.parquet")
        assert list(frame.columns) == names
        assert len(frame) == len(table.rows)
        with (tmp_path / "tables" / f"{table.name}.csv").open(newline="") as file:
            rows = list(csv.reader(file))
        assert rows[0] == names
        assert [tuple(row) for row in rows[1:]] == [
            tuple("" if value is None else str(value) for value in row) for row in table.rows
        ]


def test_every_table_and_column_is_documented() -> None:
    """docs/survey.md has a row for each table, with all of its columns in their order."""
    text = (Path(__file__).resolve().parents[3] / "docs" / "survey.md").read_text()
    rows = {line.split("|")[1].strip(): line.split("|")[2] for line in text.splitlines() if line.startswith("| `")}
    for table in tables_of(Survey()):
        named = re.findall(r"`(\w+)`", rows[f"`{table.name}`"])
        assert named == [column.name for column in table.columns], table.name


def test_the_papers_numbers_stand_beside(survey: Survey) -> None:
    """What the report printed is where the same is counted now."""
    tables = {table.name: table for table in tables_of(survey)}
    fields = {row[0]: row[-2:] for row in tables["fields"].rows}
    assert fields["user-agent"] == (42_578, 225_428)
    assert fields[HOSTILE] == (None, None)
    assert tables["levels"].rows[0][-1] == 9_081
    assert tables["agents"].rows[0] == ("*", 1, 0.5, 1, 46_645)
    summary = {row[0]: row[1:] for row in tables["summary"].rows}
    assert summary["share of domains with robots.txt"] == (0.5, 0.451)
    assert summary["URIs"] == (60_000, 836_260_857)
    assert summary["sitemap files with more URIs than allowed"] == (1, None)
    assert summary["sitemap files forbidden (403)"] == (1, 111)


def test_the_report_holds_nothing_of_a_domains_markup(survey: Survey, tmp_path: Path) -> None:
    """Names that domains chose are text in the report, whatever they look like."""
    write_survey(survey, tmp_path)
    report = (tmp_path / "report.md").read_text()
    assert "<script" not in report.replace("\\<script", "")
    assert "](http://evil" not in report.replace("\\](http://evil", "")
    assert "\x1b" not in report
    widths = {line.replace("\\|", "").count("|") for line in report.split("## Fields")[1].split("##")[0].splitlines()}
    assert widths == {0, 8}


def test_long_histograms_are_told_in_classes(tmp_path: Path) -> None:
    """A thousand rows of ones are not readable: the report has classes, and no domain is lost between them."""
    survey = Survey()
    for number in range(1_001):
        survey.add(FileFact(f"http://d{number}.test/s.xml", f"d{number}.test", "", kind="urlset", entries=number))
    write_survey(survey, tmp_path)
    part = (tmp_path / "report.md").read_text().split("## URIs of a sitemap file")[1].split("##")[0]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| ")][2:]
    assert rows[:5] == [["0", "1"], ["1", "1"], ["2 to 4", "3"], ["5 to 9", "5"], ["10 to 19", "10"]]
    assert rows[-1] == ["1,000 to 1,999", "1"]
    assert sum(int(row[1].replace(",", "")) for row in rows) == 1_001


def test_the_summary_is_json(survey: Survey, tmp_path: Path) -> None:
    """Programs read the numbers by name."""
    write_survey(survey, tmp_path)
    assert json.loads((tmp_path / "summary.json").read_bytes()) == summary_of(survey)


def test_figures_are_drawn(survey: Survey, tmp_path: Path) -> None:
    """Each figure becomes a file that the report shows."""
    write_survey(survey, tmp_path)
    report = (tmp_path / "report.md").read_text()
    assert figures_of(survey)
    for figure in figures_of(survey):
        assert figure.title in (tmp_path / "figures" / f"{figure.name}.svg").read_text()
        assert report.count(f"(figures/{figure.name}.svg)") == 1
        assert all(len(curve.x) == len(curve.y) > 0 for curve in figure.curves)


def test_long_curves_are_thinned_to_their_ends() -> None:
    """A figure has a bounded number of points, the first and the last among them."""
    survey = Survey()
    for number in range(5_000):
        survey.add(FileFact(f"http://d{number}.test/s.xml", f"d{number}.test", "", kind="urlset", entries=number + 1))
    figure = next(figure for figure in figures_of(survey) if figure.name == "domain_uris")
    (curve,) = figure.curves
    assert len(curve.x) <= 1_000
    assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (1, 5_000, 5_000, 1)


def test_a_survey_of_nothing_is_written(tmp_path: Path) -> None:
    """No domain, no division by none: every table is there, and empty."""
    write_survey(Survey(), tmp_path)
    assert figures_of(Survey()) == ()
    assert (tmp_path / "report.md").is_file()
    assert summary_of(Survey())["share of domains with robots.txt"] is None


def test_rows_are_shown_as_people_read_them(survey: Survey) -> None:
    """For a terminal: thousands apart, shares as per cent, and no control characters."""
    tables = {table.name: table for table in tables_of(survey)}
    assert tables["robots_outcomes"].shown() == [("file", "1", "50.0 %"), ("http-404", "1", "50.0 %")]
    assert tables["top_domains_by_uris"].shown(1) == [("a.test", "2", "60,000", "30,000")]
    assert all(cell.isprintable() for row in tables["agents"].shown() for cell in row)
