"""The command line end to end, here and as its own process: what it prints, where, and how it ends."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.system.typed import PROGRAM, Run, run_program

from periplus.content.scan import READER


def started(*args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The program in a process of its own."""
    return run_program(*args, stdin=stdin)


def json_lines(run: Run, *args: str, stdin: bytes = b"") -> list[dict[str, Any]]:
    done = run("read", "--json", *args, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_version_and_help_work_without_a_verb() -> None:
    """The first things a newcomer types."""
    version = subprocess.run([*PROGRAM, "--version"], capture_output=True, timeout=600, check=True).stdout
    assert version.startswith(b"periplus 0.")
    assert f"by the {READER} scanner".encode() in version
    assert b"demo" in started("--help").stdout


UNUSED = {"pandas", "duckdb", "scipy", "pyarrow", "lmdb", "pycurl", "periplus.engine.engine", "periplus.apps.changes"}


def test_help_of_a_command_does_not_load_what_it_does_not_use() -> None:
    """What a crawl needs is loaded when it begins."""
    shown = f"import atexit, sys; atexit.register(lambda: print(*sorted(sys.modules.keys() & {UNUSED!r})))\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{shown}import periplus.__main__", "crawl", "--help"],
        capture_output=True,
        timeout=600,
        check=True,
    )
    assert b"--limit" in done.stdout
    assert done.stdout.decode().splitlines()[-1].split() == []


def test_a_sitemap_is_read_from_a_file_whatever_its_name(run: Run, tmp_path: Path) -> None:
    """Content decides: a gzipped sitemap under a wrong name."""
    xml = b"<urlset><url><loc>https://a.test/1</loc><lastmod>2026-01-02</lastmod></url></urlset>"
    (tmp_path / "page.html").write_bytes(gzip.compress(xml))
    entries = [line for line in json_lines(run, str(tmp_path / "page.html")) if line["type"] == "Entry"]
    assert [(entry["url"], entry["lastmod"]["granularity"]) for entry in entries] == [("https://a.test/1", 2)]


def test_robots_are_read_from_stdin() -> None:
    """`-` is standard input; relative sitemaps are resolved against `--url`."""
    robots = b"User-agent: *\nDisallow: /x\nSitemap: /s.xml\nNonsense\n"
    done = started("read", "--json", "-", "--url", "https://a.test/robots.txt", stdin=robots)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    by_type = {line["type"]: line for line in found}
    assert by_type["Group"]["rules"][0]["pattern"] == "/x"
    assert by_type["SitemapLine"]["url"] == "https://a.test/s.xml"
    assert by_type["Problem"]["reason"] == "not-a-field"


def test_a_page_is_read_with_its_links(run: Run) -> None:
    """A page gives its links, its forms and itself."""
    html = b"<!doctype html><title>T</title><a href=b rel=nofollow>B</a><form action=s><input name=q></form>"
    found = json_lines(run, "-", "--url", "https://a.test/", stdin=html)
    assert [line["type"] for line in found] == ["Link", "Form", "Page"]
    assert found[0]["url"] == "https://a.test/b"
    assert found[2]["title"] == "T"


def test_a_page_is_printed_in_markdown(run: Run) -> None:
    """A page of any encoding, or packed; only a page."""
    html = "<!doctype html><meta charset=latin1><h1>\u00dcber</h1><p><a href=b#c>B</a>".encode("latin-1")
    for body in (html, gzip.compress(html)):
        done = run("read", "--markdown", "-", "--url", "https://a.test/", stdin=body)
        assert done.stdout == "# \u00dcber\n\n[B](https://a.test/b#c)\n"
    assert run("read", "--markdown", "-", stdin=b"<html>").returncode == 1
    assert "--as page" in run("read", "--markdown", "-", stdin=b"<urlset>").stderr


def test_a_feed_is_read_with_its_items(run: Run) -> None:
    """A feed gives its items and itself."""
    rss = b"<rss version='2.0'><channel><title>F</title><item><link>https://a.test/1</link></item></channel></rss>"
    found = json_lines(run, "-", stdin=rss)
    assert [line["type"] for line in found] == ["Item", "Feed"]
    assert found[0]["url"] == "https://a.test/1"


def test_an_access_log_is_read_line_by_line(run: Run) -> None:
    """A log gives a hit a line."""
    line = b'192.0.2.1 - - [01/Mar/2026:08:00:00 +0000] "GET /a HTTP/1.1" 200 12 "-" "x/1"\n'
    hits = json_lines(run, "-", stdin=line * 3)
    assert [hit["path"] for hit in hits] == ["/a"] * 3


def test_people_get_a_table_with_counts_and_problems(run: Run) -> None:
    """Without `--json` the first values are shown, the rest counted, and problems named."""
    urls = b"".join(b"<url><loc>https://a.test/%d</loc><priority>7</priority></url>" % n for n in range(40))
    said = run("read", "-", stdin=b"<urlset>" + urls + b"</urlset>").stdout
    assert "Entry (40)" in said
    assert "and 28 more" in said
    assert "bad-priority" in said


def test_wrong_usage_ends_with_2_and_the_next_step(run: Run, tmp_path: Path) -> None:
    """A missing file and an unknown kind say what to do, without a traceback."""
    missing = run("read", str(tmp_path / "nothing.xml"))
    assert missing.returncode == 2
    assert "No such file" in missing.stderr
    assert "Traceback" not in missing.stderr
    unknown = run("read", "-", stdin=b"\x00\x01\x02")
    assert unknown.returncode == 2
    assert "--as" in unknown.stderr
    assert run("frobnicate").returncode == 2


def test_nothing_readable_ends_with_1(run: Run) -> None:
    """Finished, but nothing could be read: exit code 1, and the reason is shown."""
    done = run("read", "--as", "sitemap", "-", stdin=b"<html><body>Not found</body></html>")
    assert done.returncode == 1
    assert "nothing could be read" in done.stdout


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    """With `--debug` an error of ours is shown whole."""
    assert b"Traceback" in started("--debug", "read", str(tmp_path / "nothing.xml")).stderr
