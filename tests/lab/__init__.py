"""Crawls, watches, audits and reports of the lab's web, compared with what the lab knows to be true.

Each file covers one feature from seeds to tables; the lab itself is tested in `lab/tests`.
"""
