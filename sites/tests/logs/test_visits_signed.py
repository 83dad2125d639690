"""Signed requests in logs: found in every format, verified, and counted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from periplus.apps.identity.verifier import DirectoryAnswer
from periplus.formats.access_log import LoggedRequest, read
from periplus.formats.web_bot_auth import RequestSigning, new_key, write_directory
from periplus.model import Url
from periplus_sites.logs import read_logs
from periplus_sites.logs.analysis import MOST_DIRECTORIES_FETCHED

pytest.importorskip("cryptography", reason="signatures need the extra `identity`")

AT = 1_790_000_000
KEY = new_key()
SIGNED = dict(
    RequestSigning(KEY, "https://signer.googlebot.com").fields("GET", Url("https://a.test/x"), AT, "bm9uY2U=")
)
AGENT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
WHEN = "[21/Sep/2026:14:13:20 +0000]"


def fetch(url: str) -> DirectoryAnswer:
    assert url == "https://signer.googlebot.com/.well-known/http-message-signatures-directory"
    return DirectoryAnswer(200, (), write_directory([KEY]))


def combined(path: str, escape: str, signed: Mapping[str, str] = SIGNED) -> str:
    fields = (signed[name].replace('"', escape) for name in ("Signature-Agent", "Signature-Input", "Signature"))
    quoted = " ".join(f'"{field}"' for field in fields)
    return f'a.test:443 192.0.2.1 - - {WHEN} "GET {path} HTTP/1.1" 200 10 "-" "{AGENT}" {quoted}\n'


def extended(path: str) -> str:
    names = ("Signature-Agent", "Signature-Input", "Signature")
    heads = " ".join(f"cs({name})" for name in names)
    values = " ".join('"' + SIGNED[name].replace('"', '""') + '"' for name in names)
    return (
        f"#Fields: date time c-ip cs-method cs-uri-stem sc-status cs-host cs(User-Agent) {heads}\n"
        f'2026-09-21 14:13:20 192.0.2.1 GET {path} 200 a.test "{AGENT}" {values}\n'
    )


@pytest.mark.parametrize("line", [combined("/x", '\\"'), combined("/x", "\\x22"), extended("/x")])
def test_fields_are_found(line: str) -> None:
    [hit] = read(line.encode().splitlines(keepends=True))
    assert isinstance(hit, LoggedRequest)
    assert (hit.at, hit.path, hit.agent) == (AT, "/x", AGENT)
    assert hit.signature == (SIGNED["Signature-Agent"], SIGNED["Signature-Input"], SIGNED["Signature"])


def test_signatures_are_verified_and_counted(tmp_path: Path) -> None:
    """A verified signature of the crawler's own host verifies it; one on another path is wrong, and a finding."""
    log = tmp_path / "access.log"
    log.write_text(combined("/x", '\\"') * 2 + combined("/other", '\\"'))
    report = read_logs([log], fetch_keys=fetch)
    signed = report.signed
    assert (signed.verified, signed.invalid, signed.unverified) == (2, 1, 0)
    assert signed.agents == {"https://signer.googlebot.com/.well-known/http-message-signatures-directory": 2}
    assert signed.reasons == {"bad-signature": 1}
    [found] = [finding for finding in report.findings if finding.name == "bad-signature"]
    assert (found.count, found.examples) == (1, ("bad-signature: /other",))
    [crawler] = report.crawlers
    assert (crawler.identity.verified, crawler.identity.unknown) == (2, 1)


@pytest.mark.parametrize("place", ["/web/2026/https://a.test/jwks.json", "/jwks.json?of=mallory"])
def test_keys_elsewhere_on_its_host_do_not_verify_a_crawler(tmp_path: Path, place: str) -> None:
    agent, log = f"https://signer.googlebot.com{place}", tmp_path / "access.log"
    fields = RequestSigning(KEY, agent).fields("GET", Url("https://a.test/x"), AT)
    log.write_text(combined("/x", '\\"', dict(fields)))
    report = read_logs([log], fetch_keys=lambda _: DirectoryAnswer(200, (), write_directory([KEY])))
    assert report.signed.agents == {agent: 1}
    [crawler] = report.crawlers
    assert (crawler.identity.verified, crawler.identity.unknown) == (0, 1)


def test_a_log_cannot_ask_for_any_number_of_directories(tmp_path: Path) -> None:
    asked, log = [], tmp_path / "access.log"
    agents = [f"https://signer{number}.example" for number in range(MOST_DIRECTORIES_FETCHED + 50)]
    signed = [dict(RequestSigning(KEY, agent).fields("GET", Url("https://a.test/x"), AT)) for agent in agents]
    log.write_text("".join(combined("/x", '\\"', fields) for fields in signed) * 2)

    def unreachable(url: str) -> DirectoryAnswer:
        asked.append(url)
        return DirectoryAnswer(failure="directory-unreachable")

    report = read_logs([log], fetch_keys=unreachable)
    assert len(asked) == MOST_DIRECTORIES_FETCHED
    assert report.signed.reasons == {"directory-unreachable": 2 * MOST_DIRECTORIES_FETCHED, "key-pending": 100}


def test_nothing_is_fetched_unless_asked(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text(combined("/x", '\\"'))
    report = read_logs([log])
    assert (report.signed.unverified, report.signed.reasons) == (1, {"not-checked": 1})
    assert not [finding for finding in report.findings if finding.name == "bad-signature"]
