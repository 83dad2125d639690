"""Names of a program's own functions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from periplus.engine.plugins import ORDERINGS, is_plugin, load_plugin
from periplus.model import ConfigError


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module in the current folder."""
    name = "a_users_own_policies"
    (tmp_path / f"{name}.py").write_text("number = 1\ndef one(url, found):\n    return 1.0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_a_function_of_a_module_in_the_folder(own_module: str) -> None:
    """`module:function` is imported from the current folder, too."""
    loaded = load_plugin(ORDERINGS, f"{own_module}:one")
    assert loaded is not None
    assert loaded("http://a.test/", None) == 1.0


@pytest.mark.parametrize("name", ["{}:two", "{}:number", "no_such_module_at_all:one"])
def test_what_cannot_be_loaded(own_module: str, name: str) -> None:
    """A name that leads nowhere, or to something that is not a function, is refused with the name."""
    name = name.format(own_module)
    with pytest.raises(ConfigError, match=name):
        load_plugin(ORDERINGS, name)


def test_what_is_a_plugin() -> None:
    """A colon names a function; other names must be entry points."""
    assert is_plugin(ORDERINGS, "module:function")
    assert not is_plugin(ORDERINGS, "breadth_first")
