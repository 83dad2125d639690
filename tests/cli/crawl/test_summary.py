"""The end of a crawl: what it says to type next works as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from tests.library.small_web import SEED, quick, shop

import periplus
from periplus.cli.app import app
from periplus.cli.crawl.summary import print_end
from periplus.collection.summary import SiteFailure


def test_export_that_is_shown_works_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside a folder of any name, and after an earlier export."""
    monkeypatch.chdir(tmp_path)
    with shop(2) as web:
        summary = periplus.crawl(SEED, out="pages", **quick(web)).run()
    for folder in ("pages-markdown", "pages-markdown-2"):
        print_end(summary, is_json=False)
        shown = re.search("periplus (export .*)", capsys.readouterr().out)
        assert shown
        assert CliRunner().invoke(app, shlex.split(shown[1])).exit_code == 0
        assert len(list(Path(folder).rglob("*.md"))) == 4
    unreached = (SiteFailure(SEED, "dns", "no such name", "try again later"),) * 9
    troubled = {"errors": {"dns": 9}, "failures": unreached, "max_depth": 2, "refused": {"link-depth": 9}}
    print_end(msgspec.structs.replace(summary, ended="limit", queued=9, **troubled), is_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 15
    assert lines[-4] == "next:"
