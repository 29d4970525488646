from pathlib import Path

from tdelta.processes.load_generator.connections import Connection

OUTPUTS = Path(__file__).parent / "outputs"
MYSQL = Connection("mysql", "tdelta", "tdelta", socket=Path("/run/twin/server.sock"))
POSTGRES = Connection("postgres", "tdelta", "tdelta", socket=Path("/run/twin/.s.PGSQL.5499"))
