"""Settings of reading: which links of a page are followed."""

from __future__ import annotations

from msgspec import Struct


class ReadingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How pages are read and which of their links are followed."""

    max_decoded_bytes: int = 32 * 2**20
    """Maximum bytes of a page after decompression; the rest is cut off."""
    follow_links: bool = True
    """Follow links; otherwise only seeds, redirects and sitemaps."""
    follow_nofollow: bool = False
    """Follow links marked `nofollow`, too."""
    remembered_links: int = 200_000
    """Recently seen links that are not looked up again."""
