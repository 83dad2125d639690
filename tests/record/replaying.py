"""Crawls whose inputs were recorded, as their logs have them, and what the code makes of these inputs.

`inputs/NAME.tar.xz` has every log of a crawl in virtual time, one for each commit, and the WARC with the bodies, as
older code has written them, with the settings and seeds of the crawl. They are applied to a new collection by engine,
machine, state, archive and tables as they ship. `recorded/replay_NAME.txt` has the requests that each input led to, and
at the end digests of every table of the state, of the rows of the tables and of the archive.

Nothing in the files depends on names of modules or classes: inputs are arrays with numbers for their kinds. A change of
the fields of an input, of what it holds, or of the frames of the log, breaks the replay, and has to: collections that
older code has left behind could not be continued either. A change of a row of the state changes the digest of its
table alone: it can be recorded, and `FORMAT` of the state says whether older collections can still be opened.

Floats count with nine digits, and the WARC is written without compression: so digests are the same on every machine.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest import mock

import msgspec
from msgspec import Struct
from tests.meeting.world import TOPIC, MeetingWorld
from tests.properties.replayed_world import IDENTIFIERS, OF_PARTS, START, TABLES, Collection, RichWorld, VirtualWire
from tests.properties.simulated_web import World

from periplus.collection.config.settings import Config
from periplus.engine.inputs import Input
from periplus.engine.log import InputLog
from periplus.model import FetchTask, Url
from periplus.store.layout import Layout
from periplus.store.tables import SCHEMAS, read

INPUTS: Final = Path(__file__).resolve().parent / "inputs"
QUICK: Final[dict[str, object]] = {
    "politeness.delay": 0.5,
    "retries.backoff": 2.0,
    "engine.checkpoint_interval": 20.0,
    "scope.kind": "any",
    "sitemaps.follow": True,
    "sitemaps.submitted": ("https://www.plain0.test/index.xml", "https://s1.test/b.xml"),
}

OF_ENGINE: Final = frozenset({"archive", "commits", "links", "tables"})
"""What the engine enters into a commit after the machine has written its own, and what `rows` compares apart."""
_WAIT: Final = 20.0
"""Seconds that a crawl waits at a time."""


class Case(Struct, frozen=True):
    """A crawl to record: its web, its settings over `QUICK`, and for how many seconds it runs."""

    world: Callable[[], World]
    seconds: float
    options: dict[str, object] = {}
    visits_a_day: float = 0.0


CASES: Final = {
    "parts": Case(
        lambda: MeetingWorld(42),
        300.0,
        {
            "forms.enabled": "submit", "forms.interval": 0.0, "forms.max_requests": 12, "absence.max_probes": 2,
            "cloaking.enabled": True, "cloaking.share": 1.0, "cloaking.first_after": 1, "mirrors.probing": 0.5,
            "dust.accept": 0.3, "dust.accept_varied": 0.4, "dust.accept_unknown": 0.5, "dust.withdraw": 0.2,
            "dust.probe": 0.5, "dust.min_templates": 1, "dust.new_pairs": 2, "traps.window": 8, "budgets.base": 4,
            "budgets.hosts": 2, "balance.first_epoch": 2, "sitemaps.llms_txt": True,
        },
    ),
    "watch": Case(lambda: RichWorld(3, 4, 4), 12_000.0, {"refresh.shortest": 60.0, "crawl.ordering": "opic"}, 4_000.0),
    "focused": Case(
        lambda: MeetingWorld(50),
        200.0,
        {"crawl.ordering": "focused", "topic.words": TOPIC, "topic.explore": 0.1, "sitemaps.feeds": False},
    ),
}  # fmt: skip


@contextmanager
def _repeatable() -> Iterator[None]:
    """Let the archive be the same, byte by byte, whenever and wherever it is written."""
    IDENTIFIERS.number = 0
    with (
        mock.patch("periplus.store.warc.archive.identifiers", IDENTIFIERS),
        mock.patch("isal.isal_zlib.compress", lambda data, _level, wbits: zlib.compress(data, 0, wbits)),
    ):
        yield


# recording


def record_inputs() -> None:
    """Crawl, and keep the logs, the WARC and what the crawl was asked to do."""
    INPUTS.mkdir(exist_ok=True)
    for name, case in CASES.items():
        with TemporaryDirectory() as home, _repeatable(), _keeping_logs(Path(home) / "logs"):
            world = case.world()
            seeds = tuple(world.homes if isinstance(world, MeetingWorld) else world.urls[::2])
            options = QUICK | case.options
            config = Config().with_options(options)
            crawl = Collection(Path(home) / "crawl", config, world, seeds, visits_a_day=case.visits_a_day)
            crawl.begin()
            _run(crawl, START + case.seconds / 4)
            crawl.engine.steer(("*/7",), ("*2", "*4"), ())
            crawl.engine.extend_scope((Url("https://moved.test/"),))
            crawl.engine.submit_sitemaps()
            crawl.engine.set_page_budget(1_000)
            crawl.engine.set_visit_budget(case.visits_a_day / 2)
            _run(crawl, START + case.seconds)
            asked = {"options": options, "seeds": seeds, "visits_a_day": case.visits_a_day}
            crawl.engine._log.close()
            _keep(Layout(crawl.folder).log(0), Path(home) / "logs")
            files = {"asked.json": json.dumps(asked, indent=1).encode()}
            files |= {f"log/{path.name}": path.read_bytes() for path in sorted((Path(home) / "logs").iterdir())}
            files |= {f"warc/{path.name}": path.read_bytes() for path in Layout(crawl.folder).warc.glob("*.warc.gz")}
            crawl.engine.close()
        _pack(INPUTS / f"{name}.tar.xz", files)


def _run(crawl: Collection, until: float) -> None:
    """Crawl, with few inputs while nothing can be done."""
    while not crawl.engine.is_idle and crawl.clock.at < until:
        crawl.engine.step(_WAIT)


@contextmanager
def _keeping_logs(folder: Path) -> Iterator[None]:
    """Copy every log before the next one begins, which removes it."""
    folder.mkdir()
    begin = InputLog.begin

    def keeping(log: InputLog, number: int) -> None:
        _keep(log._folder, folder)
        begin(log, number)

    with mock.patch.object(InputLog, "begin", keeping):
        yield


def _keep(source: Path, folder: Path) -> None:
    for path in source.glob("*.log"):
        (folder / path.name).write_bytes(path.read_bytes())


def _pack(path: Path, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:xz") as packed:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))


# replaying


class SilentWire(VirtualWire):
    """Starts requests that nobody answers: the answers are recorded."""

    def start(self, task: FetchTask) -> None: ...


class ReplayedCollection(Collection):
    """A new collection that is fed with recorded inputs."""

    def __init__(self, folder: Path, asked: dict[str, Any]) -> None:
        config = Config().with_options(asked["options"])
        seeds = tuple(map(Url, asked["seeds"]))
        super().__init__(folder, config, World(0, 0, 1), seeds, visits_a_day=asked["visits_a_day"])
        self.engine._wire = SilentWire(self.world, self.clock)


def replayed(name: str, folder: Path) -> str:
    """What the code of today makes of the inputs of a crawl, in lines."""
    with tarfile.open(INPUTS / f"{name}.tar.xz") as packed:
        packed.extractall(folder / "recorded", filter="data")
    source = folder / "recorded"
    logs = InputLog(source / "log", source / "warc")
    lines: list[str] = []
    counts: dict[str, int] = {}

    def note(given: Input, granted: list[FetchTask]) -> None:
        kind = str(type(given).__struct_config__.tag)
        counts[kind] = counts.get(kind, 0) + 1
        number = sum(counts.values())
        lines.extend(f"{number} at {given.at - START:.3f}: {_task_text(task)}" for task in granted)

    with _repeatable():
        crawl = ReplayedCollection(folder / "replayed", json.loads((source / "asked.json").read_text()))
        crawl.engine.recover()
        crawl.machine.after = note
        for path in sorted((source / "log").glob("*.log")):
            for given in logs.read(int(path.stem)):
                crawl.feed(given)
        crawl.machine.after = None
        crawl.engine.checkpoint(is_last=True)
        rows = crawl.rows()
        crawl.engine.close()
    lines += [
        f"inputs of kind {kind}: {count}" for kind, count in sorted(counts.items(), key=lambda each: int(each[0]))
    ]
    lines += [f"state {table}: {_rows_text(rows[table])}" for table in TABLES if table in rows]
    lines += [f"state {name}: {_rows_text(rows[name])}" for name in ("links old", "links young", "links between URLs")]
    known = {part: value for part, value in rows["meta"].items() if part not in OF_ENGINE}
    known |= {kind: msgspec.msgpack.decode(rows[kind]) for kind in OF_PARTS if rows[kind] is not None}
    lines += [f"meta {part}: {_digest(value)}" for part, value in sorted(known.items())]
    tables = Layout(crawl.folder).tables
    lines += [f"table {name}: {_rows_text(read(tables, name).to_pylist())}" for name in SCHEMAS]
    for path in sorted(Layout(crawl.folder).warc.glob("*.warc.gz")):
        plain = gzip.decompress(path.read_bytes())
        lines.append(f"archive: {len(plain)} bytes, {sha256(plain).hexdigest()[:16]}")
    return "\n".join(lines) + "\n"


def _task_text(task: FetchTask) -> str:
    told = ["dns" if task.ip is None else task.purpose.value, task.lane.name.lower(), str(task.url)]
    told += [f"attempt {task.attempt}"] if task.attempt > 1 else []
    told += ["conditional"] if task.validators is not None else []
    return " ".join(told)


def _rows_text(rows: Any) -> str:
    found = sorted(map(repr, map(_plain, rows.items() if isinstance(rows, dict) else rows)))
    return f"{len(found)} rows, {_digest(found)}" if found else "no rows"


def _digest(value: Any) -> str:
    return sha256(repr(_plain(value)).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """A value as any machine has it: rows are unpacked, and floats are rounded."""
    match value:
        case float():
            return f"{value:.9g}"
        case bytes():
            try:
                return _plain(msgspec.msgpack.decode(value))
            except (msgspec.DecodeError, UnicodeDecodeError):
                return value
        case dict():
            return sorted((repr(_plain(key)), _plain(inner)) for key, inner in value.items())
        case list() | tuple():
            return [_plain(each) for each in value]
        case set() | frozenset():
            return sorted(repr(_plain(each)) for each in value)
        case _:
            return value
