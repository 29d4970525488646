from tdelta.engines.profile import Profile
from tdelta.workloads.dialect import Dialect

PROFILE = Profile(
    "toy",
    "Toy",
    Dialect("toy", "sqlite", has_types=False),
    shown="planted rows in its file",
    not_timed="the cipher is the toy's own",
)
