"""What servers did under a load, and the settings they did it with. Descriptive: nothing here decides anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tdelta.records.conditions import Condition
from tdelta.records.findings import Finding


@dataclass(frozen=True, slots=True)
class Typical:
    """A quantity over the trials of one condition: its median between the quartiles."""

    low: float
    median: float
    high: float


class Bottleneck(StrEnum):
    """What holds a load back; the rule is in `tdelta.inference.serving`. ``waiting``: locks, network, scheduling."""

    SERVER_CPU = "server CPU"
    CLIENT_CPU = "client CPU"
    IO = "I/O"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class TimeSpent:
    """Where the time of a load's threads goes, medians over trials.

    The shares are of the time of all threads together; those of CPU may come to more than 1 where a server works in the
    background, and ``waiting_share`` is then 0. ``io_share`` is the part of the waiting that the device's requests
    account for at most, ``*_cores`` are CPUs busy on average, ``cores_at_most`` is how many this load could keep busy:
    one for each thread, and no more than there are. The pressures are the shares of the time in which some task of the
    machine was kept waiting (PSI). None stands for what the kernel does not tell.
    """

    server_share: float
    client_share: float
    waiting_share: float
    io_share: float | None
    server_cores: float
    client_cores: float
    cores_at_most: int
    cpu_pressure: float | None
    io_pressure: float | None


@dataclass(frozen=True, slots=True)
class CacheUse:
    """How a server's page cache fared: the share of requests that it could meet, and counts of one operation."""

    hit_ratio: Typical
    requests: float
    misses: float


@dataclass(frozen=True, slots=True)
class Moved:
    """Pages and bytes of one operation, medians over trials; None for what the engine does not count."""

    pages_read: float | None
    pages_written: float | None
    pages_encrypted: float | None
    pages_decrypted: float | None
    log_bytes: float | None
    device_read_bytes: float
    device_written_bytes: float


@dataclass(frozen=True, slots=True)
class ServerMeasures(Finding):
    """What a server and its client did under one condition, over the trials that the verdicts rest on. Descriptive.

    ``throughput`` is operations per second, times are µs of one operation. ``cache`` is None where the engine does not
    count requests.
    """

    FINDING = "servers"

    condition: Condition
    trials: int
    throughput: Typical
    response_us: Typical
    server_cpu_us: Typical
    client_cpu_us: Typical
    time: TimeSpent
    cache: CacheUse | None
    moved: Moved
    bottleneck: Bottleneck


@dataclass(frozen=True, slots=True)
class SettingsCompared(Finding):
    """Settings read back from twins. ``shared`` are the same on all of them, by name.

    ``varied`` are those that differ between strata, as their factors say, with their values in order; ``differing``
    what each kind of encrypted twin is given and a plain one is not, by the kind's name.
    """

    FINDING = "twin_settings"
    IS_SINGLE = True

    shared: Mapping[str, str]
    varied: Mapping[str, tuple[str, ...]]
    differing: Mapping[str, tuple[str, ...]]
