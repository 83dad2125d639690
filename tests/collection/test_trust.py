"""Signatures of settings: whose they are, which values they cover, and what a kill leaves."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from periplus.collection.collection import existing, planned
from periplus.collection.config.settings import Config
from periplus.collection.trust import PERSONAL, SIGNATURE, personal, sign, unsigned, with_values_of, without
from periplus.model import ConfigError

PROXY = Config().with_options({"wire.proxy": "http://127.0.0.1:3128"})
OTHER = Config().with_options({"wire.proxy": "http://127.0.0.1:3129"})


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of the user's key."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "user"))
    return tmp_path / "user" / "periplus"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "c").mkdir()
    return tmp_path / "c"


def test_what_only_a_person_may_give() -> None:
    """A setting that is no longer declared so would hold in collections of others."""
    assert set(PERSONAL) == {
        "wire.allow_private", "wire.proxy", "wire.proxies", "wire.ca_file", "wire.verify_tls", "dns.hosts",
        "render.browser", "webhooks.urls", "webhooks.secret_file", "search.vectors", "identity.key", "identity.agent",
        "render.sandbox", "topic.program", "topic.like", "topic.unlike", "ordering.by", "cluster.local_state",
        "crawl.seed_file", "dust.file", "spam.model",
    }  # fmt: skip


def test_only_what_was_signed_holds(folder: Path) -> None:
    assert unsigned(Config(), folder) == ()
    assert unsigned(PROXY, folder) == ("wire.proxy",)
    assert sign(PROXY, folder)
    assert unsigned(PROXY, folder) == ()
    assert unsigned(OTHER, folder) == ("wire.proxy",)
    assert unsigned(PROXY.with_options({"dns.hosts": {"a.test": "10.0.0.1"}}), folder) == ("wire.proxy", "dns.hosts")


def test_the_key_is_the_users_alone(folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No other user reads it, and another user's signature is not ours."""
    sign(PROXY, folder)
    assert stat.S_IMODE((state / "key").stat().st_mode) == 0o600
    assert [path.name for path in state.iterdir()] == ["key"]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "somebody"))
    assert unsigned(PROXY, folder) == ("wire.proxy",)


def test_a_kill_between_signature_and_settings(folder: Path) -> None:
    """Settings are written after their signature: those before it, and those of it, are both signed."""
    sign(PROXY, folder)
    sign(OTHER, folder)
    assert unsigned(PROXY, folder) == unsigned(OTHER, folder) == ()
    sign(PROXY.with_options({"wire.proxy": "http://127.0.0.1:1"}), folder)
    assert unsigned(PROXY, folder) == ("wire.proxy",)


def test_without_a_key_nothing_is_signed(folder: Path, state: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The command that was given the settings still has them; the next will ask."""
    state.parent.write_text("not a folder")
    made = planned(folder, typed=["http://a.test/"], options={"wire.proxy": "http://127.0.0.1:3128"})
    made.save()
    assert "cannot be written" in caplog.text
    assert not (folder / SIGNATURE).exists()
    with pytest.raises(ConfigError, match=r"sets wire\.proxy"):
        planned(folder, options={})
    assert planned(folder, options={"wire.proxy": "http://127.0.0.1:3129"}).config.wire.proxy.endswith("3129")


def test_typed_seeds_are_settings(folder: Path) -> None:
    """They are kept when other hosts are allowed, and forgotten when nothing is known of them."""
    planned(folder, typed=["http://10.0.0.1:8080/", "http://example.org/"], options={}).save()
    assert planned(folder, options={}).config.wire.allow_private == ("10.0.0.1:8080",)
    more = planned(folder, typed=["localhost:3000"], options={"wire.allow_private": ["*.corp.example"]})
    assert set(more.config.wire.allow_private) == {"*.corp.example", "10.0.0.1:8080", "localhost:3000"}
    found = planned(folder, found=["http://10.0.0.2/", "http://user:secret@10.0.0.3/"], options={})
    assert found.config.wire.allow_private == ("10.0.0.1:8080",)
    assert found.seeds[-2:] == ("http://10.0.0.2/", "http://10.0.0.3/")
    assert not found.credentials


def test_the_same_seeds_on_another_machine(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is typed again needs no signature; one seed more in the folder does."""
    planned(folder, typed=["http://10.0.0.1/", "http://10.0.0.2/"], options={}).save()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    with pytest.raises(ConfigError, match=r"sets wire\.allow_private"):
        planned(folder, typed=["http://10.0.0.1/"], options={})
    assert planned(folder, typed=["http://10.0.0.1/", "http://10.0.0.2/"], options={}).config.wire.allow_private


def test_reading_leaves_unsigned_settings_out(folder: Path) -> None:
    """And saving what was read is refused, which would lose them."""
    (folder / "periplus.toml").write_text(PROXY.dump())
    found = existing(folder)
    assert found.config.wire.proxy == ""
    assert found.untrusted == ("wire.proxy",)
    with pytest.raises(ConfigError, match=r"sets wire\.proxy"):
        found.save()


def test_files_in_the_collection_need_no_signature(folder: Path) -> None:
    inside = Config().with_options({"dust.file": "rules.toml", "crawl.seed_file": "seeds.txt"})
    assert personal(inside, folder) == {}
    for path in ("../rules.toml", "/etc/passwd", "a/../../x"):
        assert list(personal(Config().with_options({"dust.file": path}), folder)) == ["dust.file"]
    (folder / "link").symlink_to(folder.parent)
    assert list(personal(Config().with_options({"dust.file": "link/x"}), folder)) == ["dust.file"]


def test_values_of_others_are_replaced() -> None:
    """All of them, and nothing else."""
    theirs = OTHER.with_options({"crawl.limit": 7})
    assert without(theirs, PERSONAL) == Config().with_options({"crawl.limit": 7})
    assert with_values_of(PROXY, theirs) == PROXY.with_options({"crawl.limit": 7})
