from typing import Any

from support.codes import cautions, check_refused
from support.disturbed_runs import DisturbedRuns
from support.external_runs import ExternalRuns
from support.external_studies import TracedStudy
from support.refused import Part
from support.running import Answered, Place
from support.server_checks import PassesServerCheck

from . import own


class TestPostgresExternalRuns(ExternalRuns, DisturbedRuns, PassesServerCheck, TracedStudy):
    driver = "psycopg"
    own = own
    sessions_sql = "SELECT pid FROM pg_stat_activity WHERE usename = 'bench'"
    kill_sql = "SELECT pg_terminate_backend({})"
    read_only_sql = ("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
    writable_sql = ("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")
    engine = "postgres"
    product = "PostgreSQL"
    scheme = "postgresql"
    vouching = ("--assume-encrypted",)
    important = "shared_buffers: 4096 8kB / 2048 8kB"
    refusal = "password authentication failed"
    lacking = "GRANT CREATE ON DATABASE app TO nobody"

    def test_what_rests_on_the_users_word_is_said_to(self, answered: Answered) -> None:
        assert cautions(answered.document, "encryption-assumed")
        assert answered.document["settings"]["external_servers"]["assumed"]
        assert "--assume-encrypted" in answered.document["settings"]["repeat"]

    def test_important_differences_are_told(self, answered: Answered) -> None:
        differences = answered.document["settings"]["external_servers"]["differences"]
        important = [one["name"] for one in differences if one["is_important"]]
        assert important[0] == "shared_buffers"
        assert "work_mem" in important

    def test_a_disk_that_nobody_vouches_for_is_invalid(self, servers: tuple[Any, Any], place: Place) -> None:
        ran = place.tdelta("run", "--json", *(word for word in self.on(servers) if word not in self.vouching))
        check_refused(ran, "encryption-not-seen", exit_code=4, remedy=Part("--assume-encrypted"))
