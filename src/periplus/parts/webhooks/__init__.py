"""Webhooks: a signed POST when a crawl ends, when pages changed, when an audit finds new faults.

What happened is written to a queue in the collection first (`outbox`), a file for each receiver, and then sent
(`delivery`): a process that is killed in between leaves the file, and the next run of the collection sends it. A
message may arrive twice, with the same `webhook-id`. Signatures are those of Standard Webhooks
(https://www.standardwebhooks.com); the secret comes from a file or the environment and is never stored. Addresses are
checked as those of a crawl are, and redirects are not followed. `docs/webhooks.md` shows how they are received.

It takes no part in the crawl itself and costs nothing there.
"""
