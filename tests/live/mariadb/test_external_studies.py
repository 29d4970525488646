import os
from collections.abc import Mapping
from typing import Any

from support.external_studies import ExternalStudies

from . import own


class TestMariadbExternalStudies(ExternalStudies):
    own = own
    scheme = "mariadb"
    spill_counter = "sort_merge_passes"

    def check_traces(self, document: Mapping[str, Any]) -> None:
        statements = document["traces"]["statements"]
        if os.geteuid() == 0:  # who sees whose process serves a connection
            assert all(one["cpu_us"] > 0 for one in statements)
        assert {"physical", "logical", "current"} <= set(document["traces"]["headings"])
