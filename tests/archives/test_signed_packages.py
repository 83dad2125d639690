"""Signed packages: both forms are verified, and whatever byte is changed, that is found."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from tests.archives.authorities import DOMAIN, Authorities, new_key, pem

from periplus.apps.export.exporting import Export, ExportOptions
from periplus.collection.collection import existing
from periplus.model import Problem, UsageError
from periplus.store.importing import Package, check_package
from periplus.store.wacz_auth import PackageSigner, verify_signature

DIGEST = "sha256:" + "ab" * 32
SAMPLED = 150
"""Bytes inside of members that are changed, besides all that are around them."""


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_key(tmp_path_factory.mktemp("key") / "key.pem")


@pytest.fixture(scope="module")
def signed(imported: Path, key: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The imported collection as a package with a signature."""
    path = tmp_path_factory.mktemp("package") / "signed.wacz"
    Export(existing(imported), ExportOptions("wacz", sign=key)).to_path(path)
    return path


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> Authorities:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, which gives the timestamps here")
    return Authorities(tmp_path_factory.mktemp("authorities"))


def judged(path: Path, *trusted: Path) -> tuple[list[str], str]:
    """The problems of a package, and the state of its signature."""
    found = list(check_package(path, trusted))
    state = [each.signature for each in found if isinstance(each, Package)]
    return [each.reason for each in found if isinstance(each, Problem)], state[0] if state else ""


def test_a_signature_with_a_key_is_valid(signed: Path) -> None:
    """The key is in it; r and s are 48 bytes each, as browsers write them."""
    assert judged(signed) == ([], "valid")
    with zipfile.ZipFile(signed) as file:
        digest = json.loads(file.read("datapackage-digest.json"))
        told = json.loads(file.read("datapackage.json"))
    data = digest["signedData"]
    assert data["hash"] == digest["hash"]
    assert data["created"] == told["created"]
    assert set(data) == {"hash", "created", "software", "version", "signature", "publicKey"}
    assert len(data["signature"]) == 96 * 4 // 3


@pytest.mark.proof
def test_the_validator_of_others_accepts_it(signed: Path) -> None:
    """`wacz validate` of py-wacz compares hashes and the time of the signature."""
    program = Path(sys.executable).with_name("wacz")
    if not program.exists():
        pytest.skip("py-wacz is not installed")
    checked = subprocess.run([program, "validate", "-f", signed], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.proof
def test_a_changed_byte_is_always_found(signed: Path, tmp_path: Path) -> None:
    """All bytes around members, the ends of compressed ones, and some of the others."""
    whole, chance = signed.read_bytes(), Random(7)
    inside: set[int] = set()
    with zipfile.ZipFile(signed) as file:
        for member in file.infolist():
            begin = member.header_offset + 30 + len(member.filename)
            inside.update(range(begin, begin + member.compress_size - 2))
    around = [place for place in range(len(whole)) if place not in inside]
    changed = tmp_path / "changed.wacz"
    unseen = []
    for place in around + chance.sample(sorted(inside), SAMPLED):
        for bits in {0xFF, 1 << chance.randrange(8)}:
            data = bytearray(whole)
            data[place] ^= bits
            changed.write_bytes(data)
            problems, state = judged(changed)
            if not problems and state != "invalid":
                unseen.append((place, bits))
    assert unseen == [], f"of {len(whole)}, directory at {file.start_dir}"
    assert len(around) > 500


@pytest.mark.parametrize("is_cut", [True, False])
def test_bytes_that_are_added_or_missing_are_found(signed: Path, tmp_path: Path, is_cut: bool) -> None:
    """In front of the first member, between two, and at the end."""
    whole = signed.read_bytes()
    with zipfile.ZipFile(signed) as file:
        places = [member.header_offset for member in file.infolist()] + [file.start_dir, len(whole) - 1]
    changed = tmp_path / "changed.wacz"
    for place in places:
        changed.write_bytes(whole[:place] + (whole[place + 1 :] if is_cut else b"\0" + whole[place:]))
        problems, state = judged(changed)
        assert problems or state == "invalid", place


def test_a_package_whose_members_were_exchanged_is_invalid(signed: Path, tmp_path: Path) -> None:
    """Also if the ZIP file is right: the signature is of the hashes of all members."""
    with zipfile.ZipFile(signed) as old, zipfile.ZipFile(tmp_path / "x.wacz", "w") as new:
        for member in old.infolist():
            data = old.read(member)
            new.writestr(member, data.replace(b"home", b"gnome") if member.filename.startswith("pages/") else data)
    problems, state = judged(tmp_path / "x.wacz")
    assert "hash-mismatch" in problems
    assert state == "invalid"


def test_a_signature_of_another_package_is_invalid(signed: Path, key: Path) -> None:
    """And so is one that another key made, or that has what it may not have."""
    data = PackageSigner(key).sign(DIGEST, "2026-11-01T00:00:00Z", "test")
    assert verify_signature(data, DIGEST).state == "valid"
    assert verify_signature(data, DIGEST[:-1] + "c").state == "invalid"
    other = PackageSigner(new_key(signed.parent / "other.pem")).sign(DIGEST, "2026-11-01T00:00:00Z", "test")
    for change in (
        {"publicKey": other["publicKey"]},
        {"signature": other["signature"]},
        {"signature": "x"},
        {"publicKey": "AAAA"},
        {"publicKey": None},
        {"more": "x"},
        {"hash": 7},
    ):
        assert verify_signature({**data, **change}, DIGEST).state == "invalid", change
    nothing: object
    for nothing in (None, [], "x", {}):
        assert verify_signature(nothing, DIGEST).state == "invalid"


def test_signatures_in_der_are_accepted(key: Path) -> None:
    """As some tools write them."""
    from base64 import b64encode

    private = load_pem_private_key(key.read_bytes(), None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    data = PackageSigner(key).sign(DIGEST, "2026-11-01T00:00:00Z", "test")
    data["signature"] = b64encode(private.sign(DIGEST.encode(), ec.ECDSA(SHA256()))).decode()
    assert verify_signature(data, DIGEST).state == "valid"


def test_a_domain_signs_with_a_timestamp(imported: Path, authorities: Authorities, tmp_path: Path) -> None:
    """Untrusted as long as nobody trusts the authority; then valid."""
    path = tmp_path / "signed.wacz"
    with authorities.served() as url:
        Export(existing(imported), ExportOptions("wacz", sign=authorities.domain, timestamp=url)).to_path(path)
    assert judged(path) == ([], "untrusted")
    [package] = [each for each in check_package(path, [authorities.root]) if isinstance(each, Package)]
    assert (package.signature, package.signed_with, package.signed_by) == ("valid", "domain", DOMAIN)
    assert abs(datetime.fromisoformat(package.signed_at) - datetime.now(UTC)) < timedelta(minutes=5)
    whole, chance = path.read_bytes(), Random(3)
    with zipfile.ZipFile(path) as file:
        digest = file.getinfo("datapackage-digest.json")
    for _ in range(40):
        data = bytearray(whole)
        data[digest.header_offset + chance.randrange(30, digest.compress_size)] ^= 1 << chance.randrange(8)
        (tmp_path / "x.wacz").write_bytes(data)
        problems, state = judged(tmp_path / "x.wacz", authorities.root)
        assert problems or state == "invalid"


@pytest.fixture
def by_domain(authorities: Authorities) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return PackageSigner(authorities.domain, authorities.stamp).sign(DIGEST, now, "test")


def test_a_domain_needs_all_of_its_parts(by_domain: dict[str, Any], authorities: Authorities) -> None:
    """The certificate is of the domain and the key, the timestamp of the signature, and soon after the creation."""
    assert verify_signature(by_domain, DIGEST, [authorities.root]).state == "valid"
    late = (datetime.now(UTC) - timedelta(minutes=11)).isoformat()
    early = (datetime.now(UTC) + timedelta(minutes=1)).isoformat()
    for change in (
        {"domain": "other.example.org"},
        {"domainCert": by_domain["timestampCert"]},
        {"domainCert": "x"},
        {"timeSignature": ""},
        {"timeSignature": by_domain["signature"]},
        {"timestampCert": by_domain["domainCert"]},
        {"created": late},
        {"created": early},
        {"created": "soon"},
    ):
        assert verify_signature({**by_domain, **change}, DIGEST, [authorities.root]).state == "invalid", change


@pytest.mark.proof
def test_no_signature_makes_the_check_fail(by_domain: dict[str, Any], key: Path, authorities: Authorities) -> None:
    """Whatever characters are wrong, there is an answer; and what is signed cannot be changed."""
    chance = Random(11)
    by_key = PackageSigner(key).sign(DIGEST, "2026-11-01T00:00:00Z", "test")
    covered = {"hash", "signature", "publicKey", "domain", "domainCert", "timeSignature", "timestampCert"}
    for _ in range(400):
        data = dict(chance.choice((by_domain, by_key)))
        name = chance.choice(sorted(covered & set(data)))
        text = list(data[name])
        text[chance.randrange(len(text))] = chance.choice("AZaz09+/=- \n\0\u00e9")
        if "".join(text) == data[name]:
            continue
        data[name] = "".join(text)
        judged = verify_signature(data, DIGEST, [authorities.root])
        is_signed = name in ("hash", "signature", "publicKey", "domain")  # others have parts that nobody signs
        assert judged.state == "invalid" or not is_signed, (name, judged)


def test_a_certificate_that_had_expired_is_not_trusted(tmp_path: Path, authorities: Authorities) -> None:
    """At the time of the timestamp, not now."""
    old = Authorities(tmp_path, is_expired=True)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    data = PackageSigner(old.domain, old.stamp).sign(DIGEST, now, "test")
    assert verify_signature(data, DIGEST, [old.root]).state == "untrusted"


@pytest.mark.parametrize(("name", "state"), [(DOMAIN, "valid"), ("other.example.org", "untrusted")])
def test_a_second_certificate_is_of_the_same_domain(
    authorities: Authorities, tmp_path: Path, name: str, state: str
) -> None:
    """It stands for a first one that is not trusted; one of another domain with the same key does not."""
    key = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "x.pem").write_bytes(pem(key) + authorities.self_issued(DOMAIN, key).public_bytes(Encoding.PEM))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    data = PackageSigner(tmp_path / "x.pem", authorities.stamp).sign(DIGEST, now, "test")
    assert verify_signature(data, DIGEST, [authorities.root]).state == "untrusted"
    data["crossSignedCert"] = authorities.issued(name, key).public_bytes(Encoding.PEM).decode()
    assert verify_signature(data, DIGEST, [authorities.root]).state == state


def test_a_certificate_of_a_domain_issues_no_others(tmp_path: Path) -> None:
    """A timestamp from below one leads to no authority, however good the signatures are."""
    false = Authorities(tmp_path)
    above = false.give_time_by_leaf().public_bytes(Encoding.PEM).decode()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    data = PackageSigner(false.domain, false.stamp).sign(DIGEST, now, "test")
    data["timestampCert"] += above
    judged = verify_signature(data, DIGEST, [false.root])
    assert (judged.state, judged.reason) == ("untrusted", "the authority of the timestamp is not trusted")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no private key"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "no private key"),
    ],
)
def test_keys_that_are_none_are_refused(tmp_path: Path, text: str, said: str) -> None:
    """With the command that makes one."""
    (tmp_path / "key.pem").write_text(text)
    with pytest.raises(UsageError, match=said):
        PackageSigner(tmp_path / "key.pem")


def test_options_that_do_not_fit_are_refused(
    imported: Path, key: Path, authorities: Authorities, tmp_path: Path
) -> None:
    """Before anything is written."""
    with pytest.raises(UsageError, match="P-384"):
        PackageSigner(new_key(tmp_path / "p256.pem", ec.SECP256R1()))
    with pytest.raises(UsageError, match="need a timestamp"):
        PackageSigner(authorities.domain)
    with pytest.raises(UsageError, match="has no certificate"):
        Export(existing(imported), ExportOptions("wacz", sign=key, timestamp="https://tsa.example/"))
    with pytest.raises(UsageError, match="is of a signature"):
        ExportOptions("wacz", timestamp="https://tsa.example/").check()
    with pytest.raises(UsageError, match="are for wacz"):
        ExportOptions("jsonl", sign=key).check()
    with pytest.raises(UsageError, match="No such file"):
        PackageSigner(tmp_path / "none.pem")


@pytest.mark.parametrize("url", ["http://169.254.169.254/tsr", "http://private.test/tsr"])
def test_timestamps_come_from_no_private_address(
    imported: Path, authorities: Authorities, tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name may not lead into a private network, and where clouds keep credentials nobody may ask."""
    from periplus.engine.fetch import dns

    monkeypatch.setattr(dns.Resolver, "known", lambda _self, _host: dns.HostAddress("127.0.0.1", 4e9))
    path = tmp_path / "x.wacz"
    with pytest.raises(UsageError, match="private-address"):
        Export(existing(imported), ExportOptions("wacz", sign=authorities.domain, timestamp=url)).to_path(path)
    assert list(tmp_path.glob("x.wacz*")) == []
