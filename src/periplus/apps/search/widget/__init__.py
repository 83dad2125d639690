"""The search box for other pages: two scripts without dependencies.

`search.js` is the box and its overlay; it asks a server, or, with `data-index`, loads `static.js`, which reads an index
of plain files (`apps.search.static_index`) in the browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from periplus.model import UsageError

_HERE = Path(__file__).parent
SCRIPTS: Mapping[str, Path] = MappingProxyType({f"/{name}": _HERE / name for name in ("search.js", "static.js")})
"""The files, by the paths at which `periplus serve` has them."""


def write_widget(out: Path) -> list[Path]:
    """Write the scripts into a folder, which is made if it does not exist; the files."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        written = [out / source.name for source in SCRIPTS.values()]
        for source, target in zip(SCRIPTS.values(), written, strict=True):
            target.write_bytes(source.read_bytes())
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}", hint="Give a folder that can be written.") from error
    return written
