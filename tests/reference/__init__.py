"""Plain second implementations, and writers of formats, that tests compare the code with.

Nothing here is a test.
"""
