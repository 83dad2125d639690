"""`periplus info`: `command` parses options and prints what `assembly.facts.lines` says; `sources` has a table."""
