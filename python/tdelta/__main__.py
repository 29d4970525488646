"""``tdelta`` and ``python -m tdelta``: the command line, also where Ctrl-C comes before its modules are read."""

import sys


def main() -> None:
    """Run the command line and end the process."""
    try:
        from tdelta.cli.main import main as run
    except KeyboardInterrupt:
        from tdelta.cli.exit_codes import ExitCode

        sys.stderr.write("error: interrupted\n")
        sys.exit(ExitCode.INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
