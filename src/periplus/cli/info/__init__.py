"""`periplus info`: `command` parses options and prints the lines of `assembly.facts.lines`; `sources` has a table."""
