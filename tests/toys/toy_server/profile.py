from tdelta.engines.profile import CLIENT_FACTORS, Profile, ServerAddress
from tdelta.workloads.dialect import Dialect

PROFILE = Profile(
    "toyserver",
    "Toy server",
    Dialect("toyserver", "sqlite", has_types=False),
    is_server=True,
    client_factors=CLIENT_FACTORS,
    address=ServerAddress(schemes=("toyserver",), port=1, processes=frozenset(), worker="toy_server.worker"),
)
