"""Twins and the worker processes that hold them: started, told what to run, ended by process id.

The parent never touches a database during a trial. A worker is one process for one twin, so that memory, CPU time and
crashes belong to a condition; orders and keys reach it through its standard input, never through its arguments or
environment, and it dies with its parent.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdelta.processes.files import TwinFolder, default_base, sweep, sweep_all
    from tdelta.processes.jobs import AnyJob, DatabaseJob, PopulateJob, RestoreJob, TrialJob, WorkloadSpec
    from tdelta.processes.protocol import Checksums, LoopCost, MakeTwins, Tables, Twin, Twins
    from tdelta.processes.workers import Worker
else:
    from tdelta.lazily import lazy_getattr

    __getattr__ = lazy_getattr(
        __name__,
        files=("TwinFolder", "default_base", "sweep", "sweep_all"),
        jobs=("AnyJob", "DatabaseJob", "PopulateJob", "WorkloadSpec", "RestoreJob", "TrialJob"),
        protocol=("Checksums", "LoopCost", "MakeTwins", "Tables", "Twin", "Twins"),
        workers=("Worker",),
    )
