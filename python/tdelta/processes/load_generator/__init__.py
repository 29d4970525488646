"""Any command as the load (``--load-generator 'sysbench oltp_read_only run'``).

`parse_load` reads and checks the user's words once. For each twin `CommandLoad` fills in its connection, runs the
command as a trial and reads what it reports; one file for each tool whose options and reports are known (`sysbench`,
`pgbench`), and one for every other command.
"""
