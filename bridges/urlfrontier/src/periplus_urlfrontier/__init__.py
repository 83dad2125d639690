"""A frontier for other crawlers, by the URLFrontier API of crawler-commons over gRPC (the extra `grpc`).

`messages` has the API's messages and calls as one table; `service` translates calls into the verbs of
`client_frontier`, which decides; `crawls` opens the frontier of each crawl ID; `worker` is the one thread that
works on them and makes batches durable; `server` listens. docs/frontier.md is for users.
"""
