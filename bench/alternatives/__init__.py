"""The same six jobs in several tools, as a user would write them: `jobs` has the scripts, `__main__` runs them."""
