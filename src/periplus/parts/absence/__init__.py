"""Soft 404s: pages that are not there although their status says so.

`part` asks suspicious sites for a URL that cannot exist, compares their pages with the answer, and reports what it
finds as events; `policy` decides, and `words` has how error pages apologize in many languages. After Bar-Yossef et al.
(2004). A site costs one request, and only if something is suspicious; what is learnt of it is in its record.
"""
