"""Identity: who a request comes from, by its signature (Web Bot Auth).

`verifier` decides about requests: it fetches the directories of keys that they name, within narrow bounds, and keeps
them. The middleware of published sites and the reader of access logs ask it. The formats are in `formats.web_bot_auth`;
what signs the requests of a crawl is the part `identity`.
"""
