"""``python -m tdelta``: the command line."""

from tdelta.cli.main import main

main()
