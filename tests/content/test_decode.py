"""Bodies without their content codings."""

from __future__ import annotations

import gzip
import zlib

import brotli
import pytest
import zstandard
from tests.each_case import each_case

from periplus.content import decode_body

TEXT = b"<html>" + b"some words and more of them " * 100


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


CODINGS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}


@each_case("coding", CODINGS)
def test_each_coding(coding: str) -> None:
    """Whatever the case and the spaces of its name."""
    assert decode_body(CODINGS[coding](TEXT), f" {coding.upper()} ") == (TEXT, ())


def test_both_forms_of_deflate() -> None:
    """With the zlib header that the standard asks for, and without."""
    assert decode_body(raw_deflate(TEXT), "deflate") == (TEXT, ())


def test_chains_and_members() -> None:
    """Codings come off in reverse order; gzip members and zstd frames follow each other."""
    assert decode_body(brotli.compress(gzip.compress(TEXT)), "gzip, identity, br") == (TEXT, ())
    assert decode_body(gzip.compress(TEXT) + gzip.compress(TEXT) + b"\0\0", "gzip") == (TEXT + TEXT, ())
    assert decode_body(zstandard.compress(TEXT) * 3, "zstd") == (TEXT * 3, ())


@each_case("other", [TEXT, TEXT[::-1], TEXT[:50]])
def test_members_after_the_first(other: bytes) -> None:
    """Also where the last member names a length that fits the first."""
    assert decode_body(gzip.compress(TEXT) + gzip.compress(other), "gzip") == (TEXT + other, ())


def test_what_follows_a_member_is_ignored() -> None:
    """Whatever length its last bytes would name."""
    for behind in (b"\0", b"junk", b"\0" * 8, bytes(4) + len(TEXT).to_bytes(4, "little"), b"\xff" * 8):
        assert decode_body(gzip.compress(TEXT) + behind, "gzip") == (TEXT, ())


@pytest.mark.parametrize("coding", CODINGS)
def test_truncation_keeps_what_was_read(coding: str) -> None:
    """A page without its end is better than none."""
    noise = bytes((number * 7919) % 251 for number in range(200_000))
    decoded, problems = decode_body(CODINGS[coding](noise)[:-20], coding)
    assert [problem.reason for problem in problems] == ["truncated"]
    assert noise.startswith(decoded)


@pytest.mark.parametrize("coding", CODINGS)
def test_bombs_are_bounded(coding: str) -> None:
    """By size and by ratio, whichever is less."""
    bomb = CODINGS[coding](bytes(2 << 20))
    decoded, problems = decode_body(bomb, coding, max_size=1 << 16)
    assert len(decoded) == 1 << 16
    assert [problem.reason for problem in problems] == ["too-large"]
    decoded, problems = decode_body(bomb, coding, max_ratio=2)
    assert len(decoded) == max(1 << 20, 2 * len(bomb))
    assert [problem.reason for problem in problems] == ["bomb"]


@pytest.mark.parametrize("coding", CODINGS)
def test_nested_bombs_are_bounded(coding: str) -> None:
    """Compressed three times: no layer becomes larger than the body that came allows."""
    bomb = bytes(4 << 20)
    for _ in range(3):
        bomb = CODINGS[coding](bomb)
    decoded, problems = decode_body(bomb, ", ".join([coding] * 3), max_size=1 << 16)
    assert len(decoded) <= 1 << 16
    assert [problem.reason for problem in problems] == ["too-large"]


@each_case("coding", CODINGS)
def test_a_wrong_label_is_forgiven(coding: str) -> None:
    """The header names a coding, the body is plain."""
    decoded, problems = decode_body(TEXT, coding)
    assert decoded == TEXT
    assert [problem.reason for problem in problems] == ["not-compressed"]


def test_odd_headers() -> None:
    """No header, nonsense, and more codings than anybody needs."""
    assert decode_body(TEXT, "") == (TEXT, ())
    assert decode_body(b"", "gzip") == (b"", ())
    decoded, problems = decode_body(gzip.compress(TEXT), "")
    assert (decoded, [problem.reason for problem in problems]) == (TEXT, ["unlabelled-gzip"])
    decoded, problems = decode_body(TEXT, "nonsense")
    assert (decoded, [problem.reason for problem in problems]) == (TEXT, ["unknown-coding"])
    decoded, problems = decode_body(TEXT, "gzip," * 50)
    assert "too-many-codings" in [problem.reason for problem in problems]
    decoded, problems = decode_body(TEXT, "", max_size=10)
    assert (decoded, [problem.reason for problem in problems]) == (TEXT[:10], ["too-large"])


def test_damage_keeps_what_was_read() -> None:
    """A broken stream gives what came before the break."""
    body = bytearray(gzip.compress(bytes((number * 7919) % 251 for number in range(500_000))))
    body[-4] ^= 0xFF
    decoded, problems = decode_body(bytes(body), "gzip")
    assert [problem.reason for problem in problems] == ["damaged"]
    assert len(decoded) > 400_000
