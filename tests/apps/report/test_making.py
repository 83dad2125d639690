"""Where a report may be written, checked before it is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from periplus.apps.report.making import check_report_file
from periplus.model import UsageError


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """A folder, and a file in a folder that is not there."""
    check_report_file(tmp_path / "report.html")
    for file, problem in ((tmp_path, "Is a directory"), (tmp_path / "none" / "report.html", "No such file")):
        with pytest.raises(UsageError, match=problem) as refused:
            check_report_file(file)
        assert "-o FILE" in refused.value.hint
