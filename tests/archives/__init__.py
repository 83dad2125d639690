"""Archives of other programs, in and out.

WARC and WACZ files become collections, and collections become packages that other readers accept. Covers
`collection/importing.py`, `store/importing`, `store/export/wacz.py` and `store/warc`.
"""
