"""Any command as the load (``--load 'sysbench oltp_read_only run'``).

`parse_load` reads and checks the user's words once. For each twin `OutsideLoad` fills in its connection, runs the
command as a trial and reads what it reports; one file for each tool whose options and reports are known (`sysbench`,
`pgbench`), and one for every other command.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdelta.driver.outside.command import PLACEHOLDERS, LoadCommand, Work, parse_load
    from tdelta.driver.outside.connections import Connection
    from tdelta.driver.outside.tools import Amount
    from tdelta.driver.outside.trial import OutsideLoad, run, with_server
else:
    from tdelta.lazily import found_in

    __getattr__ = found_in(
        __name__,
        command=("PLACEHOLDERS", "LoadCommand", "Work", "parse_load"),
        connections=("Connection",),
        tools=("Amount",),
        trial=("OutsideLoad", "run", "with_server"),
    )

__all__ = [
    "PLACEHOLDERS",
    "Amount",
    "Connection",
    "LoadCommand",
    "OutsideLoad",
    "Work",
    "parse_load",
    "run",
    "with_server",
]
