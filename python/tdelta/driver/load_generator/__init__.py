"""Any command as the load (``--load-generator 'sysbench oltp_read_only run'``).

`parse_load` reads and checks the user's words once. For each twin `CommandLoad` fills in its connection, runs the
command as a trial and reads what it reports; one file for each tool whose options and reports are known (`sysbench`,
`pgbench`), and one for every other command.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdelta.driver.load_generator.command import PLACEHOLDERS, LoadGenerator, Work, parse_load
    from tdelta.driver.load_generator.connections import Connection
    from tdelta.driver.load_generator.tools import Amount
    from tdelta.driver.load_generator.trial import CommandLoad, run, with_server
else:
    from tdelta.lazily import lazy_getattr

    __getattr__ = lazy_getattr(
        __name__,
        command=("PLACEHOLDERS", "LoadGenerator", "Work", "parse_load"),
        connections=("Connection",),
        tools=("Amount",),
        trial=("CommandLoad", "run", "with_server"),
    )
