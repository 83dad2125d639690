"""Not drowning: traps without an end, and answers that cost more than they are worth.

`traps` has sites that make ever more URLs, `spellings` those with many URLs for one page, `redirects` those that send a
crawler in circles; `streams` has answers without an end and slow ones, `bombs` those that grow in memory, `wire` broken
HTTP, `contents` bad pages, `lists` bad sitemaps, feeds and robots files. `honest` has what all of them have in common:
pages that a crawler should get besides.
"""

from . import bombs, contents, lists, redirects, spellings, streams, traps, wire

__all__ = ["bombs", "contents", "lists", "redirects", "spellings", "streams", "traps", "wire"]
