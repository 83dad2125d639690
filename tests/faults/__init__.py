"""Whole crawls in virtual time on disks and machines that fail at any operation, from seeds.

Covers the order of a commit and what is durable after a loss of power: `engine`, `store/state`, `store/warc`,
`store/tables`.
"""
