"""Private MySQL servers, as tdelta makes and supervises them."""

from __future__ import annotations

from tdelta_serving import PrivateServers


class TestMysql(PrivateServers):
    kind = "mysql"
    wont_start = "unknown variable 'no_such_option=1'"
