"""Deltas: a page that is visited again is sent as what is different from the stored version (RFC 9842).

A server that answers with `Use-As-Dictionary` can code later versions with this one as a dictionary. `part` remembers
where such answers are stored, and offers them when their page is visited again; `wire` decodes what comes back, before
it is archived. It is off unless `[deltas] offer` is set.

Only a version of the same URL is offered, over https, while it is fresh (section 2.2.2): as long as `Cache-Control` or
`Expires` say, `stale-while-revalidate` included, and for `UNSTATED` seconds where neither says anything. A page is
offered nothing after a failed attempt.

The archive has the decoded page, as any reader of WARC expects. Its header section says what was sent, in the fields
that Common Crawl uses for the same: `X-Crawler-Content-Encoding: dcz` and `X-Crawler-Content-Length`; the request
beside it names the dictionary. Tables and statistics count the bytes that were sent.

What it costs: a SHA-256 of each page that may be a dictionary, about 100 bytes of its record, and for each page that
comes as a difference the reading of one record of the archive.
"""
