"""A crawl that reaches no server says which host, what is wrong and what to do; options and folders that cannot be."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.fetch.raw_servers import HOME, Certificates, RawServer, answering, read_head, wait_for_close
from tests.system.typed import Run

pytest.importorskip("cryptography", reason="certificates need the extra `lab`")

PAGE = answering([b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\npage"])


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def expired(certificates: Certificates) -> Iterator[RawServer]:
    with RawServer(PAGE, certificates.context("www.a.test", is_expired=True)) as server:
        yield server


def crawl(run: Run, certificates: Certificates, out: Path, *words: str) -> tuple[dict[str, Any], str]:
    """The summary of a crawl that fetches nothing, and what was said while it ran."""
    usual = ("--resolve", f"*.a.test={HOME}", "--resolve", f"a.test={HOME}", "--ca-file", str(certificates.path))
    said = run("crawl", *words, "-o", str(out), *usual, "--workers", "1", "--delay", "0", "--json")
    assert said.returncode == 1
    return json.loads(said.stdout), said.stderr


def test_a_bad_certificate_is_said(run: Run, certificates: Certificates, expired: RawServer, tmp_path: Path) -> None:
    """At once, without a retry, and in the summary; for people, too."""
    seed = f"https://www.a.test:{expired.port}/"
    found, said = crawl(run, certificates, tmp_path / "c", seed)
    assert (found["ended"], found["errors"]) == ("unreachable", {"tls": 1})
    [failure] = found["failures"]
    assert failure["url"] == f"{seed}robots.txt"
    assert failure["problem"] == "the certificate has expired"
    assert failure["next_step"]
    assert f"cannot reach {seed}: the certificate has expired" in said
    assert "given up" in said
    assert "retrying" not in said


def test_a_seed_that_redirects_to_a_bad_certificate(
    run: Run, certificates: Certificates, expired: RawServer, tmp_path: Path
) -> None:
    """The place it moved to is named: as for http://a.test/, which redirects to https://www.a.test/."""
    there = f"https://www.a.test:{expired.port}/"
    moved = f"HTTP/1.1 301 Moved\r\nLocation: {there}\r\nContent-Length: 0\r\n\r\n".encode()
    with RawServer(answering([moved])) as server:
        opened = ("--allow-private", f"www.a.test:{expired.port}")
        found, said = crawl(run, certificates, tmp_path / "c", f"http://a.test:{server.port}/", *opened)
    assert found["ended"] == "unreachable"
    assert [each["problem"] for each in found["failures"]] == ["the certificate has expired"]
    assert f"cannot reach {there}: the certificate has expired" in said


def test_a_proxy_that_refuses_is_named(run: Run, certificates: Certificates, tmp_path: Path) -> None:
    """Not the site, which was never asked."""
    with RawServer(answering([b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"])) as server:
        found, said = crawl(
            run, certificates, tmp_path / "c", "https://a.test/", "--proxy", f"http://{HOME}:{server.port}"
        )
        assert found["ended"] == "unreachable"
        assert f"the proxy {HOME}:{server.port} answered 407: it requires a user name and password" in said


@pytest.mark.parametrize("proxy", ["nonsense", "ftp://proxy.test:21", "http://"])
def test_a_proxy_that_cannot_be_one_is_refused(run: Run, tmp_path: Path, proxy: str) -> None:
    """Before anything is made."""
    said = run("crawl", "https://a.test/", "-o", str(tmp_path / "c"), "--proxy", proxy)
    assert said.returncode == 2
    assert "proxy" in said.stderr
    assert not (tmp_path / "c").exists()


def test_an_audit_of_a_folder_that_is_not_there(run: Run, tmp_path: Path) -> None:
    """It is not taken for a site."""
    said = run("audit", str(tmp_path / "nothing"))
    assert said.returncode == 2
    assert f"no such folder: {tmp_path / 'nothing'}" in said.stderr


def test_a_sitemap_at_a_server_that_does_not_exist_does_not_hold_up_the_end(run: Run, tmp_path: Path) -> None:
    """The host is asked once; its retries would take half a minute. The crawl is complete, and says what it is."""
    with RawServer(PAGE) as closed:
        port = closed.port

    def said(sock: socket.socket) -> None:
        path = read_head(sock).split()[1]
        body = b"page" if path == b"/" else f"Sitemap: http://maps.test:{port}/sitemap.xml\n".encode()
        kind = b"text/html" if path == b"/" else b"text/plain"
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(body), body))
        sock.shutdown(socket.SHUT_WR)
        wait_for_close(sock)

    with RawServer(said) as server:
        seed = f"http://a.test:{server.port}/"
        usual = ("--resolve", f"*.test={HOME}", "--allow-private", f"maps.test:{port}", "--workers", "1", "--json")
        done = run("crawl", seed, "-o", str(tmp_path / "c"), *usual)
    summary = json.loads(done.stdout)
    assert (done.returncode, summary["ended"], summary["pages"]) == (0, "complete", 1)
    assert (summary["errors"], summary["queued"], summary["queued_files"]) == ({"connect-refused": 1}, 1, 1)
