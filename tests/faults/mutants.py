"""Draws small mutations of the sources by a seed and shows which of them the tests find.

    python -m tests.faults.mutants FOLDER --seed 1 --count 100 engine parts store policy

FOLDER gets a copy of the project. One run of `make test` in it notes which test reaches which mutation; then each is
made alone and the tests that reach it run, the quickest first. For what survives, the proofs that cover its folder run.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct
from tests.covering import covering

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCE: Final = "src/periplus"
STILL: Final = 240
"""Seconds after which a test counts as hanging, which is a way to find a mutation."""

OTHER: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
}  # fmt: skip
PROSE: Final = (ast.JoinedStr, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)
"""What holds no behaviour but messages, and what runs nothing."""


class Mutant(Struct, frozen=True):
    """In the file `path`, `old` at the character `at` becomes `new`, in a statement that begins at the line `line`."""

    path: str
    at: int
    old: str
    new: str
    line: int
    place: str

    def plant(self, text: str) -> str:
        data = text.encode()
        assert data[self.at :].startswith(self.old.encode())
        return (data[: self.at] + self.new.encode() + data[self.at + len(self.old.encode()) :]).decode()


def mutants_of(path: str) -> Iterator[Mutant]:
    """Every mutation of a file: operators, constants, lost statements, results that become None."""
    text = (ROOT / path).read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def mutant(node: ast.stmt | ast.expr, new: str, line: int, place: str) -> Mutant:
        at = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        return Mutant(path, at, text[at:end].decode(), new, line, place)

    def walk(node: ast.AST, line: int, place: str, is_run: bool = False) -> Iterator[Mutant]:
        if isinstance(node, PROSE) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            return
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            place = f"{place}.{node.name}".strip(".")
            for child in node.body:
                yield from walk(child, 0, place, is_run=not isinstance(node, ast.ClassDef))
            return
        if isinstance(node, ast.stmt):
            is_elif = text[starts[node.lineno - 1] + node.col_offset :].startswith(b"elif")
            line = line if is_elif else node.lineno if is_run else 0
            yield from (mutant(node, new, line, place) for new in _of_statement(node))
        if isinstance(node, ast.expr) and (is_run or not isinstance(node, ast.Constant)):  # named numbers are choices
            yield from (mutant(node, f"({ast.unparse(new)})", line, place) for new in _of_expression(node))
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "slice" if isinstance(node, ast.AnnAssign) else ""):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        yield from walk(child, line, place, is_run)

    yield from walk(ast.parse(text), 0, "")


def _of_statement(node: ast.stmt) -> Iterator[str]:
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
    if is_call or isinstance(node, ast.AugAssign | ast.Delete | ast.Continue | ast.Break):
        yield "pass"
    if isinstance(node, ast.Return) and not (node.value is None or isinstance(node.value, ast.Constant)):
        yield "return None"


def _of_expression(node: ast.expr) -> Iterator[ast.expr]:
    new = copy.deepcopy(node)
    if isinstance(new, ast.Compare) and type(new.ops[0]) in OTHER:
        new.ops[0] = OTHER[type(new.ops[0])]()  # type: ignore[call-overload]
        yield new
    elif isinstance(new, ast.BoolOp | ast.BinOp) and type(new.op) in OTHER:
        new.op = OTHER[type(new.op)]()  # type: ignore[assignment]
        yield new
    elif isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not):
        yield new.operand
    elif isinstance(new, ast.Constant) and isinstance(new.value, bool):
        yield ast.Constant(not new.value)
    elif isinstance(new, ast.Constant) and isinstance(new.value, int | float):
        yield from (ast.Constant(new.value + 1), ast.Constant(new.value - 1))


def drawn(folders: list[str], seed: int, count: int) -> list[Mutant]:
    files = (path for folder in folders for path in sorted((ROOT / SOURCE / folder).rglob("*.py")))
    every = [mutant for path in files for mutant in mutants_of(str(path.relative_to(ROOT)))]
    return random.Random(seed).sample(every, count)


REACHED = """
def _reached(mutant, seen=set()):
    import os
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if (mutant, test) not in seen:
        seen.add((mutant, test))
        with open({path!r}, "a") as file:
            file.write(f"{{mutant}}\\t{{test}}\\n")
__import__("builtins")._reached = _reached
"""


def note_reach(folder: Path, mutants: list[Mutant]) -> None:
    """Let each statement that a mutation changes note the test that runs it."""
    lines: dict[str, dict[int, list[int]]] = {}
    for number, mutant in enumerate(mutants):
        lines.setdefault(mutant.path, {}).setdefault(mutant.line, []).append(number)
    for path, at in lines.items():
        text = (ROOT / path).read_text().splitlines(keepends=True)
        for line, numbers in at.items():
            if line:
                start = text[line - 1]
                indent = start[: len(start) - len(start.lstrip())]
                text[line - 1] = "".join(f"{indent}_reached({number})\n" for number in numbers) + start
        (folder / path).write_text("".join(text))
    init = folder / SOURCE / "__init__.py"
    future = "from __future__ import annotations\n"
    text_of = init.read_text()
    assert future in text_of
    init.write_text(text_of.replace(future, future + REACHED.format(path=str(folder / "reached.tsv")), 1))


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": f"{folder / 'src'}:{folder}:{os.environ.get('MORE_PATH', '')}"}


def run(folder: Path, tier: str, tests: list[str], *more: str) -> int:
    """Run tests of a tier in the copy; 0 if all pass, 5 if there are none."""
    bound = ["-o", f"faulthandler_timeout={STILL}", "-o", "faulthandler_exit_on_timeout=true"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", tier, *bound, *more, *tests]
    with (folder / "last.log").open("w") as log:
        return subprocess.run(
            command, check=False, cwd=folder, env=environment(folder), stdout=log, stderr=log
        ).returncode


TEST: Final = "not proof and not slow"
PROOF: Final = "proof and not slow"


def copied(folder: Path) -> None:
    names = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    names += [str(path.relative_to(ROOT)) for path in (ROOT / SOURCE).rglob("*.so")]
    for name in names:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def reach(folder: Path, mutants: list[Mutant], workers: int) -> None:
    """Run `make test` in a copy that notes what is reached; write the tests of each mutation, the quickest first."""
    copied(folder)
    note_reach(folder, mutants)
    run(folder, TEST, ["tests"], "-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder", "--durations=0",
        "-vv", *os.environ.get("MORE_OPTIONS", "").split())  # fmt: skip
    log = (folder / "last.log").read_text()
    shutil.copy(folder / "last.log", folder / "reach.log")
    broken = {line.split(" ")[1] for line in log.splitlines() if line.startswith(("FAILED", "ERROR"))}
    seconds: dict[str, float] = {}
    for line in log.splitlines():
        fields = line.split(maxsplit=2)
        if len(fields) == 3 and fields[0].endswith("s") and fields[1] in ("setup", "call", "teardown"):
            seconds[fields[2]] = seconds.get(fields[2], 0) + float(fields[0][:-1])
    tests: dict[int, set[str]] = {}
    for line in (folder / "reached.tsv").read_text().splitlines():
        number, test = line.split("\t")
        if test and test not in broken:
            tests.setdefault(int(number), set()).add(test)
    ordered = {number: sorted(names, key=lambda name: seconds.get(name, 0.0)) for number, names in tests.items()}
    (folder / "reaching.json").write_text(json.dumps(ordered))
    copied(folder)


def judged(folder: Path, number: int, mutant: Mutant, reaching: list[str]) -> dict[str, object]:
    """Which tier finds a mutation."""
    source = folder / mutant.path
    before, start = source.read_text(), time.time()
    source.write_text(mutant.plant(before))
    own = [str(path.relative_to(ROOT)) for path in covering(str(Path(mutant.path).parent.relative_to(SOURCE)))]
    stages = [reaching[:20], reaching[20:200], reaching[200:]] if mutant.line else [own]
    found = "neither"
    try:
        if any(stage and finds(folder, TEST, stage) for stage in stages):
            found = "test"
        elif finds(folder, PROOF, own):
            found = "proofs"
    finally:
        source.write_text(before)
    return {
        "number": number, "found": found, "seconds": round(time.time() - start), "tests": len(reaching),
        "mutant": f"{mutant.path}:{mutant.line} {mutant.place}: {mutant.old} -> {mutant.new}",
        "by": _failed(folder) if found != "neither" else "",
    }  # fmt: skip


def finds(folder: Path, tier: str, tests: list[str]) -> bool:
    """Whether one of the tests fails."""
    (folder / "tests.txt").write_text("\n".join(tests))
    code = run(folder, tier, ["@tests.txt"], "-x")
    if code == 4 and "ERROR: not found" in (folder / "last.log").read_text():
        code = run(folder, tier, sorted({test.partition("::")[0] for test in tests}), "-x")
    return code not in (0, 5)


def _failed(folder: Path) -> str:
    lines = (folder / "last.log").read_text().splitlines()
    return next((line for line in lines if line.startswith(("FAILED", "ERROR"))), lines[-1] if lines else "")[:200]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--workers", type=int, default=4)
    given = parser.parse_args()
    folder, results = given.folder.resolve(), given.folder / "results.jsonl"
    mutants = drawn(given.sources, given.seed, given.count)
    if not (folder / "reaching.json").exists():
        reach(folder, mutants, given.workers)
    reaching = json.loads((folder / "reaching.json").read_text())
    done = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    for number, mutant in list(enumerate(mutants))[len(done) :]:
        done.append(judged(folder, number, mutant, reaching.get(str(number), [])))
        with results.open("a") as file:
            file.write(json.dumps(done[-1]) + "\n")
    for found in ("test", "proofs", "neither"):
        print(found, sum(each["found"] == found for each in done))  # noqa: T201


if __name__ == "__main__":
    main()
