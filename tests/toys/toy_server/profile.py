from tdelta.design.takes import Takes
from tdelta.engines.profile import ServerAddress, server_profile
from tdelta.workloads.dialect import Dialect

PROFILE = server_profile(
    "toyserver",
    "Toy Server",
    Dialect("toyserver", "sqlite"),
    takes=frozenset({Takes.OWN_SERVERS}),
    protocol="toyserver",
    address=ServerAddress(("toyserver",), 1, frozenset(), worker="toy_server.worker", needs=("two folders",)),
)
