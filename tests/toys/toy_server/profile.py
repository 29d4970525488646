from tdelta.engines.profile import CLIENT_FACTORS, Profile, ServerAddress
from tdelta.engines.takes import SERVER_DEFAULTS, Takes
from tdelta.workloads.dialect import Dialect

PROFILE = Profile(
    "toyserver",
    "Toy Server",
    Dialect("toyserver", "sqlite"),
    takes=frozenset({Takes.OWN_SERVERS}),
    defaults=SERVER_DEFAULTS,
    is_server=True,
    client_factors=CLIENT_FACTORS,
    protocol="toyserver",
    address=ServerAddress(("toyserver",), 1, frozenset(), worker="toy_server.worker", needs=("two folders",)),
)
