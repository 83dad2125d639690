"""`periplus changes`: `command` parses options; `request` holds which changes are wanted.

What is printed: on a terminal by `terminal` (`page` for a single page), as JSON lines by
`json_lines`, as an Atom feed by `feed`.
"""
