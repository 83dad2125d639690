"""What users and programs rely on, recorded: help texts, JSON keys, tables, settings, public names, and replays of logs."""
