"""What all tests share: nothing is timed, and who wants them beside each other has them in a good order."""

from __future__ import annotations

from hypothesis import settings

pytest_plugins = ["tdelta_costs", "tdelta_sharing"]

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
