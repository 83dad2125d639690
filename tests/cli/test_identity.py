"""`periplus identity`: a key is made, shown, replaced and published, and nothing secret is printed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from periplus.cli.app import app
from periplus.formats.web_bot_auth import SignaturePolicy, SignedMessage, read_card, read_directory
from periplus.model import ConfigError, UsageError
from periplus.parts.identity.key_files import CACHE_LIFETIME
from periplus_sites.publish import Publisher, PublishSettings
from periplus_sites.publish.settings import SignatureSettings, SiteSettings

pytest.importorskip("cryptography", reason="signatures need the extra `identity`")

AGENT = "https://signer.example.org"


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["identity", *words])


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "keys" / "identity.pem"
    assert run("new", str(path)).exit_code == 0
    return path


def test_nothing_secret_is_printed(key: Path) -> None:
    secret = key.read_text().splitlines()[1]
    for words in (["show", str(key)], ["show", str(key), "--json"], ["rotate", str(key)]):
        result = run(*words)
        assert result.exit_code == 0
        assert secret not in result.output
        assert "PRIVATE" not in result.output


def test_a_key_is_replaced_step_by_step(key: Path) -> None:
    first = json.loads(run("show", str(key), "--json").output)
    assert (first["next"], first["old"], first["step"], first["step_after"]) == (None, None, "", None)
    made = json.loads(run("rotate", str(key), "--json").output)
    assert (made["key"], made["step"]) == (first["key"], "switch")
    early = run("rotate", str(key))
    assert isinstance(early.exception, UsageError)
    following = key.with_name("identity.pem.next")
    then = following.stat().st_mtime - CACHE_LIFETIME - 1
    os.utime(following, (then, then))
    switched = run("rotate", str(key))
    assert made["next"] in switched.output
    shown = json.loads(run("show", str(key), "--json").output)
    assert (shown["key"], shown["old"], shown["step"]) == (made["next"], first["key"], "drop-old")


def test_what_is_published_is_read_by_a_verifier(key: Path, tmp_path: Path) -> None:
    out = tmp_path / "public"
    contact = ["--contact", "mailto:me@example.org"]
    result = run("publish", str(key), "--agent", AGENT, "-o", str(out), "--name", "My Bot", *contact, "--json")
    assert result.exit_code == 0
    assert {Path(path) for path in json.loads(result.output)["written"]} == {
        path for path in out.rglob("*") if path.is_file()
    }
    place = ".well-known/http-message-signatures-directory"
    body = (out / place).read_bytes()
    assert (out / "index.html").read_bytes() == body
    headers = json.loads((out / "headers.json").read_text())
    response = SignedMessage("GET", f"{AGENT}/{place}", tuple(headers.items()), body, is_response=True)
    found = read_directory(response, 200, key.stat().st_mtime + 5, SignaturePolicy())
    assert list(found.keys) == [json.loads(run("show", str(key), "--json").output)["key"]]
    assert (found.problems, found.proof) == ((), "valid")
    card = read_card((out / "card.json").read_bytes(), f"{AGENT}/card.json")
    assert card is not None
    assert (card.client_name, card.contacts, card.jwks_uri) == ("My Bot", (contact[1],), f"{AGENT}/{place}")
    secret = key.read_bytes().splitlines()[1]
    assert not any(secret in path.read_bytes() for path in out.rglob("*") if path.is_file())


def test_published_files_are_shown(key: Path, tmp_path: Path) -> None:
    """As a verifier reads them: keys, cards, registries and ranges."""
    out = tmp_path / "public"
    assert run("publish", str(key), "--agent", AGENT, "-o", str(out)).exit_code == 0
    (tmp_path / "registry.txt").write_text(f"# bots\n{AGENT}/card.json\n")
    (tmp_path / "ranges.json").write_text('{"prefixes": [{"ipv4Prefix": "192.0.2.0/24", "service": "bot"}]}')
    place = ".well-known/http-message-signatures-directory"
    thumbprint = json.loads(run("show", str(key), "--json").output)["key"]

    def shown(path: Path, kind: str, url: str = "") -> list[dict[str, object]]:
        result = CliRunner().invoke(app, ["read", str(path), "--as", kind, "--url", url, "--json"])
        return [json.loads(line) for line in result.output.splitlines()]

    [found, problem] = shown(out / place, "keys", f"{AGENT}/{place}")
    assert (found["keyid"], found["algorithm"], problem["reason"]) == (thumbprint, "ed25519", "media-type")
    [found] = shown(out / place, "keys", f"{AGENT}/keys.json")
    assert found["keyid"] == thumbprint
    [card] = shown(out / "card.json", "card", f"{AGENT}/card.json")
    assert card["client_name"] == "Periplus"
    assert [each["reason"] for each in shown(out / "card.json", "card", f"{AGENT}/other.json")] == ["bad-card"]
    assert [each["url"] for each in shown(tmp_path / "registry.txt", "registry")] == [f"{AGENT}/card.json"]
    [listed] = shown(tmp_path / "ranges.json", "ranges")
    assert (listed["prefix"], listed["service"]) == ("192.0.2.0/24", "bot")


def test_without_the_extra_the_next_step_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    result = run("new", str(tmp_path / "key.pem"))
    assert isinstance(result.exception, ConfigError)
    assert "pip install 'periplus[identity]'" in (result.exception.hint or "")
    assert not list(tmp_path.iterdir())
    settings = PublishSettings(SiteSettings(f"{AGENT}/"), signatures=SignatureSettings(verify=True))
    with (
        Publisher(tmp_path / "published", settings) as publisher,
        pytest.raises(ConfigError, match="signatures need the package cryptography"),
    ):
        publisher.wsgi(lambda _environ, _start: [b""])
