"""`import`, `export` and `read` of archives as people type them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.archives.authorities import new_key
from tests.archives.foreign import HOME, a_site, write_warc

import periplus
from periplus.cli.app import app
from periplus.collection.config.settings import Config
from periplus.model import UsageError


@pytest.fixture(autouse=True)
def same_garbage_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command sets it for its process, which is that of all tests here."""
    monkeypatch.setattr("periplus.cli.import_.tune_garbage_collection", lambda: None)


def typed(*words: str | Path) -> Result:
    """What a command does; errors of ours are raised."""
    done = CliRunner().invoke(app, [str(word) for word in words], prog_name="periplus")
    if isinstance(done.exception, Exception) and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.mark.proof
def test_from_an_archive_to_a_package_and_back(tmp_path: Path) -> None:
    """Import, export as WACZ, check, list URLs, and the columnar index."""
    archive = write_warc(tmp_path / "old.warc.gz", a_site())
    told = json.loads(typed("import", archive, "-o", tmp_path / "old", "--json").stdout)
    assert told["captures"] == 10
    assert told["problems"] == {"not-get": 1, "capture-left-out": 1}
    assert typed("export", tmp_path / "old", "--format", "wacz", "-o", tmp_path / "x.wacz").exit_code == 0
    checked = typed("read", tmp_path / "x.wacz")
    assert checked.exit_code == 0
    assert "Problems" not in checked.stdout
    (tmp_path / "cut.wacz").write_bytes((tmp_path / "x.wacz").read_bytes()[:-40])
    assert typed("read", tmp_path / "cut.wacz").exit_code == 1
    listed = typed("read", archive, "--json").stdout.splitlines()
    assert [json.loads(line)["kind"] for line in listed][:2] == ["response", "request"]
    urls = typed("export", tmp_path / "old", "-f", "urls", "--where", "status = 200 and title is not null")
    assert urls.stdout.splitlines() == [HOME, f"{HOME}hidden", f"{HOME}one"]
    known = json.loads(typed("info", tmp_path / "old", "--json").stdout)["known"]
    assert len(typed("export", tmp_path / "old", "-f", "urls").stdout.splitlines()) == known
    assert typed("export", tmp_path / "old", "-f", "cc-index", "-o", tmp_path / "index").exit_code == 0
    assert {path.name for path in (tmp_path / "index").glob("*/*")} == {
        "subset=warc",
        "subset=robotstxt",
        "subset=crawldiagnostics",
    }


def test_an_interrupted_import_says_that_it_made_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line; the folder can be imported into again."""
    archive = write_warc(tmp_path / "old.warc.gz", a_site())

    def interrupt(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("periplus.collection.importing.settle", interrupt)
        done = typed("import", archive, "-o", tmp_path / "old")
    assert done.exit_code == 130
    assert done.stderr.splitlines()[-1] == f"interrupted: {tmp_path / 'old'} was not made"
    assert [path.name for path in tmp_path.iterdir()] == ["old.warc.gz"]


def test_seeds_of_others(tmp_path: Path) -> None:
    """Seeds of lists are in the settings; a second import adds to them."""
    (tmp_path / "crawl.csv").write_text('"Address","Status Code"\n"https://a.test/","200"\n')
    (tmp_path / "more.txt").write_text("b.test\n")
    typed("import", "--seeds", tmp_path / "crawl.csv", "-o", tmp_path / "new")
    typed("import", "--seeds", tmp_path / "more.txt", "-o", tmp_path / "new")
    assert Config.load(tmp_path / "new" / "periplus.toml").crawl.seeds == ("https://a.test/", "http://b.test/")
    plan = typed("crawl", "--frontier-from", tmp_path / "crawl.csv", "-o", tmp_path / "other", "--dry-run", "--json")
    assert "https://a.test/" in plan.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("import", "-o", "new"),
        ("import", "x.warc.gz", "--seeds", "y.txt", "-o", "new"),
        ("export", "old", "-f", "jsonl", "--where", "true"),
        ("export", "old", "-f", "urls", "--title", "x"),
        ("export", "old", "-f", "wacz", "--site", "a.test"),
    ],
)
def test_wrong_options_are_refused(words: tuple[str, ...]) -> None:
    """Before anything is read."""
    with pytest.raises(UsageError) as refused:
        typed(*words)
    assert refused.value.hint


def test_a_package_is_signed_and_its_signature_read(tmp_path: Path) -> None:
    """By the commands and by the library; a package whose signature is wrong ends with exit code 1."""
    key = new_key(tmp_path / "key.pem")
    typed("import", write_warc(tmp_path / "old.warc.gz", a_site()), "-o", tmp_path / "old")
    typed("export", tmp_path / "old", "--format", "wacz", "--sign", key, "-o", tmp_path / "x.wacz")
    periplus.open(tmp_path / "old").export("wacz", tmp_path / "y.wacz", sign=key)
    keys = set()
    for name in ("x.wacz", "y.wacz"):
        read = typed("read", tmp_path / name, "--json")
        told = json.loads(read.stdout.splitlines()[-1])
        assert (read.exit_code, told["type"], told["signature"], told["signed_with"]) == (0, "Package", "valid", "key")
        keys.add(told["signed_by"])
    assert len(keys) == 1
    with zipfile.ZipFile(tmp_path / "x.wacz") as old, zipfile.ZipFile(tmp_path / "z.wacz", "w") as new:
        for member in old.infolist():
            data = old.read(member)
            is_digest = member.filename == "datapackage-digest.json"
            new.writestr(member, data.replace(b'"signature": "', b'"signature": "AAAA') if is_digest else data)
    assert typed("read", tmp_path / "z.wacz").exit_code == 1
    with pytest.raises(UsageError, match="--trust is for wacz"):
        typed("read", tmp_path / "old.warc.gz", "--trust", key)
    with pytest.raises(UsageError, match="are for wacz"):
        typed("export", tmp_path / "old", "--format", "jsonl", "--sign", key)
