"""`periplus crawl --topic` and `--like`: what is fetched first, what is shown, and `simulate focused` on the result."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.lab.scripted_web import ScriptedWeb

from periplus.cli import main
from periplus.store.tables import read

HOME = "http://a.test/"
SPIDERS = "Spiders and their traps: how a spider trap keeps a crawler, and how crawlers leave a trap again. "
COOKING = "Onions in butter with salt and a glass of wine: how to cook them slowly, and for how long. "
BRANCH = 12
"""Pages about each of the two subjects; each links to the next two."""

Run = Callable[..., str]


def page(title: str, text: str, *links: str) -> str:
    anchors = " ".join(f'<a href="{link}">{link.strip("/")}</a>' for link in links)
    return f"<html lang=en><title>{title}</title><body><main><p>{text * 3}</p></main><p>{anchors}</p></body></html>"


def two_subjects() -> dict[str, str | bytes]:
    said: dict[str, str | bytes] = {HOME: page("Home", "Two subjects here.", "/cook/0", "/traps/0")}
    for kind, text in (("cook", COOKING), ("traps", SPIDERS)):
        for number in range(BRANCH):
            links = [f"/{kind}/{number + step}" for step in (1, 2) if number + step < BRANCH]
            said[f"{HOME}{kind}/{number}"] = page(f"{kind} {number}", f"Part {number}. {text}", *links)
    return said


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The program's own `main`; what it printed. `code` is how it must end."""

    def typed(*args: str, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["periplus", *args])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert int(ended.value.code or 0) == code, said.err
        return said.out + said.err

    return typed


@pytest.mark.proof
def test_topic_from_the_crawl_to_the_simulator(run: Run, tmp_path: Path) -> None:
    """The subject is fetched first; tables, `info` and the settings have it; and the collection can be simulated."""
    out = tmp_path / "topic"
    with ScriptedWeb(two_subjects()) as web:
        asked = ["--proxy", web.base, "--delay", "0s", "--workers", "1", "--limit", "12"]
        run("crawl", HOME, "-o", str(out), "--topic", "spider traps", *asked, "--json")
        pages = [url for url in web.asked if url.startswith(HOME) and not url.endswith(".txt")]
        assert sum("/traps/" in url for url in pages) >= 8
        run("crawl", "-o", str(out), "--proxy", web.base, "--limit", "40", "--json")
    rows = read(out / "tables", "pages", columns=["url", "relevance"]).to_pylist()
    assert len(rows) == 2 * BRANCH + 1
    assert all(row["relevance"] >= 0.5 for row in rows if "/traps/" in row["url"])
    assert all(row["relevance"] == 0.0 for row in rows if "/cook/" in row["url"])
    assert f"{sum(row['relevance'] >= 0.5 for row in rows)}; harvest" in run("info", str(out))
    run("report", str(out), "-o", str(tmp_path / "report.html"))
    assert "pages of the collection are on the topic: 48" in (tmp_path / "report.html").read_text()
    settings = (out / "periplus.toml").read_text()
    assert 'words = "spider traps"' in settings
    assert 'ordering = "focused"' in settings
    picture, table = tmp_path / "recall.svg", ["--limit", "14", "--relevant", "0.5", "--json"]
    said = run(
        "simulate", "focused", "--collection", str(out), "--topic", "spider traps", "--policy",
        "breadth_first,shark,focused", "--plot", str(picture), *table,
    )  # fmt: skip
    found = {row["policy"]: row for row in (json.loads(line) for line in said.splitlines() if line.startswith("{"))}
    assert found["shark"]["recall"] > found["breadth_first"]["recall"]
    assert found["focused"]["recall"] >= found["shark"]["recall"]
    assert found["shark"]["pages"] == 14
    assert "recall" in picture.read_text()


def test_examples_are_read_once(run: Run, tmp_path: Path) -> None:
    """A file and a URL as examples; the crawl continues without them."""
    out, example = tmp_path / "like", tmp_path / "example.html"
    example.write_text(page("Traps", SPIDERS))
    with ScriptedWeb(two_subjects() | {"http://b.test/x": page("Onions", COOKING)}) as web:
        asked = ["--proxy", web.base, "--delay", "0s", "--workers", "1", "--json"]
        likes = ["--like", str(example), "--unlike", "http://b.test/x"]
        run("crawl", HOME, "-o", str(out), *likes, *asked, "--limit", "5")
        example.unlink()
        run("crawl", "-o", str(out), *asked, "--limit", "9")
    rows = read(out / "tables", "pages", columns=["url", "relevance"]).to_pylist()
    assert len(rows) == 9
    traps = [row["relevance"] for row in rows if "/traps/" in row["url"]]
    assert len(traps) >= 5
    assert min(traps) > 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--like", "nowhere"], "there is no file or folder nowhere"),
        (["--topic", ","], "at least one word"),
        (["--topic", "spiders", "--order", "opic"], "does not use the topic"),
        (["--order", "shark"], "needs a topic"),
        (["--topic-by", "nothing"], "periplus.topics"),
    ],
)
def test_mistakes_are_named(run: Run, tmp_path: Path, options: list[str], message: str) -> None:
    assert message in run("crawl", HOME, "-o", str(tmp_path / "out"), *options, code=2)
