"""The wire formats of the web, one a file, read and write, no I/O.

A reader takes bytes (or chunks of them, where files can be large) and yields values; what is wrong with the bytes is
a `Problem` with a reason, never an exception. A writer is the other half: what it writes, the reader reads back.
Nothing here opens a file or a socket, asks for the time, or decides what to do with what was read.

`robots`, `sitemap`, `feed`, `headers`, `access_log`, `metadata_archive`, `indexnow`, `websub`; dates in all the
forms that these contain are read in `dates`, and names of charsets in `encodings`.
"""
