"""A feature of another package, as pip installs it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def install(site: Path, name: str, modules: Mapping[str, str], feature: str) -> Path:
    """Put a package with a feature into a folder for packages; `feature` are the arguments of its `Feature`."""
    package, about = site / name, site / f"{name}-1.0.dist-info"
    package.mkdir(parents=True)
    about.mkdir()
    text = f"from periplus.parts import Feature\n\nFEATURE = Feature({feature})\n"
    for module, source in {"__init__": text, **modules}.items():
        (package / f"{module}.py").write_text(source)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[periplus.parts]\n{name} = {name}:FEATURE\n")
    return site
