"""`periplus map` on a site of which everything is known: its URLs, where they come from, who refuses them, how long."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.surveyed_files import Said as Answer
from tests.lab.surveyed_server import ServedDomains
from tests.system.typed import Program, Run, Said

HOME = "http://site.test"
ROBOTS = f"""User-agent: *
Disallow: /private/
Crawl-delay: 0.05
Sitemap: {HOME}/index.xml
"""


def urlset(*entries: str) -> bytes:
    body = "".join(
        f"<url><loc>{entry}</url>" if "</loc>" in entry else f"<url><loc>{entry}</loc></url>" for entry in entries
    )
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{body}</urlset>'.encode()


def index(*children: str) -> bytes:
    body = "".join(f"<sitemap><loc>{child}</loc></sitemap>" for child in children)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{body}</sitemapindex>'.encode()


@pytest.fixture
def served() -> Iterator[ServedDomains]:
    """A site with an index of four files, one of which is not there; and one that lies in the usual place."""
    with ServedDomains(1, 1, by_proxy=True) as domains:
        item = f"<item><title>T</title><link>{HOME}/news</link></item>"
        news = f"<rss version='2.0'><channel><title>N</title>{item}</channel></rss>"
        names = ("a.xml", "b.xml.gz", "gone.xml", "feed.rss")
        first = urlset(
            f"{HOME}/1</loc><lastmod>2024-05-06</lastmod><changefreq>weekly</changefreq><priority>0.8</priority>",
            f"{HOME}/2",
            f"{HOME}/private/x",
            f"{HOME}/1?utm_source=mail",
            f"{HOME}/picture.jpg",
            "http://other.test/y",
        )
        domains.plan.answers |= {
            f"{HOME}/robots.txt": Answer(200, "text/plain", ROBOTS.encode()),
            f"{HOME}/index.xml": Answer(200, "text/xml", index(*(f"{HOME}/{name}" for name in names))),
            f"{HOME}/a.xml": Answer(200, "text/xml", first),
            f"{HOME}/b.xml.gz": Answer(200, "application/gzip", gzip.compress(urlset(f"{HOME}/2", f"{HOME}/3"))),
            f"{HOME}/feed.rss": Answer(200, "application/rss+xml", news.encode()),
            "http://usual.test/sitemap.xml": Answer(200, "text/xml", urlset("http://usual.test/1")),
        }  # fmt: skip
        yield domains


def typed_for(served: ServedDomains, site: str, *args: str) -> tuple[str, ...]:
    return ("map", site, "--proxy", served.proxy, "--delay", "0", *args)


def mapped(said: Said) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The URLs of a map, and its summary."""
    *lines, last = map(json.loads, said.stdout.splitlines())
    assert len({line["url"] for line in lines}) == len(lines)
    return {line["url"]: line for line in lines}, last["summary"]


def test_every_url_is_told_with_its_way_and_its_refusal(run: Run, served: ServedDomains) -> None:
    """Each once, by the name that a crawl would know; no page is fetched."""
    said = run(*typed_for(served, HOME, "--json"))
    urls, summary = mapped(said)
    assert said.returncode == 0
    assert {url: line["refused"] for url, line in urls.items()} == {
        f"{HOME}/1": "",
        f"{HOME}/2": "",
        f"{HOME}/3": "",
        f"{HOME}/news": "",
        f"{HOME}/private/x": "robots",
        f"{HOME}/picture.jpg": "extension",
        "http://other.test/y": "sitemap-foreign-host",
    }
    assert urls[f"{HOME}/private/x"]["rule"] == "Disallow: /private/"
    assert urls[f"{HOME}/1"] == {
        "url": f"{HOME}/1", "source": "sitemap", "found_by": "robots", "path": [f"{HOME}/index.xml", f"{HOME}/a.xml"],
        "files": 1, "lastmod": "2024-05-06", "changefreq": "weekly", "priority": 0.8, "refused": "", "rule": "",
        "size": None,
    }  # fmt: skip
    assert (urls[f"{HOME}/2"]["files"], urls[f"{HOME}/news"]["source"]) == (2, "feed")
    assert served.requests.keys() == {
        f"{HOME}/{name}" for name in ("robots.txt", "index.xml", "a.xml", "b.xml.gz", "gone.xml", "feed.rss")
    }
    assert (summary["urls"], summary["allowed"], summary["files"], summary["files_read"]) == (7, 4, 5, 4)
    assert summary["refused"] == {"robots": 1, "extension": 1, "sitemap-foreign-host": 1}


def test_the_time_of_a_polite_crawl_is_what_the_site_asks_for(run: Run, served: ServedDomains) -> None:
    """Four pages, 0.05 s apart, whatever we would do by ourselves; further apart if it answered slowly."""
    _, summary = mapped(run(*typed_for(served, HOME, "--json")))
    assert summary["slowest"] == "site.test"
    assert summary["rest"] >= 0.05
    assert summary["seconds"] == pytest.approx(4 * summary["rest"], abs=0.003)


def test_what_a_person_would_leave_out_is_told_by_the_rule(run: Run, served: ServedDomains) -> None:
    """The options of a crawl hold for its map."""
    urls, _ = mapped(run(*typed_for(served, HOME, "--json", "--exclude", "/2")))
    assert (urls[f"{HOME}/2"]["refused"], urls[f"{HOME}/3"]["refused"]) == ("excluded", "")


def test_a_map_can_be_kept(run: Run, served: ServedDomains, tmp_path: Path) -> None:
    """In a collection, from which the same command says the same without asking anybody again."""
    out = str(tmp_path / "kept")
    first = run(*typed_for(served, HOME, "-o", out, "--json"))
    asked = dict(served.requests)
    again = run(*typed_for(served, HOME, "-o", out, "--json"))
    assert mapped(first)[0] == mapped(again)[0]
    assert served.requests == asked
    assert sorted(path.name for path in (tmp_path / "kept").iterdir() if "scratch" in path.name) == []


def test_files_in_the_usual_places_are_found(run: Run, served: ServedDomains) -> None:
    """Where robots.txt names none, and is not even there."""
    urls, summary = mapped(run(*typed_for(served, "http://usual.test", "--json")))
    assert [line["found_by"] for line in urls.values()] == ["well-known"]
    assert summary["allowed"] == 1


def test_elsewhere_than_on_a_terminal_a_line_is_a_url(run: Run, served: ServedDomains) -> None:
    """With tabs between its facts; the summary goes beside it."""
    said = run(*typed_for(served, HOME))
    lines = [line.split("\t") for line in said.stdout.splitlines()]
    assert lines[0] == [f"{HOME}/1", "2024-05-06", "0.8", "", f"{HOME}/a.xml", "1"]
    assert {line[3] for line in lines if "private" in line[0]} == {"robots Disallow: /private/"}
    assert "7 URLs in 4 files" in said.stderr
    assert "a polite crawl of them takes about" in said.stderr


def test_reading_only_the_beginning_is_not_an_error(served: ServedDomains) -> None:
    """`periplus map SITE | head -1`."""
    served.plan.answers[f"{HOME}/a.xml"] = Answer(200, "text/xml", urlset(*(f"{HOME}/{n}" for n in range(5_000))))
    process = Program(*typed_for(served, HOME), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert "error" not in process.stderr.read()
    assert process.wait(600) == 0
    process.stderr.close()


def test_a_site_that_lists_nothing_is_told_by_the_exit_code(run: Run, served: ServedDomains) -> None:
    """1, as when nothing could be fetched; and why its robots.txt was not read."""
    said = run(*typed_for(served, "http://nothing.test"))
    assert said.returncode == 1
    assert "lists nothing that could be read; robots.txt: http-404" in said.stderr


def test_a_crawl_of_pages_is_not_a_map(run: Run, served: ServedDomains, tmp_path: Path) -> None:
    """Exit code 2, and nothing is changed."""
    (tmp_path / "periplus.toml").write_text('[crawl]\nseeds = ["http://a.test/"]\n')
    said = run(*typed_for(served, HOME, "-o", str(tmp_path)))
    assert said.returncode == 2
    assert "not a map" in said.stderr
    assert not (tmp_path / "state").exists()
