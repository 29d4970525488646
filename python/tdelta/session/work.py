"""What trials do: transactions on warm caches or cold ones (``--cold``, or the factor ``work``), loads, or rebuilds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tdelta.design.actions import ACTIONS, NOTHING, AskedAction, parse_action
from tdelta.errors import UsageError
from tdelta.messages import Refusal
from tdelta.processes.jobs import STEPS, TRANSACTIONS
from tdelta.processes.load_generator.command import LoadGenerator, parse_load
from tdelta.ray.bridge import require_address, require_ray
from tdelta.records import Level
from tdelta.session.request import RunRequest

_COLD = "cold"
_FEWEST_HOSTS = 2


def check_work(
    request: RunRequest, levels: Mapping[str, Sequence[Level]], *, most_cold: int | None, product: str
) -> None:
    """Refuse what caches cannot be emptied for, and what loads and rebuilds do not go with.

    Args:
        most_cold: how many connections can be cold at once; None where it does not matter.
        product: the engine, for people.

    Raises:
        UsageError: every fault.
    """
    if request.cold and "work" in levels:
        raise UsageError(Refusal.of("conflict", one="--cold", other="--vary work=…"))
    works = (_COLD,) if request.cold else levels.get("work", ())
    faults = []
    paced = [*_paced(request, levels)]
    if _COLD in works:
        threads = max(map(int, levels.get("threads", (request.threads,))))
        wrong = paced + ([f"--threads above {most_cold}"] if most_cold is not None and threads > most_cold else [])
        if wrong:
            faults.append(Refusal.of("conflict", one=", ".join(wrong), other=f"cold caches on {product}"))
    if set(works).difference(TRANSACTIONS):
        given = {
            "--inject": request.inject,
            "--load-generator": request.load_generator,
            "--database": request.database,
        }
        wrong = paced + [option for option, value in (given | {"--restore": request.restore}).items() if value]
        if wrong:
            faults.append(
                Refusal.of(
                    "conflict", one=", ".join(wrong), other="--vary work=load, rebuild or a maintenance operation"
                )
            )
    if faults:
        raise UsageError(*faults)


def check_actions(
    request: RunRequest,
    levels: Mapping[str, Sequence[Level]],
    actions: Mapping[str, Mapping[str, Mapping[str, tuple[str, ...]]]],
    product: str,
) -> None:
    """Refuse actions that an engine does not have, and what a load does not go with that something goes on beside.

    Args:
        actions: by factor, the engine's actions by name, each with its knobs and the words that these take.

    Raises:
        UsageError: every fault.
    """
    works = [str(level) for level in levels.get("work", ()) if level not in (*TRANSACTIONS, *STEPS)]
    beside = [str(level) for level in levels.get("during", ()) if level != NOTHING]
    faults = []
    for factor, level in (*(("work", level) for level in works), *(("during", level) for level in beside)):
        asked, known = parse_action(level), actions.get(factor, {})
        if asked.name not in known and request.baseline is not None:
            faults.append(Refusal.of("unsupported", what=f"{factor}={asked.name}", by="your own servers"))
        elif asked.name not in known:
            has = ", ".join(known) or "none"
            faults.append(Refusal.of("unknown", kind=factor, found=asked.name, hint=f" {product} has {has}."))
        else:
            faults += _knob_faults(asked, known[asked.name])
    if "during" in levels:
        given = {
            "--load-generator": request.load_generator,
            "--trace": request.trace,
            "--cold": request.cold,
        }
        wrong = [f for f, value in given.items() if value]
        wrong += [f"--vary work={level}" for level in levels.get("work", ()) if level != "warm"]
        if wrong:
            faults.append(Refusal.of("conflict", one=", ".join(wrong), other="--vary during=…"))
    if faults:
        raise UsageError(*faults)


def _knob_faults(asked: AskedAction, known: Mapping[str, tuple[str, ...]]) -> Iterator[Refusal]:
    """Knobs that an action does not have, and values that they do not take."""
    given: dict[str, int | str] = {**asked.knobs, **asked.choices}
    if unknown := sorted(set(given) - set(known)):
        has = ", ".join(known) or "none"
        yield Refusal.of(
            "unknown", kind="parameter", found=f"{', '.join(unknown)} of {asked.name}", hint=f" Expected one of {has}."
        )
    for name, value in given.items():
        words = known.get(name)
        if words is not None and (value not in words if words else isinstance(value, str)):
            takes = ", ".join(words) or "a whole number above 0"
            yield Refusal.of("out-of-range", what=name, wanted=takes, found=value).at(asked.name)


def check_replication(request: RunRequest, levels: Mapping[str, Sequence[Level]]) -> None:
    """Refuse what a load does not go with whose log a replica applies.

    Raises:
        UsageError: every fault.
    """
    if "replication" not in levels:
        return
    given = {
        "--load-generator": request.load_generator,
        "--trace": request.trace,
        "--cold": request.cold,
    }
    wrong = [f for f, value in given.items() if value]
    wrong += [f"--vary work={level}" for level in levels.get("work", ()) if level != "warm"]
    wrong += [f"--vary during={level}" for level in levels.get("during", ()) if level != NOTHING]
    if wrong:
        raise UsageError(Refusal.of("conflict", one=", ".join(wrong), other="--vary replication=…"))


def check_agents(request: RunRequest, levels: Mapping[str, Sequence[Level]]) -> None:
    """Refuse what load agents do not do, and a number of them that has not a client each.

    Raises:
        UsageError: every fault.
    """
    agents = request.agents
    if agents is None:
        if request.ray is not None and request.hosts is None:
            raise UsageError(Refusal.of("requires", what="--ray", needs="--agents N or --hosts N"))
        return
    given = {
        "--load-generator": request.load_generator,
        "--cold": request.cold,
        "--vary replication": levels.get("replication"),
    }
    wrong = [name for name, value in given.items() if value]
    wrong += [f"--vary work={level}" for level in levels.get("work", ()) if level != "warm"]
    wrong += [f"--vary during={level}" for level in levels.get("during", ()) if level != NOTHING]
    faults = [Refusal.of("conflict", one=", ".join(wrong), other="--agents")] if wrong else []
    fewest = min(int(level) for level in levels.get("threads", (request.threads,)))
    if fewest < agents:
        faults.append(Refusal.of("requires", what=f"--agents {agents}", needs=f"--threads {agents} or more"))
    faults += _ray_faults(request.ray)
    if faults:
        raise UsageError(*faults)


def check_hosts(request: RunRequest, levels: Mapping[str, Sequence[Level]]) -> None:
    """Refuse what twins on hosts of a cluster do not do.

    Raises:
        UsageError: every fault.
    """
    if request.hosts is None:
        return
    elsewhere = ("replication", "server", "storage", "aes_instructions")
    given = {
        "--agents": request.agents,
        "--load-generator": request.load_generator,
        "--restore": request.restore,
        "--encrypted-dir": request.encrypted_dir,
        "--profile": request.profile,
        **{f"--vary {factor}": levels.get(factor) for factor in elsewhere},
    }
    wrong = [name for name, value in given.items() if value]
    wrong += [f"--vary work={level}" for level in levels.get("work", ()) if level not in ("warm", "cold")]
    wrong += [f"--vary during={level}" for level in levels.get("during", ()) if level != NOTHING]
    faults = [Refusal.of("conflict", one=", ".join(wrong), other="--hosts")] if wrong else []
    if request.hosts < _FEWEST_HOSTS:
        faults.append(Refusal.of("out-of-range", what="--hosts", wanted="2 or more", found=request.hosts))
    if request.ray is None:
        faults.append(Refusal.of("requires", what="--hosts", needs="--ray ADDRESS"))
    if request.agents is None:  # else `check_agents` has them
        faults += _ray_faults(request.ray)
    if faults:
        raise UsageError(*faults)


def _ray_faults(address: str | None) -> list[Refusal]:
    """What speaks against a cluster at that address before anything connects to it."""
    faults: list[Refusal] = []
    for look in (require_ray, *(() if address is None else (lambda: require_address(address),))):
        try:
            look()
        except UsageError as fault:
            faults += fault.refusals
    return faults


def check_storage(request: RunRequest, levels: Mapping[str, Sequence[Level]]) -> None:
    """Refuse what does not live in one folder, which is what storage is varied of.

    Raises:
        UsageError: every fault.
    """
    if "storage" not in levels:
        return
    wrong = ["--encrypted-dir"] if request.encrypted_dir is not None else []
    wrong += ["--vary replication"] if "replication" in levels else []
    for factor in ("work", "during"):
        acts = (level for level in levels.get(factor, ()) if parse_action(str(level)).name in ACTIONS)
        wrong += [f"--vary {factor}={level}" for level in acts]
    if wrong:
        raise UsageError(Refusal.of("conflict", one=", ".join(wrong), other="--vary storage=…"))


def check_trace(request: RunRequest, levels: Mapping[str, Sequence[Level]]) -> None:
    """Refuse what statements cannot be metered one by one in.

    Raises:
        UsageError: every fault.
    """
    if not request.trace:
        return
    given = {
        "--load-generator": request.load_generator,
        "--cold": request.cold,
        "--inject": request.inject,
    }
    wrong = [*_paced(request, levels), *(option for option, value in given.items() if value)]
    wrong += [f"--vary work={work}" for work in levels.get("work", ()) if work != "warm"]
    if wrong:
        raise UsageError(Refusal.of("conflict", one="--trace", other=", ".join(wrong)))


def _paced(request: RunRequest, levels: Mapping[str, Sequence[Level]]) -> Iterator[str]:
    """What has operations fall due while there is something else to do."""
    if request.rate is not None:
        yield "--rate"
    if "rate" in levels:
        yield "--vary rate"


def check_load(request: RunRequest, levels: Mapping[str, Sequence[Level]], protocol: str) -> None:
    """Refuse what a load of the user's own does not go with.

    Raises:
        UsageError: every fault.
    """
    if request.load_generator is None:
        if request.load_operations is not None:
            raise UsageError(Refusal.of("requires", what="--load-operations", needs="--load-generator"))
        return
    wrong = [*_paced(request, levels), *(["--inject"] if request.inject else [])]
    if wrong:
        raise UsageError(Refusal.of("conflict", one=", ".join(wrong), other="--load-generator"))
    load_generator(request, protocol, levels.get("threads", (request.threads,)))


def load_generator(request: RunRequest, protocol: str, threads: Sequence[Level]) -> LoadGenerator | None:
    """The user's load generator, checked; None where the workload's transactions are the load.

    Raises:
        LoadGeneratorError: all that is wrong with it.
    """
    if request.load_generator is None:
        return None
    levels = [int(level) for level in threads]
    return parse_load(request.load_generator, protocol, threads_levels=levels, operations=request.load_operations)


def check_discard(request: RunRequest) -> None:
    """Raise ``UsageError`` for a head that is not recorded as long as the trial."""
    if request.warmup_seconds is not None and not 0 <= request.warmup_seconds < request.trial_seconds:
        given = {"warmup": request.warmup_seconds, "trial": request.trial_seconds}
        raise UsageError(Refusal.of("warmup-too-long", **given))
