"""`periplus publish`: `command` is the group with its commands."""
