"""`periplus changes`: `command` parses options and shows single pages.

Changes are printed by `terminal` for people, and by `output` for programs: as JSON lines and as an Atom feed.
"""
