"""What a crawl is asked to do: the settings of all rooms, composed, as a person writes them in a TOML file.

Each room keeps its settings beside the code that uses them; here they are put together as tables of one file
(`settings`). `toml_files` reads the file, with errors that name file, table, key and the nearest known name, and writes
it with every setting explained. `fields` has lengths of time and sizes as people type them, and what can be said of a
setting: its name, type, default and explanation.

Not here: which class plays which part (`assembly`), and how settings are typed on a command line (`cli`).
"""

from .fields import SettingField, duration_text, parse_duration, parse_size, settings_of, size_text
from .settings import Config, CrawlSettings

__all__ = [
    "Config",
    "CrawlSettings",
    "SettingField",
    "duration_text",
    "parse_duration",
    "parse_size",
    "settings_of",
    "size_text",
]
