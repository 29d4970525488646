"""Conducts a run: plans it, makes twins, runs trials in the drawn order, looks at round ends, and brings the answer.

Sits between what can be done (engines, driver, store) and what it means (inference); draws nothing on a screen, but
tells an observer what happens as values (`tdelta.records.events`).
"""

from tdelta.session.outlook import DryRun
from tdelta.session.planning import Plan, plan
from tdelta.session.preflight import dry_run
from tdelta.session.request import RunRequest
from tdelta.session.run import conduct, resume

__all__ = ["DryRun", "Plan", "RunRequest", "conduct", "dry_run", "plan", "resume"]
