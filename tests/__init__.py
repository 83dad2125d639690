"""Tests mirror the source: that of `parts/forms/prober.py` is `parts/forms/test_prober.py`.

Several of one module begin with its name, `test_prober_`, and those of a folder as a whole with the folder's; `bench`
has the tests of the bench. Folders that mirror no source say in their `__init__.py` what they cover. `covering` finds
the tests that cover a folder of the source.
"""
