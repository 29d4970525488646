"""The English of refusals of the files of a workload, by code."""

WORKLOADS: dict[str, str] = {}
