"""WARC and ARC files of another project, whole and damaged: the records that its own reader finds, at their places."""

from __future__ import annotations

import json
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest

from periplus.store.warc import WarcRecord, read_records
from periplus.store.warc.records import sha1_base32

pytestmark = pytest.mark.corpus

EXACT = [
    "example-digest.warc",
    "example-iana.org-chunked.warc",
    "example-resource.warc.gz",
    "example-space-in-target-uri.warc.gz",
    "example-wget-bad-target-uri.warc.gz",
    "example.arc",
    "example.arc.gz",
    "example.warc",
    "example.warc.gz",
    "post-test.warc.gz",
]

# file: what our reader says is wrong, in order; then the records that it reads all the same
DAMAGED: dict[str, tuple[list[str], list[str]]] = {
    "bad.arc": (["bad-length", "bad-length", "bad-length"], ["response"]),
    "example-bad-non-chunked.warc.gz": (
        ["shared-member"],
        ["warcinfo", "warcinfo", "response", "request", "revisit", "request"],
    ),
    "example-bad.warc.gz.bad": (
        ["shared-member"],
        ["warcinfo", "response", "request", "revisit", "request", "response"],
    ),
    "example-space-in-url.arc": (["torn"], ["warcinfo"]),
    "example-trunc.warc": (["not-a-record"], ["warcinfo", "warcinfo", "response", "request"]),
    "example-wrong-chunks.warc.gz": (["bad-length", "not-a-record"], ["response", "request"]),
}


def expected(corpus: Path, name: str) -> list[dict[str, Any]]:
    files = json.loads((corpus / "warc_samples" / "expected_warcio.json").read_text())["files"]
    return list(files[f"warcio/{name}"]["list"])


def read(corpus: Path, name: str) -> tuple[list[WarcRecord], list[str]]:
    found = list(read_records(corpus / "warc_samples" / "warcio" / name))
    records = [record for record in found if isinstance(record, WarcRecord)]
    return records, [problem.reason for problem in found if not isinstance(problem, WarcRecord)]


def test_every_sample_is_checked(corpus: Path) -> None:
    """A new sample must not go unread."""
    names = {path.name for path in (corpus / "warc_samples" / "warcio").iterdir()}
    assert names == {*EXACT, *DAMAGED}


@pytest.mark.parametrize("name", EXACT)
def test_whole_files_read_alike(corpus: Path, name: str) -> None:
    """Type, URL, date, place, length and status of every record."""
    records, problems = read(corpus, name)
    assert problems == []
    for ours, theirs in zip(records, expected(corpus, name), strict=True):
        assert (ours.type, ours.offset) == (theirs["type"], theirs["offset"])
        assert ours.fields["warc-date"] == theirs["date"]
        assert str(len(ours.block)) == theirs["clen"]
        assert ours.type == "warcinfo" or ours.url == theirs["uri"]
        if ours.type in ("response", "revisit"):
            message = ours.message()
            assert str(message.status) == theirs["status"]
            is_coded = {"content-encoding", "transfer-encoding"} & {name.lower() for name, _ in message.fields}
            assert is_coded or len(message.body) == theirs["body_len"]


@pytest.mark.parametrize("name", EXACT)
def test_block_digests_hold(corpus: Path, name: str) -> None:
    """What we read as the block is what its writer took the digest of."""
    records, _ = read(corpus, name)
    for ours in records:
        declared = ours.fields.get("warc-block-digest", "")
        if declared.lower().startswith("sha1:") and name != "example-digest.warc":
            assert declared[5:] in (sha1_base32(ours.block), sha1(ours.block).hexdigest())


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_told_and_the_rest_is_read(corpus: Path, name: str) -> None:
    """Never an exception: a reason, and as many records as another reader gets, or more."""
    records, problems = read(corpus, name)
    assert (problems, [record.type for record in records]) == DAMAGED[name]
