"""What others made opens nothing: pages, archives and collections lead to no private address, program or other folder.

One server listens on all of 127.0.0.0/8 (`tests.lab.test_crawl_private_addresses`): the site of a stranger is at
127.0.0.2, and 127.0.0.3 stands for the network that must not be reached.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.archives.foreign import Capture, html, write_warc
from tests.lab.test_crawl_private_addresses import HOSTILE, INSIDE, Web
from tests.system.typed import Run

from periplus import __version__
from periplus.apps.serve.served import Served, ServeSettings
from periplus.bridges.agents.answers import CrawlJob, Refusal
from periplus.bridges.agents.verbs import AgentVerbs
from periplus.collection.collection import existing
from periplus.collection.config.settings import Config
from periplus.collection.fresh_pages import FreshPages, NotFetched
from periplus.collection.seeds import seeds_from
from periplus.collection.shards import LoggedSettings, ShardMaker, opened_engine
from periplus.engine.inputs import Tick
from periplus.engine.log import InputLog
from periplus.model import Url
from periplus.store.layout import Layout

HURRY = "[politeness]\ndelay = 0.0\nslow_factor = 0.0\nip_delay = 0.0\n[retries]\nmax_attempts = 1\nbackoff = 0.02\n"


@pytest.fixture
def web() -> Iterator[Web]:
    served = Web()
    yield served
    served.close()


@pytest.fixture
def hurry(tmp_path: Path) -> str:
    """Settings without delays, as a file that a person names."""
    (tmp_path / "hurry.toml").write_text(HURRY)
    return str(tmp_path / "hurry.toml")


def inside(web: Web) -> list[str]:
    """Ways to write the address that must not be reached, and others of this machine."""
    port = web.port
    return [
        f"http://{INSIDE}:{port}",
        f"http://2130706435:{port}",
        f"http://[::ffff:7f00:3]:{port}",
        f"http://localhost:{port}",
        f"http://[::1]:{port}",
    ]


def stranger(web: Web) -> str:
    """The site of a stranger: its pages embed and link what they must not reach."""
    kinds = (
        '<img src="{}/picture.png">',
        '<link rel=stylesheet href="{}/style.css">',
        '<script src="{}/s.js"></script>',
    )
    files = "".join(kind.format(place) for place in inside(web) for kind in kinds)
    links = "".join(f'<a href="{place}/linked">x</a>' for place in inside(web))
    web.pages = {"/": (200, f"<html lang=en><title>A stranger</title>{files}{links}"), "/robots.txt": (404, "")}
    return f"http://hostile.test:{web.port}/"


# pages


@pytest.mark.proof
@pytest.mark.parametrize("more", [(), ("--external",)])
def test_an_audit_asks_nothing_private(web: Web, tmp_path: Path, run: Run, more: tuple[str, ...]) -> None:
    """Neither for what a page embeds nor for what it links to: the pages of a site are not typed by a person."""
    site = stranger(web)
    said = run("audit", site, "--resolve", f"hostile.test={HOSTILE}", "--delay", "0", "-o", str(tmp_path / "a"), *more)
    assert said.returncode == 0, said.stderr
    assert {request.address for request in web.requests} == {HOSTILE}


def test_the_audited_site_may_be_private_itself(web: Web, run: Run) -> None:
    """What was typed is open, with the files that it has on its own site."""
    said = run("audit", f"http://{INSIDE}:{web.port}/", "--delay", "0", "--json")
    assert said.returncode == 0, said.stderr
    assert {request.host for request in web.requests} == {INSIDE}


# archives


@pytest.fixture
def imported(web: Web, tmp_path: Path, run: Run, hurry: str) -> Path:
    """A collection of an archive with pages of private addresses, one linked from another."""
    home = f"http://{INSIDE}:{web.port}/"
    captures = [
        Capture(home, html("inside", f"{home}more", f"http://localhost:{web.port}/"), "2020-01-01T00:00:00Z"),
        Capture(f"http://localhost:{web.port}/", html("this machine"), "2020-01-01T00:00:01Z"),
    ]
    file = write_warc(tmp_path / "theirs.warc.gz", captures)
    said = run("import", str(file), "-o", str(tmp_path / "c"))
    assert said.returncode == 0, said.stderr
    return tmp_path / "c"


@pytest.mark.proof
@pytest.mark.parametrize("command", [("crawl", "-o"), ("refresh",)])
def test_an_imported_archive_opens_nothing(web: Web, imported: Path, run: Run, command: tuple[str, ...]) -> None:
    """Its URLs are seeds of the collection, and no person typed them."""
    run(*command, str(imported))
    assert web.requests == []
    answer = FreshPages(existing(imported)).fetch(Url(f"http://{INSIDE}:{web.port}/"))
    assert isinstance(answer, NotFetched)
    assert answer.reason == "private-address"
    assert web.requests == []


def test_a_refused_seed_has_its_reason(web: Web, imported: Path, run: Run) -> None:
    """The reason is in the summary, with the option that allows it."""
    said = run("crawl", "-o", str(imported), "--delay", "0")
    assert "private-address" in said.stdout + said.stderr
    assert "--allow-private" in said.stdout + said.stderr


@pytest.mark.parametrize("how", ["--allow-private", "seed"])
def test_what_a_person_names_afterwards_is_open(web: Web, imported: Path, run: Run, hurry: str, how: str) -> None:
    """That site alone, and from then on: a refresh needs no option."""
    named = [f"http://{INSIDE}:{web.port}/"] if how == "seed" else [how, f"{INSIDE}:{web.port}"]
    run("crawl", *named, "-o", str(imported), "--config", hurry)
    assert {request.host for request in web.requests} == {INSIDE}
    asked = len(web.requests)
    run("refresh", str(imported))
    assert len(web.requests) > asked
    assert {request.host for request in web.requests} == {INSIDE}


def test_a_seed_given_to_import_is_typed(web: Web, tmp_path: Path, imported: Path, run: Run) -> None:
    seed = f"http://{INSIDE}:{web.port}/"
    run("import", str(tmp_path / "theirs.warc.gz"), "-o", str(tmp_path / "d"), "--seed", seed)
    run("crawl", "-o", str(tmp_path / "d"), "--delay", "0")
    assert {request.host for request in web.requests} == {INSIDE}


@pytest.mark.proof
def test_lists_of_others_open_nothing(web: Web, tmp_path: Path, run: Run) -> None:
    """`import --seeds` reads bookmarks of others; `crawl --seeds` reads a list that a person has made."""
    (tmp_path / "urls.txt").write_text(f"http://{INSIDE}:{web.port}/\n")
    run("import", "--seeds", str(tmp_path / "urls.txt"), "-o", str(tmp_path / "c"))
    run("crawl", "-o", str(tmp_path / "c"), "--delay", "0")
    assert web.requests == []
    run("crawl", "--seeds", str(tmp_path / "urls.txt"), "-o", str(tmp_path / "c"), "--delay", "0")
    assert {request.host for request in web.requests} == {INSIDE}


@pytest.mark.parametrize("given", [("in/x.warc.gz",), ("in",), ("--seeds", "in/x.warc.gz"), ("in/x.wacz",)])
def test_import_of_a_pipe_does_not_wait(tmp_path: Path, run: Run, given: tuple[str, ...]) -> None:
    """Neither if it is named, nor if it is in a folder that is."""
    (tmp_path / "in").mkdir()
    os.mkfifo(tmp_path / "in" / "x.warc.gz")
    os.mkfifo(tmp_path / "in" / "x.wacz")
    *option, place = given
    said = run("import", *option, str(tmp_path / place), "-o", str(tmp_path / "c"))
    assert said.returncode == 2
    assert "internal error" not in said.stderr


# agents


@pytest.mark.proof
@pytest.mark.parametrize("verb", ["map", "crawl"])
def test_the_seed_of_an_agent_opens_no_port(web: Web, tmp_path: Path, run: Run, hurry: str, verb: str) -> None:
    """The owner opened a host on one port: an agent reaches that one, and no other."""
    folder, other = tmp_path / "c", Web()
    table = ("--resolve", f"wiki.test={INSIDE}")
    run("crawl", f"http://wiki.test:{web.port}/", "-o", str(folder), *table, "--config", hurry, "--workers", "1")
    verbs = AgentVerbs(Served((folder,), ServeSettings(port=0)))
    try:
        for port in (web.port, other.port):
            site = f"http://wiki.test:{port}/new"
            asked = {"site": site} if verb == "map" else {"seeds": [site], "minutes": 1}
            answer = verbs.call(verb, asked)
            while isinstance(answer, CrawlJob) and answer.state == "running":
                time.sleep(0.2)
                answer = verbs.call("crawl_status", {"id": answer.id})
    finally:
        verbs.close()
        other.close()
    assert other.requests == []
    assert "/new" in {request.path for request in web.requests} or verb == "map"
    assert existing(folder).config.wire.allow_private == (f"wiki.test:{web.port}",)


# collections


@pytest.fixture
def own(web: Web, tmp_path: Path, run: Run, hurry: str) -> Path:
    """A collection of a private site, crawled by the person who has it."""
    done = run(
        "crawl", f"http://{INSIDE}:{web.port}/", "-o", str(tmp_path / "own"), "--config", hurry, "--workers", "1"
    )
    assert done.returncode == 0, done.stderr
    web.requests.clear()
    return tmp_path / "own"


@pytest.mark.proof
@pytest.mark.parametrize("command", [("refresh",), ("crawl", "-o"), ("watch", "--for", "2s")])
def test_the_own_collection_keeps_its_rights(web: Web, own: Path, run: Run, command: tuple[str, ...]) -> None:
    """Also under another name: what was typed once is signed."""
    own = own.rename(own.with_name("renamed"))
    done = run(*command, str(own))
    assert done.returncode == 0, done.stderr
    if command[0] == "refresh":
        assert {request.host for request in web.requests} == {INSIDE}


@pytest.mark.proof
@pytest.mark.parametrize(
    "command", [("refresh",), ("crawl", "-o"), ("watch", "--for", "2s"), ("repair",), ("cluster", "resize")]
)
def test_a_collection_of_somebody_else_reaches_nothing(
    web: Web, own: Path, run: Run, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its settings open an address, and we have not given them; reading it needs no trust."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "us"))
    last = ("2",) if command[0] == "cluster" else ()
    done = run(*command, str(own), *last)
    assert done.returncode == 2
    assert "wire.allow_private" in done.stderr
    assert f"periplus trust {own}" in done.stderr
    assert web.requests == []
    for reading in (("info", str(own)), ("query", str(own), "select count(*) from pages"), ("index", str(own))):
        assert run(*reading).returncode == 0


def test_trust_after_reading(web: Web, own: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It shows what is accepted, and asks; then the collection is as if it were ours."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "us"))
    asked = run("trust", str(own))
    assert asked.returncode == 2
    assert f"{INSIDE}:{web.port}" in asked.stdout
    assert run("refresh", str(own)).returncode == 2
    assert run("trust", str(own), "--yes").returncode == 0
    assert run("refresh", str(own)).returncode == 0
    assert web.requests
    assert "nothing to accept" in run("trust", str(own)).stdout


def test_the_same_command_on_another_machine(
    web: Web, own: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is typed again needs no trust."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "us"))
    assert run("crawl", "-o", str(own)).returncode == 2
    assert run("crawl", f"http://{INSIDE}:{web.port}/", "-o", str(own)).returncode == 0
    assert run("refresh", str(own)).returncode == 0
    assert {request.host for request in web.requests} == {INSIDE}


def test_a_signature_covers_every_value(web: Web, own: Path, run: Run) -> None:
    """A signed collection that somebody has changed is not ours any more."""
    settings = own / "periplus.toml"
    settings.write_text(settings.read_text().replace(f'"{INSIDE}:{web.port}"', f'"{INSIDE}:{web.port}", "127.0.0.9"'))
    done = run("refresh", str(own))
    assert done.returncode == 2
    assert web.requests == []


EVIL = {
    "wire.proxy": 'proxy = "http://127.0.0.3:{port}"',
    "dns.hosts": 'hosts = {{ "www.example.org" = "127.0.0.3" }}',
    "wire.allow_private": 'allow_private = ["127.0.0.3:{port}"]',
    "render.browser": 'mode = "always"\nsandbox = false\nbrowser = "{folder}/evil.sh"',
    "topic.program": 'program = "evil"\n[crawl]\nordering = "focused"',
    "topic.like": 'like = ["http://127.0.0.3:{port}/"]\n[crawl]\nordering = "focused"',
    "cluster.local_state": 'local_state = "{folder}/elsewhere"',
    "ordering.by": 'by = "{folder}/elsewhere"\n[crawl]\nordering = "optimal"',
    "crawl.seed_file": 'seed_file = "../outside.txt"',
    "dust.file": 'file = "{folder}/outside.txt"',
    "spam.model": 'model = "{folder}/outside.txt"',
}


@pytest.mark.parametrize("name", EVIL)
def test_settings_of_others(web: Web, tmp_path: Path, run: Run, name: str) -> None:
    """A folder from elsewhere that only has settings: a crawl ends before it uses any of them."""
    folder, table = tmp_path / "theirs", name.partition(".")[0]
    folder.mkdir()
    (tmp_path / "outside.txt").write_text(f"http://{INSIDE}:{web.port}/\n")
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    script.chmod(0o755)
    line = EVIL[name].format(port=web.port, folder=tmp_path)
    (folder / "periplus.toml").write_text(f"[{table}]\n{line}\n")
    done = run("crawl", "http://www.example.org/", "-o", str(folder), "--delay", "0")
    assert done.returncode == 2
    assert f"sets {name}" in done.stderr or f", {name}" in done.stderr
    assert web.requests == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evil.sh", "outside.txt", "theirs"]
    config = existing(folder).config
    assert config.wire == Config().wire
    assert config.dns == Config().dns


def test_an_agent_fetches_nothing_for_settings_of_others(web: Web, tmp_path: Path) -> None:
    """A proxy that was left out would not be used: then nothing is fetched at all."""
    (tmp_path / "periplus.toml").write_text(f'[wire]\nproxy = "http://{INSIDE}:{web.port}"\n')
    answer = AgentVerbs(Served((tmp_path,), ServeSettings(port=0))).call(
        "read", {"url": "http://a.test/", "fresh": True}
    )
    assert isinstance(answer, Refusal)
    assert answer.reason == "collection-error"
    assert "periplus trust" in answer.hint
    assert web.requests == []


@pytest.mark.proof
def test_naming_a_file_is_accepting_it(web: Web, tmp_path: Path, run: Run) -> None:
    """`--config` reads settings that a person has chosen, also if they lie in the collection."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    home = f"http://{INSIDE}:{web.port}/"
    settings = folder / "periplus.toml"
    settings.write_text(f'[crawl]\nseeds = ["{home}"]\n[wire]\nallow_private = ["{INSIDE}:{web.port}"]\n{HURRY}')
    assert run("crawl", "-o", str(folder)).returncode == 2
    assert run("crawl", "-o", str(folder), "--config", str(settings)).returncode == 0
    assert {request.host for request in web.requests} == {INSIDE}


@pytest.mark.proof
def test_seeds_in_settings_of_others_open_nothing(web: Web, tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "periplus.toml").write_text(f'[crawl]\nseeds = ["http://{INSIDE}:{web.port}/", "localhost:{web.port}"]\n')
    said = run("crawl", "-o", str(folder), "--delay", "0")
    assert "private-address" in said.stdout + said.stderr
    assert web.requests == []


def test_the_log_of_an_interrupted_crawl_names_no_program(tmp_path: Path) -> None:
    """Inputs are applied again under the settings that they were logged with, but for what a person has to give."""
    seeds, layout = seeds_from(["http://a.test/"]), Layout(tmp_path)
    topic = {"crawl.ordering": "focused", "topic.words": "ships", "topic.program": "evil"}
    theirs = Config().with_options({**topic, "cluster.local_state": str(tmp_path / "elsewhere")})
    header = msgspec.msgpack.encode(LoggedSettings(__version__, theirs, seeds, 0.0))
    layout.shard(0).mkdir(parents=True)
    log = InputLog(layout.log(0), layout.warc, header)
    log.begin(0)
    log.append([Tick(0.0)])
    log.close()
    ours = Config().with_options({"crawl.ordering": "focused", "topic.words": "ships"})
    opened_engine(ShardMaker(ours, tmp_path, seeds), layout, 0, 1).close()
    assert not (tmp_path / "elsewhere").exists()


# links


@pytest.mark.proof
@pytest.mark.parametrize("name", ["search", "tables", "state", "warc", "periplus.toml.new", "learnt"])
def test_no_link_leads_out_of_a_collection(own: Path, run: Run, tmp_path: Path, name: str) -> None:
    """Neither for reading nor for writing; the folder itself may be reached by a link."""
    outside = tmp_path / "outside"
    if (own / name).is_dir():
        (own / name).rename(outside)
    elif name.endswith(".new"):
        outside.write_text("precious")
    else:
        outside.mkdir()
    before = sorted(outside.rglob("*")) if outside.is_dir() else outside.read_text()
    (own / name).symlink_to(outside)
    (tmp_path / "link").symlink_to(own)
    commands = [("index",), ("crawl", "-o"), ("refresh",), ("repair",), ("report",), ("info",), ("judge",)]
    for folder in (own, tmp_path / "link"):
        for command in commands:
            done = run(*command, str(folder))
            assert (done.returncode, "is a link out of the collection" in done.stderr) == (3, True), (command, done)
    assert before == (sorted(outside.rglob("*")) if outside.is_dir() else outside.read_text())
    (own / name).unlink()


def test_a_lock_that_is_a_link(tmp_path: Path, run: Run) -> None:
    """A folder that is not a collection yet: nothing is written through what lies in it."""
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "urls.txt").write_text("http://a.test/\n")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "crawl.lock").symlink_to(tmp_path / "precious")
    done = run("import", "--seeds", str(tmp_path / "urls.txt"), "-o", str(tmp_path / "theirs"))
    assert done.returncode == 3
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.proof
def test_a_collection_behind_a_link(web: Web, own: Path, run: Run, tmp_path: Path) -> None:
    """A person named it; links that stay inside are followed as well."""
    (tmp_path / "link").symlink_to(own)
    (own / "latest").symlink_to("tables")
    assert run("index", str(tmp_path / "link")).returncode == 0
    assert run("refresh", str(tmp_path / "link")).returncode == 0


def test_a_pipe_in_a_collection_is_not_waited_for(own: Path, run: Run) -> None:
    os.mkfifo(own / "learnt.json")
    done = run("info", str(own))
    assert done.returncode == 3
    assert "neither a file nor a folder" in done.stderr


def test_the_socket_of_another_program_is_not_spoken_to(own: Path, run: Run, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "control.sock"))
        other.listen()
        other.settimeout(0.2)
        (own / "control.sock").unlink(missing_ok=True)
        (own / "control.sock").symlink_to(tmp_path / "control.sock")
        assert run("info", str(own)).returncode == 0
        assert run("refresh", str(own)).returncode == 0
        with pytest.raises(TimeoutError):
            other.accept()
    assert (tmp_path / "control.sock").exists()
