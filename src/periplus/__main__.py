"""`python -m periplus` is the program of the same name."""

from periplus.cli import main

main()
