"""`periplus publish`: `command` is the group, with one function for each of its commands.

The work is done by `periplus.publish`; `assembly.publishing` makes its parts from `publish.toml`.
"""
