"""Small published sites, their receivers and their logs, which tests of several distributions use.

Nothing here is a test.
"""
