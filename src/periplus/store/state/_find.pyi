"""The search in sorted runs, compiled from `native/find.c`: the same as `Run.find_in_python`; and bits of URLs."""

from .runs import Words

SOURCES: str

def find(fingerprints: Words, places: Words, keys: list[bytes], found: dict[bytes, bytes], /) -> None:
    """Put the place of each key that is in the run into `found`."""

def unchanged(
    places: list[bytes | None],
    times: list[float | None],
    rows: dict[bytes, bytes],
    missing: list[bytes],
    /,
) -> list[bool]:
    """The same as `linked.unchanged_in_python`."""
