"""The command line: one file a command group."""


def main() -> None:
    """Run the program."""
