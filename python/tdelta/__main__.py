"""``tdelta`` and ``python -m tdelta``: the command line, also where Ctrl-C comes before its modules are read."""

from tdelta.driver import signals


def main() -> None:
    """Run the command line and end the process."""
    signals.leave_at_once()
    from tdelta.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
