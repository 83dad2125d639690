"""How far an archive is written: what the state of a shard keeps of it."""

from msgspec import Struct


class WarcEnd(Struct, frozen=True, array_like=True):
    """How far an archive is written: its last file and the length of that; no name: nothing was written yet."""

    file: str = ""
    length: int = 0
