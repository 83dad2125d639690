"""Conformance data, pages, graphs and logs of other projects, read by the code that ships.

Tests are skipped where the data is absent. A small case of our own, in the same file or in the test of the module, runs
everywhere.
"""
