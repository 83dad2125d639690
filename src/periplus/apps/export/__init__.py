"""A collection in other formats, for the command line and the library.

`exporting` has the formats, their options and what writes each (`store.export` does, and `retrieval` for chunks and for
other search engines, which need the views); `changed` has exports of what changed since the last one. `docs/export.md`
shows how they are used.
"""
