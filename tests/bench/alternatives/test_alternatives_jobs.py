"""The jobs that several tools do: each has a script or a reason, and its lines are counted as users see them."""

from pathlib import Path

import pytest
from bench.alternatives.__main__ import JOBS, TOOLS, AlternativeTool, lines_of
from bench.alternatives.site import PRODUCTS, price_of, shop

_SCRIPTS = Path(__file__).parents[3] / "bench" / "alternatives" / "jobs"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.key)
def test_a_tool_has_a_script_or_a_reason_for_every_job(tool: AlternativeTool) -> None:
    scripts = {path.stem.removeprefix(f"{tool.key}_") for path in _SCRIPTS.glob(f"{tool.key}_*")}
    assert scripts | set(tool.cannot) == set(JOBS)
    assert not scripts & set(tool.cannot)


def test_lines_are_those_that_a_user_writes(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text('"""What it does,\nin two lines."""\n\n# a comment\n\nimport sys\n\nprint(\n    sys.argv,\n)\n')
    assert lines_of(script) == 4
    command = tmp_path / "job.sh"
    command.write_text("# a comment\nperiplus index docs\n\nperiplus search docs words\n")
    assert lines_of(command) == 2


def test_the_shop_has_a_page_for_each_product() -> None:
    site = shop()
    assert len(site.pages) == PRODUCTS + 1
    assert f'<span class="price">{price_of(7)}</span>' in site.pages["/products/7.html"]
