"""Draws small mutations of the sources by a seed and shows which of them the tests find.

    python -m tests.faults.mutants FOLDER --seed 1 --count 100 engine parts store policy

FOLDER gets a copy of the project, in which each mutation is made alone. The tests of its module run, then what
`make test FOR=` and `make proofs FOR=` run for its folder, until one fails. A run that ended early is continued.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
import traceback
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


def mutants_of(path: str) -> Iterator[Mutant]:  # noqa: C901
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


TEST: Final = "not proof and not slow"
PROOF: Final = "proof and not slow"
HEAVY: Final = ("duckdb", "lmdb", "numpy", "pyarrow.parquet", "pycurl", "pytest", "scipy.stats")
"""What nearly every run imports: once, before it is forked."""


def copied(folder: Path) -> None:
    names = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    names += [str(path.relative_to(ROOT)) for path in (ROOT / SOURCE).rglob("*.so")]
    for name in names:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def run(folder: Path, tier: str, tests: list[str]) -> int:
    """Run tests of a tier in the copy, in a process of their own; 0 if all pass, 5 if there are none."""
    if pid := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.chdir(folder)
    os.setpgid(0, 0)
    log = os.open("last.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    sys.path[:] = [str(folder / "src"), str(folder), *(path for path in sys.path if str(ROOT) not in path)]
    os.environ["PYTHONPATH"] = f"{folder / 'src'}:{folder}"
    code = 1
    try:
        import pytest

        bound = ["-o", f"faulthandler_timeout={STILL}", "-o", "faulthandler_exit_on_timeout=true"]
        code = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "--tb=short", "-m", tier, *bound, *tests]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def stages(path: str) -> Iterator[tuple[str, str, list[str]]]:
    """What is run of which tier, in order: the next only where the one before found nothing."""
    source = Path(path).relative_to(SOURCE)
    folder = Path("tests") / source.parent
    own = sorted({*folder.glob(f"test_{source.stem}.py"), *folder.glob(f"test_{source.stem}_*.py")})
    yield "test", TEST, [str(test) for test in own]
    yield "test", TEST, [str(folder)] if folder.is_dir() else []
    every = [str(test.relative_to(ROOT)) for test in covering(str(source.parent))]
    yield "test", TEST, every
    yield "proofs", PROOF, every


def judged(folder: Path, number: int, mutant: Mutant, most: int) -> dict[str, object]:
    """Which tier finds a mutation, in the first `most` stages."""
    source = folder / mutant.path
    before, start = source.read_text(), time.time()
    source.write_text(mutant.plant(before))
    found, by = "neither", ""
    try:
        for name, tier, tests in list(stages(mutant.path))[:most]:
            if tests and run(folder, tier, tests) not in (0, 5):
                found, by = name, _failed(folder)
                break
    finally:
        source.write_text(before)
    change = f"{mutant.path}:{mutant.line} {mutant.place}: {mutant.old} -> {mutant.new}"
    return {"number": number, "found": found, "seconds": round(time.time() - start), "mutant": change, "by": by}


def _failed(folder: Path) -> str:
    lines = (folder / "last.log").read_text(errors="replace").splitlines()
    return next((line for line in lines if line.startswith(("FAILED", "ERROR"))), lines[-1] if lines else "")[:200]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--stages", type=int, default=4, help="2: the tests of its folder alone; 3: no proofs")
    given = parser.parse_args()
    folder, results = given.folder.resolve(), given.folder / "results.jsonl"
    mutants = drawn(given.sources, given.seed, given.count)
    copied(folder)
    for name in HEAVY:
        importlib.import_module(name)
    done = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    for number, mutant in list(enumerate(mutants))[len(done) :]:
        done.append(judged(folder, number, mutant, given.stages))
        with results.open("a") as file:
            file.write(json.dumps(done[-1]) + "\n")
    for found in ("test", "proofs", "neither"):
        print(found, sum(each["found"] == found for each in done))  # noqa: T201


if __name__ == "__main__":
    main()
