"""Archives that say how their answers came, in gzip and Zstandard, and signed packages: read as expected."""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pycurl
import pytest

from periplus.engine.fetch.connections import protocols, tls_words
from periplus.model import Problem
from periplus.store.importing import Package, check_package
from periplus.store.warc import WarcRecord, read_record, read_records
from periplus.store.warc.copying import stored_at
from periplus.store.warc.records import protocol_fields

pytestmark = pytest.mark.corpus

VERSIONS = {
    "1.0": pycurl.CURL_HTTP_VERSION_1_0,
    "1.1": pycurl.CURL_HTTP_VERSION_1_1,
    "2": pycurl.CURL_HTTP_VERSION_2_0,
    "3": pycurl.CURL_HTTP_VERSION_3,
}


@cache
def expected(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / name).read_text())
    return found


@pytest.fixture
def archives(corpus: Path) -> Path:
    return corpus / "identity" / "archives"


def test_every_file_is_checked(archives: Path) -> None:
    """A new file must not go unread."""
    named = {*expected(archives, "expected.json")["files"], *expected(archives, "wacz_expected.json")} - {"note"}
    assert {path.name for path in archives.iterdir()} == {*named, "expected.json", "wacz_expected.json"}


def test_records_are_read_with_what_they_came_over(archives: Path) -> None:
    """URL, protocols, cipher suite and payload of every answer, as far as the file goes, and what is wrong with it."""
    told = expected(archives, "expected.json")
    for name, file in told["files"].items():
        found = list(read_records(archives / name))
        assert [each.reason for each in found if isinstance(each, Problem)] == file["problems"], name
        answers = [each for each in found if isinstance(each, WarcRecord) and each.type == "response"]
        wanted = told["records"][: file["records"]]
        assert len(answers) == len(wanted), name
        for record, said in zip(answers, wanted, strict=True):
            assert record.url == said["url"]
            assert list(record.protocols) == said["protocol"]
            assert (record.cipher_suite or None) == said["cipher_suite"]
            digest = f"sha256:{sha256(record.message().body).hexdigest()}"
            assert digest == said["payload_digest"] == record.fields["warc-payload-digest"]
            assert record.fields["warc-block-digest"] == f"sha256:{sha256(record.block).hexdigest()}"


def test_answers_are_found_by_their_place(archives: Path) -> None:
    """Wherever a frame has one record."""
    for name, file in expected(archives, "expected.json")["files"].items():
        if "shared-member" in file["problems"]:
            continue
        for record in read_records(archives / name):
            if isinstance(record, WarcRecord):
                assert read_record(archives, stored_at(name, record)).block == record.block


def test_connections_become_fields(archives: Path) -> None:
    """What libcurl says, in the order of protocols, with names of IANA; what is unknown is left out."""
    for case in expected(archives, "expected.json")["headers"]:
        told = case["curl"]
        tls = tls_words(told["tls"] or "", told["cipher"] or "")
        words = protocols(VERSIONS.get(told["http_version"], 0), is_secure=told["scheme"] == "https", tls=tls)
        assert protocol_fields(words).split("\r\n")[:-1] == case["lines"], case["id"]


def test_signatures_are_judged(archives: Path) -> None:
    """By key or by domain."""
    for name, told in expected(archives, "wacz_expected.json").items():
        if name == "note":
            continue
        [package] = [each for each in check_package(archives / name) if isinstance(each, Package)]
        assert (package.signature, package.signed_with) == (told["signature"], told["kind"]), name
        known = told.get("identity") or told.get("public_key")
        assert known in (None, package.signed_by), name


def test_signatures_of_a_domain_are_judged(corpus: Path, tmp_path: Path) -> None:
    """Its chain leads to an authority of the web, the timestamp to one that has to be trusted first."""
    import zipfile

    path = corpus / "wacz_samples" / "valid_signed_example_1.wacz"
    with zipfile.ZipFile(path) as file:
        signed = json.loads(file.read("datapackage-digest.json"))["signedData"]
    (tmp_path / "authority.pem").write_text(signed["timestampCert"])
    states = [
        each.signature
        for trusted in ((), (tmp_path / "authority.pem",))
        for each in check_package(path, trusted)
        if isinstance(each, Package)
    ]
    assert states == ["untrusted", "valid"]
