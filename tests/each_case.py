"""Tests of tables of trivial cases: one test for each table, since thousands of tests take time to manage."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable

import pytest

Test = Callable[..., None]


def each_case(names: str | tuple[str, ...], values: Iterable[object]) -> Callable[[Test], Test]:
    """Run a test with every case of a table, like `pytest.mark.parametrize`, but as one test.

    All cases run, also after one that fails, and every failure names its case. Fixtures are set up once for all of
    them: a test that writes to its fixtures is to be parametrized instead.
    """
    cases = [dict([(names, value)] if isinstance(names, str) else zip(names, value, strict=True)) for value in values]  # type: ignore[call-overload]
    assert cases, "no case would be tested"

    def of_one_case(test: Test) -> Test:
        @functools.wraps(test)
        def run_all(**fixtures: object) -> None:
            failures: list[BaseException] = []
            for case in cases:
                try:
                    test(**fixtures, **case)
                except (Exception, pytest.fail.Exception) as failure:
                    failure.add_note("in the case " + ", ".join(f"{name}={value!r}" for name, value in case.items()))
                    failures.append(failure)
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(cases)} cases failed", failures)

        signature = inspect.signature(test)
        rest = [parameter for name, parameter in signature.parameters.items() if name not in cases[0]]
        run_all.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return run_all

    return of_one_case
