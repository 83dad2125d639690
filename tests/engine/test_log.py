"""The log: inputs come back whole and in order, wherever it was cut, and only as far as the archive has them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import xxhash

from periplus.engine.inputs import (
    Acknowledged,
    AddressesReviewed,
    Adopted,
    AdoptionEnded,
    Answered,
    Discovered,
    FetchAnswer,
    Flushed,
    Granted,
    Input,
    Learnt,
    PageBudgetSet,
    Received,
    Restarted,
    ScopeExtended,
    SharesSet,
    SitemapsSubmitted,
    Steered,
    Tick,
    VisitBudgetSet,
)
from periplus.engine.log import InputLog
from periplus.model import (
    Batch,
    ChangeFreq,
    CollectionDamaged,
    CollectionError,
    Discovery,
    Excluded,
    Failed,
    Fetched,
    FetchOutcome,
    FetchTask,
    Granularity,
    Hints,
    Lane,
    Lastmod,
    Located,
    NotModified,
    Purpose,
    Redirected,
    Site,
    Source,
    Url,
    Validators,
)
from periplus.store import MemoryPayloads, WarcEnd
from periplus.store.warc import Archive, WarcSettings

AT = 1_800_000_000.0
COMMIT = 7
HTML = (("Content-Type", "text/html"),)
HINTS = Hints(Lastmod(AT, Granularity.DAY), ChangeFreq.DAILY, 0.5, "a link")
FOUND = Discovery(Url("https://a.test/"), Source.LINK, AT, 2, Url("https://b.test/"), HINTS, gain=0.5)


def task(number: int) -> FetchTask:
    url = Url(f"https://example.org/{number}")
    return FetchTask(
        url, Site("example.org"), Purpose.PAGE, Lane.DISCOVERY, AT, Validators('"e"'), 2, "192.0.2.1", Source.SEED, 3
    )


def outcomes() -> Iterator[FetchOutcome]:
    chance = Random(1)
    yield Fetched(task(0), 200, HTML, chance.randbytes(900), AT, 0.1, "192.0.2.1")
    yield Failed(task(1), "timeout", AT, 30.0, 503, "too late")
    yield Redirected(task(2), 301, Url("https://example.org/0"), HTML, AT, 0.1, body=b"moved")
    yield NotModified(task(3), HTML, AT, 0.1)
    yield Excluded(task(4), "private-address", "10.0.0.1")
    yield Fetched(task(5), 200, HTML, chance.randbytes(900), AT, 0.1, is_truncated=True)
    yield Fetched(task(6), 200, HTML, b"the same", AT, 0.1)
    yield Fetched(task(7), 200, HTML, b"the same", AT, 0.1)
    yield Located(task(8), "192.0.2.1", AT + 60.0)


OTHERS: tuple[Input, ...] = (
    Discovered((FOUND,), AT),
    Granted(17, AT),
    Tick(AT),
    Received(Batch.of(1, 0, 4, (FOUND,)), AT),
    Acknowledged(1, 9, AT),
    PageBudgetSet(None, AT),
    PageBudgetSet(100, AT),
    VisitBudgetSet(24.0, AT),
    SharesSet(((2**64 - 1, 3),), AT),
    ScopeExtended((Url("https://c.test/"),), AT),
    SitemapsSubmitted(AT),
    AddressesReviewed(AT),
    Flushed(AT),
    Restarted(AT),
    Adopted((FetchAnswer(Excluded(task(0), "robots")),), AT),
    AdoptionEnded(AT),
    Steered(("*/a*",), ("*/b*", "re:c"), (), AT),
    Learnt("reputation", 3, AT),
)


def archive_in(folder: Path, end: WarcEnd | None, payloads: MemoryPayloads, size: int = 10**9) -> Archive:
    settings = WarcSettings(max_file_size=size)
    return Archive(folder / "warc", settings, shard=0, software="", fields={}, end=end, payloads=payloads)


def log_in(folder: Path) -> InputLog:
    return InputLog(folder / "log", folder / "warc", b"header")


def path_of(folder: Path, commit: int = COMMIT) -> Path:
    return folder / "log" / f"{commit:012d}.log"


def logged(folder: Path, size: int = 10**9) -> tuple[InputLog, list[Input]]:
    """A log of every kind of input and outcome, with the archive that it points to."""
    log = log_in(folder)
    log.begin(COMMIT)
    payloads = MemoryPayloads()
    archive = archive_in(folder, None, payloads, size)
    inputs: list[Input] = list(OTHERS)
    for number, outcome in enumerate(outcomes()):
        answer = FetchAnswer(outcome)
        if isinstance(outcome, Fetched | NotModified | Redirected):
            stored, payload = archive.write(outcome, b"")
            answer = FetchAnswer(outcome, stored, payload)
            if payload is not None:
                payloads.add_new(payload)
        inputs.insert(2 * number, Answered((answer,), AT + number, archive.end))
    log.append(inputs[:3])
    for each in inputs[3:]:
        log.append([each])
    log.close()
    archive.close()
    return log, inputs


def test_inputs_come_back_as_they_were(tmp_path: Path) -> None:
    """Bodies are taken from the archive, or from the log where the archive only refers to an earlier record."""
    log, inputs = logged(tmp_path)
    assert list(log.read(COMMIT)) == inputs
    assert {type(each) for each in inputs} == set(Input.__args__), "an input is not in this test"
    answers = [answer for each in inputs if isinstance(each, Answered) for answer in each.answers]
    assert any(answer.stored is not None and answer.stored.is_revisit for answer in answers)
    first = answers[0].outcome
    assert isinstance(first, Fetched)
    assert first.body not in path_of(tmp_path).read_bytes()


def test_log_of_another_commit_is_old(tmp_path: Path) -> None:
    """Only the file of the commit counts, and the next commit removes it."""
    log, _ = logged(tmp_path)
    log.trying(COMMIT, 0)
    assert list(log.read(COMMIT - 1)) == list(log.read(COMMIT + 1)) == []
    log.begin(COMMIT + 1)
    log.close()
    assert list(log.read(COMMIT)) == []
    assert list((tmp_path / "log").iterdir()) == [path_of(tmp_path, COMMIT + 1)]


def test_header_is_that_of_the_inputs(tmp_path: Path) -> None:
    """A log without inputs has none: nothing needs to be applied under those settings."""
    log, _ = logged(tmp_path)
    assert log.header(COMMIT) == b"header"
    assert log.header(COMMIT + 1) is None
    log.begin(COMMIT + 1)
    assert log.header(COMMIT + 1) is None
    log.append([Tick(AT)])
    assert log.header(COMMIT + 1) == b"header"
    log.close()


def test_torn_records_do_not_count(tmp_path: Path) -> None:
    """Cut at every eleventh byte: records before the cut are there."""
    log, whole = logged(tmp_path)
    path = path_of(tmp_path)
    size = path.stat().st_size
    counts = []
    for cut in (*range(size, 0, -11), 0):
        os.truncate(path, cut)
        found = list(log.read(COMMIT))
        assert found == whole[: len(found)]
        counts.append(len(found))
    assert counts == sorted(counts, reverse=True)
    assert (counts[0], counts[1], counts[-1]) == (len(whole), len(whole) - 1, 0)


def test_changed_byte_ends_the_log(tmp_path: Path) -> None:
    """Wherever it is: what comes before is right, and nothing wrong comes out."""
    log, whole = logged(tmp_path)
    path = path_of(tmp_path)
    data = path.read_bytes()
    for at in range(0, len(data), 17):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :])
        found = list(log.read(COMMIT))
        assert found == whole[: len(found)]
        assert len(found) < len(whole)


@pytest.mark.parametrize("size", [10**9, 1])
@pytest.mark.parametrize("harm", ["cut", "zeros", "changed"])
def test_log_is_cut_where_the_archive_is_not_whole(tmp_path: Path, size: int, harm: str) -> None:
    """After a loss of power: wherever the archive is broken, the log is cut in front of that."""
    log, whole = logged(tmp_path, size)
    path = path_of(tmp_path)
    files = {file: file.read_bytes() for file in sorted((tmp_path / "warc").glob("*.warc.gz"))}
    data = path.read_bytes()
    for file, content in files.items():
        for at in range(0, len(content), 293):
            broken = harmed(content, at, harm)
            if broken == content:  # a file may end in zeros itself
                continue
            path.write_bytes(data)
            file.write_bytes(broken)
            end = log.repair(COMMIT, WarcEnd())
            assert log.repair(COMMIT, WarcEnd()) == end
            found = list(log.read(COMMIT))
            assert found == whole[: len(found)]
            assert len(found) < len(whole) or harm == "changed"  # some bytes of a gzip header mean nothing
            assert (tmp_path / "warc" / end.file).stat().st_size >= end.length or not end.file
        file.write_bytes(content)
    path.write_bytes(data)
    ends = [each.end for each in whole if isinstance(each, Answered)]
    assert log.repair(COMMIT, WarcEnd()) == ends[-1]
    assert list(log.read(COMMIT)) == whole


def harmed(content: bytes, at: int, harm: str) -> bytes:
    if harm == "cut":
        return content[:at]
    if harm == "zeros":
        return content[:at] + bytes(len(content) - at)
    return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]


def test_repair_cuts_a_torn_record_off(tmp_path: Path) -> None:
    """Inputs that are appended later must follow a whole record."""
    log, whole = logged(tmp_path)
    path = path_of(tmp_path)
    os.truncate(path, path.stat().st_size - 1)
    log.repair(COMMIT, WarcEnd())
    assert list(log.read(COMMIT)) == whole[:-1]
    with path.open("ab") as file:
        body = b"\x92\x04\xcb" + bytes(8)
        file.write(len(body).to_bytes(4, "little") + xxhash.xxh3_64_intdigest(body).to_bytes(8, "little") + body)
    assert list(log.read(COMMIT)) == [*whole[:-1], Tick(0.0)]


def test_archive_is_opened_where_the_log_ends(tmp_path: Path) -> None:
    """A file that is gone takes its inputs along; the archive continues after the last that is whole."""
    log, _ = logged(tmp_path, size=1)
    files = sorted((tmp_path / "warc").glob("*.warc.gz"))
    files[2].unlink()
    end = log.repair(COMMIT, WarcEnd())
    assert end.file == files[1].name
    archive_in(tmp_path, end, MemoryPayloads()).close()
    assert sorted((tmp_path / "warc").glob("*.warc.gz")) == files[:2]


# deaths


def life(log: InputLog, *tried: int | tuple[int, int] | None) -> None:
    """A process that applies inputs again, or answers of one; `None`: it came to the end."""
    for each in tried:
        match each:
            case None:
                log.tried(COMMIT)
            case int(index):
                log.trying(COMMIT, index)
            case index, answer:
                log.trying(COMMIT, index, answer)
    log.close()


def test_inputs_at_which_processes_died_are_known(tmp_path: Path) -> None:
    """A process that came to the end did not die; one that died elsewhere does not count."""
    log = log_in(tmp_path)
    assert not log.deaths(COMMIT).inputs
    life(log, 0, 1, 2)
    life(log, 0, 1, 2, 3, None)
    life(log, 0, 1)
    life(log, 0)
    assert log.deaths(COMMIT).inputs == {0: 1, 1: 1, 2: 1}
    log.begin(COMMIT + 1)
    log.close()
    assert not log.deaths(COMMIT).inputs


def test_answer_at_which_two_processes_died_is_deadly(tmp_path: Path) -> None:
    """The first death tells the input; from then on its answers are applied one by one."""
    log = log_in(tmp_path)
    life(log, 0, 1, 2)
    assert not log.deaths(COMMIT).is_deadly(2, 1)
    life(log, 0, 1, 2, (2, 0), (2, 1))
    assert not log.deaths(COMMIT).is_deadly(2, 1)
    life(log, 0, 1, 2, (2, 0), (2, 1))
    deaths = log.deaths(COMMIT)
    assert deaths.is_deadly(2, 1)
    assert not deaths.is_deadly(2, 0)
    assert deaths.inputs[2] == 3


def test_death_in_the_first_input_is_known(tmp_path: Path) -> None:
    """Also when that is announced answer by answer."""
    log = log_in(tmp_path)
    life(log, 0)
    life(log, 0, (0, 0))
    life(log, 0, (0, 0))
    deaths = log.deaths(COMMIT)
    assert (deaths.inputs[0], deaths.is_deadly(0, 0)) == (3, True)


# errors


def test_record_that_cannot_be_decoded_is_an_error(tmp_path: Path) -> None:
    """A whole record of an unknown form was written by another version."""
    log = log_in(tmp_path)
    log.begin(COMMIT)
    log.append([Tick(AT)])
    log.close()
    body = b"\x93\x01\x02\x03"
    with path_of(tmp_path).open("ab") as file:
        file.write(len(body).to_bytes(4, "little") + xxhash.xxh3_64_intdigest(body).to_bytes(8, "little") + body)
    with pytest.raises(CollectionDamaged, match="cannot be decoded"):
        list(log.read(COMMIT))


def test_full_disk_is_our_error(tmp_path: Path) -> None:
    """With a hint, not as a foreign exception."""
    log = log_in(tmp_path)
    log._file = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(CollectionError, match="No space left"):
        log.append([Tick(AT)])
    log.close()
