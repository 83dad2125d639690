"""The sitemaps of every profile, and the truth about their entries.

`profiles` knows which documents a site publishes at a moment and what stands in each, one function a profile; `dirt` is
the profile that does everything wrong; `documents` turns them into bytes. Documents are made when they are asked for,
from the same entries that the truth is told by.
"""

from .documents import Document, body_of, entries_of
from .profiles import Presence, Publisher, presence_for

__all__ = ["Document", "Presence", "Publisher", "body_of", "entries_of", "presence_for"]
