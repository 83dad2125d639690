"""What a crawl is asked to do: the settings of all rooms, composed, as a person writes them in a TOML file.

Each room keeps its settings beside the code that uses them; here they are put together as tables of one file
(`settings`). `toml_files` reads the file, with errors that name file, table, key and the nearest known name, and writes
it with every setting explained. `fields` parses durations and sizes as people type them, and describes a setting: its
name, type, default and explanation.

Not here: which class implements which port (`collection`), and how settings are given on a command line (`cli`).
"""
