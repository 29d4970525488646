"""Conducts a run: plans it, makes twins, runs trials in the drawn order, looks at round ends, and brings the answer.

Sits between what can be done (engines, driver, store) and what it means (inference); draws nothing on a screen, but
tells an observer what happens as values (`tdelta.records.results`).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdelta.session.preflight import DryRun, dry_run
    from tdelta.session.request import RunRequest
    from tdelta.session.run import conduct, resume
    from tdelta.session.run_plan import Plan, plan
else:
    from tdelta.lazily import lazy_getattr

    __getattr__ = lazy_getattr(
        __name__,
        run_plan=("Plan", "plan"),
        preflight=("DryRun", "dry_run"),
        request=("RunRequest",),
        run=("conduct", "resume"),
    )
