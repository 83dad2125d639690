"""What a crawl is asked to do: the settings of all rooms, composed, as a person writes them in a TOML file.

Each room keeps its settings beside the code that uses them; here they are put together as tables of one file
(`settings`). `toml_files` reads the file, with errors that name file, table, key and the nearest known name, and writes
it with those that were changed. `fields` parses durations and sizes as people type them, and describes a setting: its
name, type, default, explanation and flags.

Not here: which class implements which port, and how settings are given by options and keywords (`collection.options`).
"""
