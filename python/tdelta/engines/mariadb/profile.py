"""MariaDB, as far as it is data."""

from __future__ import annotations

from tdelta.engines.profile import CLIENT_FACTORS, Profile, ServerAddress, ServerProgram
from tdelta.engines.shared.mysql_dialect import mysql_dialect
from tdelta.engines.shared.mysql_profile import DRIVEN, FUNCTIONS, NEAREST, PROCESSES
from tdelta.engines.takes import SERVER_DEFAULTS, SERVER_TAKES, Takes

PROFILE = Profile(
    name="mariadb",
    product="MariaDB",
    dialect=mysql_dialect("mariadb"),
    takes=SERVER_TAKES | {Takes.PAGE_COMPRESSION},
    defaults=SERVER_DEFAULTS,
    is_server=True,
    client_factors=CLIENT_FACTORS,
    warms_until_settled=True,
    unsearched="the kernel shows their files as it decrypts them",
    headings=NEAREST,
    functions=FUNCTIONS,
    protocol="mysql",
    program=ServerProgram(
        names=("mariadbd", "mysqld"),
        products=((r"Ver (\d+(?:\.\d+)+)-MariaDB", "MariaDB"),),
        remedy="apt-get install mariadb-server",
        cache_setting="innodb_buffer_pool_size",
        oldest="10.11",
    ),
    address=ServerAddress(
        schemes=("mariadb",),
        port=3306,
        processes=PROCESSES,
        driven=DRIVEN,
        takes=frozenset({Takes.TRACES, Takes.SESSION_MEMORY}),
    ),
)
