"""The wire formats of the web, one a module, read and written, without I/O.

A reader takes bytes (or chunks of them, where files can be large) and yields values; faults in the bytes are `Problem`
values with a reason, never exceptions. What a writer writes, the reader reads back. Nothing here opens a file or a
socket, reads a clock, or decides what to do with the result.

`robots`, `sitemap`, `feed`, `headers`, `access_log`, `metadata_archive`, `indexnow`, `websub`,
`compression_dictionary`, `web_bot_auth`, `address_ranges`, `challenges`; dates in all their forms are read in `dates`,
charset labels in `encodings`, and the grammar that fields of HTTP share in `structured_fields`.
"""
