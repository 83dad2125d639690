"""A collection for language models and the programs around them: the same verbs over MCP and over REST.

`arguments` and `answers` are the types of the verbs, from which both descriptions are made; `answers` also marks what
pages say as data, and keeps it short. `verbs` calls the rooms below; `crawl_jobs` runs crawls in the background.
`mcp_server` offers the verbs as tools (the extra `mcp`), `rest` as routes of `periplus serve`.

The text of a page is data here: it is returned between two lines with a random word, after a line that names its
author, and nothing acts on it. Errors are values with a `reason` and a `hint`.
"""
