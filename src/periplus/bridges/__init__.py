"""Bridges to other programs: each translates between their words and ours, and decides nothing.

`bulk` sends documents to OpenSearch and Elasticsearch by requests of `exchange`; `agents` offers a collection to
language models, over MCP and REST. The rooms below know nothing of them. A bridge that needs a package of an extra says
so when it is used.
"""
