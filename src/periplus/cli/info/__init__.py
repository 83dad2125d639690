"""`periplus info`: `command` parses options and prints; `freshness` and `sources` phrase what is known of each."""
