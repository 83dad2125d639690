"""The permission ledger of a crawl: 12 sites that state what they permit in seven ways, in conflict with themselves."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.lab.crawling import crawl
from tests.lab.scripted_web import MovedTo, ScriptedWeb, page

import periplus
from periplus.cli.app import app
from periplus.collection.config.settings import Config
from periplus.insight.views import Views
from periplus.model import Fetched, Redirected
from periplus.policy.permissions import PURPOSES
from periplus.store.layout import Layout
from periplus.store.warc.answers import archived_answers

RSL = '<?xml version="1.0"?><rsl xmlns="https://rslstandard.org/rsl">{}</rsl>'
NO_TRAINING = RSL.format('<content url="/"><license><prohibits type="usage">ai-train</prohibits></license></content>')
PAID = RSL.format('<content url="/"><license><payment type="crawl"/></license></content>')
FREE = RSL.format('<content url="/"><license><permits type="usage">all</permits></license></content>')
RESERVED = '[{"location": "/", "tdm-reservation": 1}]'

SITES = 12
SAID: dict[str, str | bytes] = {
    "http://s1.test/": page("silent", "/commons"),
    "http://s1.test/commons": '<title>c</title><p>text <a rel="license" href="https://creativecommons.org/licenses/by/4.0/">BY',
    "http://s2.test/robots.txt": "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /open train-ai=y\n",
    "http://s2.test/": page("rules", "/open", "/sent"),
    "http://s2.test/open": page("open"),
    "http://s2.test/sent": page("sent"),
    "http://s3.test/robots.txt": "User-agent: *\nContent-Signal: search=yes, ai-input=no, use=immediate\n",
    "http://s3.test/": page("signals"),
    "http://s4.test/.well-known/tdmrep.json": RESERVED,
    "http://s4.test/": page("reserved", "/meta", "/header"),
    "http://s4.test/meta": '<title>m</title><meta name="tdm-reservation" content="0"><p>text',
    "http://s4.test/header": page("header"),
    "http://s5.test/.well-known/tdmrep.json": "later",
    "http://s5.test/": page("unreachable file"),
    "http://s6.test/robots.txt": "License: http://s6.test/l.xml\nUser-agent: *\nAllow: /\n",
    "http://s6.test/l.xml": NO_TRAINING,
    "http://s6.test/": page("licence", "/paid", "/inline"),
    "http://s6.test/paid": '<title>p</title><link rel=license type="application/rsl+xml" href="/paid.xml"><p>text',
    "http://s6.test/paid.xml": PAID,
    "http://s6.test/inline": f'<title>i</title><script type="application/rsl+xml">{FREE[21:]}</script><p>text',
    "http://s7.test/robots.txt": "License: http://s7.test/l.xml\nUser-agent: *\nAllow: /\n",
    "http://s7.test/l.xml": '{"not": "xml"}',
    "http://s7.test/": page("unreadable licence"),
    "http://s8.test/": '<title>d</title><meta name=robots content="noindex, noarchive, noai"><p>text',
    "http://s9.test/": page("header directives"),
    "http://s10.test/": page("pay", "/login"),
    "http://s10.test/login": page("login"),
    "http://s11.test/robots.txt": "License: http://s11.test/moved.xml\nUser-agent: *\nContent-Usage: train-ai=y\n",
    "http://s11.test/moved.xml": MovedTo("http://s1.test/elsewhere.xml"),
    "http://s1.test/elsewhere.xml": PAID,
    "http://s11.test/": page("conflict"),
    "http://s12.test/robots.txt": "User-agent: *\nDisallow: /.well-known/\nContent-Usage: search=y, train-ai=y\n",
    "http://s12.test/": page("may not be asked"),
}
HEADERS = {
    "http://s2.test/sent": {"Content-Usage": "train-ai=y, search=n"},
    "http://s4.test/header": {"tdm-reservation": "0", "Content-Signal": "ai-train=no"},
    "http://s9.test/": {
        "X-Robots-Tag": "noarchive",
        "Link": '<http://s6.test/l.xml>; rel=license; type="application/rsl+xml"',
    },
    "http://s10.test/": {"crawler-price": "USD 0.01", "Retry-After": "1"},
}
STATUSES = {"http://s10.test/": 402, "http://s10.test/login": 401}
YES, NO, IF = "allow", "disallow", "conditional"
UNSAID: tuple[str, str | None, bool, bool] = ("unknown", None, False, True)
ASKED_NOBODY: tuple[str, str | None, bool, bool] = ("unknown", None, False, False)
Truth = tuple[str, str | None, bool, bool]
TRUTH: dict[str, dict[str, Truth]] = {
    "http://s1.test/": {},
    "http://s1.test/commons": {
        "search": (YES, "html-license", False, True),
        **dict.fromkeys(("train", "ai_input", "archive"), (IF, "html-license", False, True)),
    },
    "http://s2.test/": {"train": (NO, "robots-content-usage", False, True)},
    "http://s2.test/open": {"train": (YES, "robots-content-usage", False, True)},
    "http://s2.test/sent": {
        "train": (NO, "robots-content-usage", True, True),
        "search": (NO, "header-content-usage", False, True),
    },
    "http://s3.test/": {
        "search": (NO, "robots-content-signal", True, True),
        "train": (NO, "robots-content-signal", False, True),
        "ai_input": (NO, "robots-content-signal", False, True),
        "archive": (NO, "robots-content-signal", False, True),
    },
    "http://s4.test/": {"train": (NO, "tdmrep-json", False, True)},
    "http://s4.test/meta": {"train": (YES, "meta-tdm", False, True)},
    "http://s4.test/header": {"train": (NO, "header-content-signal", True, True)},
    "http://s5.test/": {"train": ASKED_NOBODY},
    "http://s6.test/": {
        "search": (YES, "robots-license", False, True),
        "train": (NO, "robots-license", False, True),
        "ai_input": (YES, "robots-license", False, True),
    },
    "http://s6.test/paid": {
        "search": (IF, "html-license", True, True),
        "train": (NO, "robots-license", True, True),
        "ai_input": (IF, "html-license", True, True),
    },
    "http://s6.test/inline": {
        "search": (YES, "html-license, robots-license", False, True),
        "train": (NO, "robots-license", True, True),
        "ai_input": (YES, "html-license, robots-license", False, True),
    },
    "http://s7.test/": {
        "train": (NO, "robots-license", False, True),
        "ai_input": (NO, "robots-license", False, True),
    },
    "http://s8.test/": {
        "search": (NO, "meta-robots", False, True),
        "train": (NO, "meta-robots", False, True),
        "archive": (NO, "meta-robots", False, True),
    },
    "http://s9.test/": {
        "search": (YES, "header-license", False, True),
        "train": (NO, "header-license", False, True),
        "ai_input": (YES, "header-license", False, True),
        "archive": (NO, "header-robots", False, True),
    },
    "http://s10.test/": dict.fromkeys(("search", "train", "ai_input", "archive"), (NO, "http-402", False, True)),
    "http://s11.test/": {
        "search": (IF, "robots-license", False, True),
        "train": (IF, "robots-license", True, True),
        "ai_input": (IF, "robots-license", False, True),
    },
    "http://s12.test/": {
        "search": (YES, "robots-content-usage", False, True),
        "train": (YES, "robots-content-usage", False, False),
    },
}
PAYING = {"crawler-exact-price", "crawler-max-price", "payment-signature", "x-payment", "authorization"}


def permitted(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The view, by page and use."""
    with Views(folder) as views:
        return {(row["url"], row["use"]): row for row in views.rows("select * from permitted")}


def said_web() -> ScriptedWeb:
    """The sites."""
    web = ScriptedWeb(dict(SAID))
    web.headers, web.statuses, web.failing = dict(HEADERS), dict(STATUSES), {"http://s5.test/.well-known/tdmrep.json"}
    return web


@pytest.mark.proof
def test_every_page_is_judged_as_its_site_says(tmp_path: Path) -> None:
    """Answer, source, conflict and explanation equal a truth table; every file is asked for once; nothing is paid."""
    seeds = [f"http://s{number}.test/" for number in range(1, SITES + 1)]
    with said_web() as web:
        crawl(tmp_path, seeds, web.settings | {"permissions.ledger": True, "retries.max_attempts": 2})
        asked, fields = list(web.asked), set(web.fields)
    found = permitted(tmp_path)
    assert {url for url, _ in found} == set(TRUTH)
    for (url, use), row in found.items():
        truth = TRUTH[url].get(use, UNSAID)
        assert (row["answer"], row["decided_by"], row["conflict"], row["explained"]) == truth, (url, use)
    files = Counter(url for url in asked if url.endswith(("tdmrep.json", "l.xml", "d.xml", "e.xml")))
    assert len(files) == SITES - 1 + 6 - 1
    assert {url for url, times in files.items() if times > 1} == {"http://s5.test/.well-known/tdmrep.json"}
    assert "http://s12.test/.well-known/tdmrep.json" not in asked
    assert asked.count("http://s10.test/") == 1
    assert not fields & PAYING
    assert_proofs_are_archived(tmp_path)
    assert_exports_obey(tmp_path)


REASONS = {"disallow": "not-for-{}", "conditional": "not-licensed", "allow": "", "unknown": ""}


def assert_exports_obey(folder: Path) -> None:
    """An export for a use has exactly the pages that may be used for it; with `drop` only those that are allowed."""
    (folder / "periplus.toml").write_text(Config().with_options({"crawl.seeds": ["http://s1.test/"]}).dump())
    collection = periplus.open(folder)
    with_pages = [url for url in TRUTH if url != "http://s10.test/"]
    for purpose, use in PURPOSES.items():
        wanted: dict[str, list[str]] = {"keep": [], "drop": []}
        reasons = Counter[str]()
        for url in with_pages:
            answer, _, _, is_explained = TRUTH[url].get(use, UNSAID)
            reason = REASONS[answer].format(purpose) or ("" if is_explained else "unexplained")
            reasons[reason] += bool(reason)
            if not reason:
                wanted["keep"].append(url)
                wanted["drop"] += [url] if answer == YES else []
        for unknown, urls in wanted.items():
            out = folder / f"{purpose}-{unknown}.jsonl"
            exported = collection.export("jsonl", out, for_=purpose, unknown=unknown)
            assert {json.loads(line)["url"] for line in out.read_text().splitlines()} == set(urls), (purpose, unknown)
            if unknown == "keep":
                assert exported.left_out == +reasons
    explained = collection.permissions("http://s6.test/paid")
    assert [each.answer for each in explained.answers] == [IF, NO, IF, "unknown"]
    assert {each.source for each in explained.statements} == {"robots", "html-license", "robots-license", "tdmrep-json"}
    shown = CliRunner().invoke(app, ["export", str(folder), "--explain", "http://s6.test/paid"])
    assert "pay:crawl" in shown.stdout
    nothing = collection.permissions("http://elsewhere.test/")
    assert not any(each.explained for each in nothing.answers)


def assert_proofs_are_archived(folder: Path) -> None:
    """Every digest is that of a file, of headers or of a body in the archive."""
    digests = set[str]()
    for found in archived_answers(Layout(folder).warc, 0):
        answer = found.outcome
        assert isinstance(answer, Fetched | Redirected)
        head = "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
        digests |= {sha256(head.encode()).hexdigest(), sha256(answer.body).hexdigest()}
    with Views(folder) as views:
        rows = views.rows("select * from permissions where digest is not null")
    assert rows
    inline = sha256(FREE[21:].encode()).hexdigest()
    assert {row["digest"] for row in rows} - {inline} <= digests
    assert all(row["record"] for row in rows)


def test_limit_waits_for_the_files_of_its_pages(tmp_path: Path) -> None:
    """A crawl of one page still asks for the licence that the page depends on; another run asks for nothing again."""
    with said_web() as web:
        options = web.settings | {"permissions.ledger": True, "crawl.limit": 1, "sitemaps.follow": False}
        crawl(tmp_path, ["http://s6.test/"], options)
        assert permitted(tmp_path)["http://s6.test/", "train"]["answer"] == NO
        before = Counter(web.asked)
        crawl(tmp_path, ["http://s6.test/"], options | {"crawl.limit": 9})
        again = Counter(web.asked) - before
    assert not any(url.endswith(("tdmrep.json", "l.xml")) for url in again)
    assert permitted(tmp_path)["http://s6.test/paid", "search"]["answer"] == IF


@pytest.mark.proof
def test_shards_keep_one_ledger(tmp_path: Path) -> None:
    """With two shards every page of a site is judged as with one, but for licences on sites of the other."""
    seeds = [f"http://s{number}.test/" for number in range(1, SITES + 1)]
    with said_web() as web:
        options = web.settings | {"permissions.ledger": True, "retries.max_attempts": 2}
        crawl(tmp_path, seeds, options, workers=2)
    for (url, use), row in permitted(tmp_path).items():
        if url not in ("http://s9.test/", "http://s11.test/"):
            truth = TRUTH[url].get(use, UNSAID)
            assert (row["answer"], row["decided_by"], row["conflict"], row["explained"]) == truth, (url, use)
        elif use == "train":
            assert row["answer"] in (NO, IF)


def test_reservation_outlives_whoever_names_it_as_a_licence(tmp_path: Path) -> None:
    """A site that names another's tdmrep.json as its licence, and is crawled first, only refuses its own pages."""
    victim = "http://victim.test/.well-known/tdmrep.json"
    rules = [{"location": f"/{number}", "tdm-reservation": 0} for number in range(1000)]
    said: dict[str, str | bytes] = {
        "http://evil.test/robots.txt": f"License: {victim}\nUser-agent: *\nAllow: /\n",
        "http://evil.test/": page("evil", "http://victim.test/"),
        "http://victim.test/": page("victim"),
        victim: RESERVED,
        "http://long.test/": page("long"),
        "http://long.test/.well-known/tdmrep.json": json.dumps([*rules, {"location": "/", "tdm-reservation": 1}]),
    }
    with ScriptedWeb(said) as web:
        options = web.settings | {"permissions.ledger": True, "scope.kind": "any"}
        crawl(tmp_path, ["http://evil.test/", "http://long.test/"], options)
        assert web.asked.count(victim) == 1
    found = {
        url: (row["answer"], row["decided_by"], row["explained"])
        for (url, use), row in permitted(tmp_path).items()
        if use == "train"
    }
    assert found == {
        "http://victim.test/": (NO, "tdmrep-json", True),
        "http://evil.test/": (NO, "robots-license", True),
        "http://long.test/": ("unknown", None, False),
    }
