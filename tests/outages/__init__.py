"""Watches of a small web in virtual time, one site of which is down for an hour, two days or ten, in 22 ways.

Covers what an outage does to a collection: which pages are visited again, how often a site that is down is asked, and
what exports, indexes and lists of changes show meanwhile: `engine/frontier`, `engine/revisit`, `store/export`,
`insight/views`, `apps/changes`. `python -m bench.outages` prints the same runs as a table.
"""
