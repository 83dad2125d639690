"""The policy of `[usage]`: what is written in any form is read back as it was meant; contradictions are refused."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.each_case import each_case

from periplus.formats.headers import Headers
from periplus.formats.preferences import preference_headers, read_tdmrep
from periplus.formats.robots import parse
from periplus.formats.rsl import header_licenses, read_rsl
from periplus.model import ConfigError, Directives
from periplus.parts.permissions.statements import Place, of_license, of_page, of_reservations, of_robots
from periplus.policy.permissions import Statement, combine
from periplus_sites.publish import FolderInventory, Publisher, PublishSettings
from periplus_sites.publish.collections import load_settings, settings_path
from periplus_sites.publish.files import with_block, without_block
from periplus_sites.publish.settings import SiteSettings, UsageSettings
from periplus_sites.publish.usage import LICENSE, TDMREP, UsagePolicy, without_policy

BASE = "https://site.test/"
USES = ("search", "train", "ai_input")
OWNER = b"User-agent: GPTBot\nCrawl-delay: 5\nUser-agent: CCBot\nDisallow: /x\n\nUser-agent: *\nAllow: /\n"


def read_back(policy: UsagePolicy, robots: bytes, path: str, agent: str) -> dict[str, str]:
    """What a crawler reads of a page in files alone, by use; nothing that is unknown."""
    url, files = f"{BASE.rstrip('/')}{path}", policy.files()
    access = parse(robots).access(agent)
    found: list[Statement] = of_robots(Place(), access, url)
    tdm = read_tdmrep(files[TDMREP]) if TDMREP in files else None
    found += of_reservations(url, Place(), tdm, Place())
    assert [each.location for each in access.licenses] == ([BASE + LICENSE] if LICENSE in files else [])
    if LICENSE in files:
        found += of_license(Place(), "robots-license", read_rsl(files[LICENSE]), url)
    return answers(found)


def read_headers(policy: UsagePolicy, path: str) -> dict[str, str]:
    """What a crawler reads in the headers of a page."""
    url, headers = f"{BASE.rstrip('/')}{path}", tuple(policy.headers(path))
    found = of_page(Place(), Place(), 200, Headers(headers), Directives())
    found += of_reservations(url, Place(), None, Place(), preference_headers(headers))
    for _ in header_licenses(Headers(headers).all("link"), url):
        found += of_license(Place(), "header-license", read_rsl(policy.license_xml()), url)
    return answers(found)


def answers(found: list[Statement]) -> dict[str, str]:
    combined = combine(found)
    assert not any(said.conflict for said in combined.values())
    return {use: combined[use].answer for use in USES if combined[use].answer != "unknown"}


@pytest.mark.parametrize("stated", list(product(("", "allow", "disallow"), repeat=3)))
def test_every_policy_is_read_back(stated: tuple[str, str, str]) -> None:
    """All 27 combinations, in every group of a robots.txt, with the files, and in headers."""
    meant = {use: value for use, value in zip(USES, stated, strict=True) if value}
    search, train, ai_input = stated
    policy = UsagePolicy.of(UsageSettings(search, train, ai_input), BASE)
    for owner in (b"", OWNER, b"User-agent: *"):
        robots = with_block(owner, [f"Sitemap: {BASE}sitemap.xml"], policy)
        for agent in ("periplus", "GPTBot", "CCBot"):
            assert read_back(policy, robots, "/a", agent) == meant, (owner, agent)
            assert parse(robots).allows(agent, f"{BASE}x") == parse(owner).allows(agent, f"{BASE}x")
        assert with_block(robots, [f"Sitemap: {BASE}sitemap.xml"], policy) == robots
        assert without_policy(without_block(robots)).strip() == owner.strip()
    assert read_headers(policy, "/a") == meant


@each_case(
    ("settings", "path", "meant"),
    [
        ({"train": "disallow", "paths": ("/open/ train=allow",)}, "/open/a", {"train": "allow"}),
        ({"train": "disallow", "paths": ("/open/ train=allow",)}, "/a", {"train": "disallow"}),
        (
            {"train": "disallow", "search": "allow", "paths": ("/a train=allow", "/a/b search=disallow")},
            "/a/b",
            {"train": "disallow", "search": "disallow"},
        ),
        ({"paths": ("/a train=disallow",)}, "/b", {}),
        (
            {"search": "allow", "train": "disallow", "ai_input": "allow", "paths": ("/a ai_input=disallow",)},
            "/a",
            {"search": "allow", "train": "disallow", "ai_input": "disallow"},
        ),
    ],
)
def test_paths(settings: dict[str, Any], path: str, meant: dict[str, str]) -> None:
    """The longest path counts, in every form."""
    policy = UsagePolicy.of(UsageSettings(**settings), BASE)
    assert read_back(policy, with_block(OWNER, [], policy), path, "periplus") == meant
    assert read_headers(policy, path) == meant


@each_case(
    ("settings",),
    [
        ({"train": "no"},),
        ({"forms": ("rdf",)},),
        ({"paths": ("open train=allow",)},),
        ({"paths": ("/a train=maybe",)},),
    ],
)
def test_bad_settings(settings: dict[str, Any]) -> None:
    """An error names the setting."""
    with pytest.raises(ConfigError, match="usage"):
        UsageSettings(**settings)


def published(folder: Path, usage: UsageSettings) -> Publisher:
    """A publisher of a site with one page."""
    folder.mkdir(exist_ok=True)
    (folder / "index.html").write_text("<title>home</title><p>text")
    return Publisher(folder, PublishSettings(site=SiteSettings(BASE), usage=usage))


def test_scan_writes_the_policy_and_refuses_contradictions(tmp_path: Path) -> None:
    """Files come and go with the policy; a line of the owner's that says otherwise is an error, with its number."""
    folder = tmp_path / "site"
    everything = UsageSettings(search="allow", train="disallow", ai_input="allow")
    with published(folder, everything) as publisher:
        done = publisher.scan([FolderInventory(folder, BASE, skip=publisher.is_own)])
        assert done.scan.resources == 1
        assert {TDMREP, LICENSE} <= {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        publisher.scan([FolderInventory(folder, BASE, skip=publisher.is_own)])
    with published(folder, UsageSettings()) as publisher:
        publisher.scan([FolderInventory(folder, BASE, skip=publisher.is_own)])
        assert not (folder / LICENSE).exists()
        assert b"Content-Usage" not in (folder / "robots.txt").read_bytes()
    (folder / "robots.txt").write_text("User-agent: Other\nContent-Signal: ai-train=yes\n")
    with published(folder, everything) as publisher, pytest.raises(ConfigError, match=r"line 2 of robots.txt.*train"):
        publisher.scan([FolderInventory(folder, BASE, skip=publisher.is_own)])
    (folder / "robots.txt").unlink()
    (folder / LICENSE).write_text("mine")
    with published(folder, everything) as publisher, pytest.raises(ConfigError, match="was not written by"):
        publisher.scan([FolderInventory(folder, BASE, skip=publisher.is_own)])
    assert (folder / LICENSE).read_text() == "mine"


def test_old_settings_say_what_to_do(tmp_path: Path) -> None:
    """Free text about use was replaced."""
    path = settings_path(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(f'[site]\nbase_url = "{BASE}"\n[robots]\nusage = ["Content-Usage: train-ai=n"]\n')
    with pytest.raises(ConfigError, match=r"robots\.usage was replaced") as refused:
        load_settings(tmp_path)
    assert "[usage]" in str(refused.value.hint)
    for broken, said in (("[robots", "Expected"), ("robots = 1", "robots is a table")):
        path.write_text(broken)
        with pytest.raises(ConfigError, match=said):
            load_settings(tmp_path)
    path.write_text(f'[site]\nbase_url = "{BASE}"\n[usage]\ntrain = "disallow"\n')
    assert load_settings(tmp_path).usage.train == "disallow"
    assert msgspec.structs.asdict(load_settings(tmp_path).usage)["forms"][0] == "content-usage"


def test_middleware_states_the_policy(tmp_path: Path) -> None:
    """In headers, unless the application does, in its robots.txt, and with the files."""
    usage = UsageSettings(search="allow", train="disallow", ai_input="allow")

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        own = [("Content-Usage", "search=n")] if environ["PATH_INFO"] == "/own" else []
        status = "404 Not Found" if environ["PATH_INFO"] == "/robots.txt" else "200 OK"
        start_response(status, [("Content-Type", "text/html"), *own])
        return [b"<p>text"]

    with published(tmp_path / "site", usage) as publisher:
        publisher.write()
        app = publisher.wsgi(application)
        answers: dict[str, tuple[Headers, bytes]] = {}
        for path in ("/a", "/own", "/robots.txt", f"/{TDMREP}", f"/{LICENSE}"):
            heads: list[Any] = []
            environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": "", "SCRIPT_NAME": ""}
            pieces = app(environ, lambda _status, pairs, *_, to=heads: to.append(pairs))
            body = b"".join(pieces)
            getattr(pieces, "close", lambda: None)()
            answers[path] = Headers(heads[0]), body
    sent = answers["/a"][0]
    assert (sent.get("content-usage"), sent.get("tdm-reservation")) == ("search=y, train-ai=n", "1")
    assert answers["/own"][0].all("content-usage") == ("search=n",)
    assert b"Content-Signal: search=yes, ai-input=yes, ai-train=no" in answers["/robots.txt"][1]
    assert answers[f"/{TDMREP}"][1] == publisher.policy.tdmrep_json()
    assert answers[f"/{LICENSE}"][1] == publisher.policy.license_xml()
