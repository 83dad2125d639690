"""What tests of whole programs share."""

from __future__ import annotations

import io
import sys

import pytest
from tests.system.typed import Run, Said

from periplus.cli import main


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """The program in this process, from arguments to exit code: a process of its own takes a second to start."""

    def typed(*args: str, stdin: str | bytes = "") -> Said:
        monkeypatch.setattr(sys, "argv", ["periplus", *args])
        given = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return Said(ended.value.code if isinstance(ended.value.code, int) else 0, *capfd.readouterr())

    return typed
