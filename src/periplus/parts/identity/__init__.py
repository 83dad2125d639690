"""Identity: requests are signed, so that sites can verify whose crawler asks (Web Bot Auth, RFC 9421).

With `[identity] key`, every https request is signed at the moment it is sent: pages, robots.txt, and each redirect with
its own URL. A request over http is never signed, nor is a probe under the name of a browser. The signature covers
method, authority, path and agent, and holds for `lifetime` seconds. `asked` signs only for sites that ask: the request
that got a 401 or 403 with `Accept-Signature` is repeated at once; those that follow at that site, or a 429, are signed.

`key_files` makes, replaces and publishes keys. The key is a file of its owner outside of the collection; neither the
collection nor a log ever has it. The request records of the archive have the signatures as they were sent.

What it costs: nothing without a key; about 0.1 ms for a request with one.
"""
