from typing import Any

from support.external_servers import ExternalServers, LookedAt
from support.refused import Part, refused
from tdelta.engines.server.dsn import parse_dsn
from tdelta.engines.server.pairs import pair
from tdelta.errors import ExternalServerFault, InvalidTwins

from . import own


class TestPostgresExternalServers(ExternalServers):
    own = own
    engine = "postgres"
    assumed = True
    encryption = (None, None)
    differences = (
        "shared_buffers: 4096 8kB / 2048 8kB",
        "wal_buffers: 128 8kB / 64 8kB",
        "work_mem: 4096 kB / 8192 kB",
    )
    refusal = "authentication failed"
    schema_sql = "SELECT current_schema()"
    grants = ("GRANT CREATE ON DATABASE app TO nobody",)
    cascade = " CASCADE"
    unmarking = ("COMMENT ON SCHEMA tdelta_r4 IS 'precious'",)
    precious = ("SELECT count(*) FROM pg_namespace WHERE nspname = 'tdelta_r4'", "1")

    def test_a_disk_that_the_server_knows_nothing_of_has_to_be_vouched_for(self, looked_at: LookedAt) -> None:
        with refused(InvalidTwins, "encryption-not-seen", remedy=Part("--assume-encrypted")):
            pair(*looked_at, "tdelta_r1")
        cautions = pair(*looked_at, "tdelta_r1", assumed=True).cautions
        assert [caution.code for caution in cautions] == ["encryption-assumed"]

    def test_a_database_that_is_not_there_is_told(self, servers: tuple[Any, Any]) -> None:
        missing = parse_dsn(f"postgres://bench@127.0.0.1:{servers[0].port}/missing")
        with refused(ExternalServerFault, "database-answer", fix="name an existing database in the DSN"):
            self.session("--baseline", missing)
