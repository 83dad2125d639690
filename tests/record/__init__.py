"""What users and programs rely on, recorded: help, JSON keys, tables, settings, public names, and replays of logs."""
