"""`periplus crawl`: `command` parses options and runs it, `live` displays its progress, `summary` reports the end.

Other commands that crawl use them, too. `resizing` changes the number of shards while a crawl runs, here or on Ray.
"""
