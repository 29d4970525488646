"""``tdelta run``: parse a request, have it conducted, show the answer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from tdelta.cli.exit_codes import ExitCode
from tdelta.cli.output import can_draw, color, is_live, show_result, width, write
from tdelta.cli.units import Duration, Percent, ResponseTime, Rounds, Size, Vary
from tdelta.design.factors import SCOPES
from tdelta.records import Level, Metric
from tdelta.report.document import dry_run_document, to_json
from tdelta.report.listings import dry_run_text
from tdelta.report.progress import progress
from tdelta.session.request import RunRequest
from tdelta.session.studies import request_for

_Command = TypeVar("_Command", bound=Callable[..., object])

_BESIDES_RESUME = frozenset({"resume_id", "store", "as_json"})

_OPTIONS = (
    click.argument("study", required=False),
    click.option("--engine", metavar="NAME", help="Engine to test; see `tdelta engines`.  [sqlite]"),
    click.option(
        "--library", metavar="NAME|PATH", help="SQLite library: sqlite3mc, sqlcipher, or a path.  [sqlite3mc]"
    ),
    click.option(
        "--server-binary",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="Server program to test: mariadbd, mysqld or postgres.  [the newest that is found]",
    ),
    click.option(
        "--scale", type=click.Choice(["laptop", "published"]), help="Size of STUDY: a laptop's or its own.  [laptop]"
    ),
    click.option("--workload", metavar="NAME|DIR", help="Built-in workload, or a folder of your own.  [order-entry]"),
    click.option(
        "--database",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="SQLite file of your own, which is only read: twins are copies of it.  [generated rows]",
    ),
    click.option(
        "--restore",
        metavar="CMD",
        help="Command that loads a dump of your own into each kind of private server: 'psql -1 -f app.sql'.",
    ),
    click.option(
        "--write-workload",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Write the workload proposed for --database or --restore as a folder to edit; run nothing.",
    ),
    click.option(
        "--baseline", metavar="DSN", help="Server of your own that is plain: mysql://USER@HOST/?password-env=NAME."
    ),
    click.option("--encrypted", metavar="DSN", help="Server of your own that is encrypted, to be compared with it."),
    click.option("--schema", metavar="NAME", help="Schema that is made on both, and removed.  [tdelta_RUN]"),
    click.option(
        "--assume-encrypted",
        is_flag=True,
        default=None,
        help="Take the encrypted server's disk for encrypted, where the server cannot tell (PostgreSQL).",
    ),
    click.option(
        "--vary",
        "varied",
        type=Vary(),
        multiple=True,
        metavar="F=L1,L2",
        help="Factor and its levels, e.g. cipher=aes-128,aes-256 or threads=1,4; repeatable, all combinations run."
        "  [cipher=aes-256]",
    ),
    click.option(
        "--scope",
        type=click.Choice(SCOPES),
        help="What a server encrypts: its tables, these and one thing more, or all.  [all that it can]",
    ),
    click.option(
        "--encrypted-dir",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Folder on an encrypted file system, for PostgreSQL's encrypted twins.  [gocryptfs, or pg_tde]",
    ),
    click.option(
        "--load",
        metavar="CMD",
        help="Command that is the load, on a server: 'sysbench oltp_read_only run', any.  [the workload's mix]",
    ),
    click.option(
        "--load-operations",
        metavar="REGEX",
        help="What finds the number of operations in what CMD prints, in its group.  [known of sysbench and pgbench]",
    ),
    click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Clients at work at once.  [1]"),
    click.option("--cache", type=Percent(), help="Page cache or buffer pool, as a share of the data.  [10%]"),
    click.option(
        "--cold",
        is_flag=True,
        default=None,
        help="Start a twin's server anew for each trial (DuckDB: attach its file anew), all caches emptied.",
    ),
    click.option(
        "--trace",
        is_flag=True,
        default=None,
        help="Meter every statement by itself in extra trials: CPU, elapsed, reads, rows.",
    ),
    click.option("--page-size", type=Size(), help="Database page.  [4096; with --database its own]"),
    click.option("--journal-mode", metavar="MODE", help="wal, delete, truncate, persist, memory or off.  [wal]"),
    click.option("--synchronous", metavar="LEVEL", help="off, normal, full or extra.  [normal]"),
    click.option(
        "--temp-store",
        type=click.Choice(["default", "file", "memory"]),
        help="Where temporary tables and sorts go.  [as the library was built]",
    ),
    click.option(
        "--reserve",
        type=click.Choice(["equal", "natural"]),
        help="Reserved bytes a page: the same on every twin, or what each cipher needs.  [equal]",
    ),
    click.option(
        "--key",
        type=click.Choice(["passphrase", "raw"]),
        help="How SQLCipher gets its keys: to derive them from, or as they are."
        "  [raw; passphrase where connections are part of the work]",
    ),
    click.option("--size", "size_bytes", type=Size(), help="Data of each twin.  [50MB]"),
    click.option(
        "--rate",
        type=click.FloatRange(min=0, min_open=True),
        metavar="PER_SECOND",
        help="Operations due a second, over all threads; latency counts from the due time.  [as fast as they can]",
    ),
    click.option(
        "--at",
        type=Percent(),
        help="Operations due at this share of what the baseline can do; vary it with --vary at=30%,60%,80%.",
    ),
    click.option(
        "--arrivals", type=click.Choice(["poisson", "constant"]), help="Law of arrivals with --rate or --at.  [poisson]"
    ),
    click.option(
        "--trial-seconds",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Length of a trial of the baseline.  [0.25; 2 with --rate or --at, and on a server]",
    ),
    click.option(
        "--slice",
        "slice_seconds",
        type=Duration(zero=True),
        help="How long a twin runs before the next takes its turn; 0s: a whole trial.  [0s]",
    ),
    click.option(
        "--discard",
        "discard_seconds",
        type=Duration(zero=True),
        help="Head of a trial that is run and not recorded.  [a tenth; 0.5s on a server]",
    ),
    click.option(
        "--blocks",
        "blocks_per_round",
        type=click.IntRange(min=1),
        metavar="N",
        help="Blocks a round.  [6; 8 on a server]",
    ),
    click.option(
        "--step-blocks",
        type=click.IntRange(min=1),
        metavar="N",
        help="How many of these have the loads and rebuilds of --vary work=…, which take longest.  [all]",
    ),
    click.option(
        "--rounds", type=Rounds(), metavar="MIN[..MAX]", help="Rounds of fresh twins.  [3, as many as time allows]"
    ),
    click.option(
        "--max-time", "max_seconds", type=Duration(), help="Wall clock, set-up included.  [85s; 10m on a server]"
    ),
    click.option("--rope", type=Percent(), help="Overhead you would not care about, either way.  [2%]"),
    click.option(
        "--budget", type=Percent(), help="Overhead you allow: turns the run into a gate, exit code 5 if over."
    ),
    click.option(
        "--metric",
        type=click.Choice([metric.value for metric in Metric]),
        metavar="NAME",
        help=f"Cost that decides: {', '.join(Metric)}.  [response_time]",
    ),
    click.option(
        "--slo",
        "slo_seconds",
        type=ResponseTime(),
        metavar="TIME",
        help="Time a transaction may take, e.g. 20ms: how often each twin takes longer is told, and decides nothing.",
    ),
    click.option(
        "--aa", is_flag=True, default=None, help="Compare identical plain twins: does this machine tell the truth?"
    ),
    click.option(
        "--no-aa-twin", is_flag=True, default=None, help="Leave the A/A twin out; the noise floor is then unknown."
    ),
    click.option(
        "--no-bb-twin",
        is_flag=True,
        default=None,
        help="Leave the B/B twin out, a second encrypted instance.  [there is one where a round has room]",
    ),
    click.option(
        "--no-calibration", is_flag=True, default=None, help="Begin without what `tdelta calibrate` found here."
    ),
    click.option(
        "--plant", type=Percent(), multiple=True, help="One more plain twin, slowed by this much; repeatable."
    ),
    click.option(
        "--profile",
        is_flag=True,
        default=None,
        help="Sample the twins' functions by perf in trials that are not measured: where the CPU time goes.",
    ),
    click.option(
        "--seed", type=click.IntRange(0, 2**63 - 1), metavar="N", help="Draws everything; recorded, drawn if not given."
    ),
    click.option(
        "--dir", "directory", type=click.Path(path_type=Path), metavar="DIR", help="Where the twins' files go."
    ),
    click.option("--store", type=click.Path(path_type=Path, dir_okay=False), help="File that keeps the results."),
    click.option("--resume", "resume_id", metavar="RUN", help="Complete a run that was cut short."),
    click.option(
        "--dry-run", is_flag=True, help="Say minutes, gigabytes, memory and whether there is room; run nothing."
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON (docs/json.md)."),
)


def _with_options(command: _Command) -> _Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command(short_help="Measure what encryption costs.")
@_with_options
def run(resume_id: str | None, dry_run: bool, as_json: bool, write_workload: Path | None, **given: object) -> int:
    """Measure what encryption costs, and answer in a sentence.

    Without STUDY: embedded SQLite, the order-entry mix, plain against AES-256.

    Example: tdelta run

    Example: tdelta run --vary cipher=aes-128,aes-256 --threads 4 --budget 5%

    Example: tdelta run --database app.db

    Example: tdelta run --baseline mysql://me@db1/ --encrypted mysql://me@db2/
    """
    if resume_id is not None:
        _refuse_settings(click.get_current_context())
        return _resume(resume_id, given, as_json=as_json)
    request = request_of(given)
    if dry_run or write_workload is not None:
        return _dry_run(request, write_workload, as_json=as_json)
    return _conduct(request, as_json=as_json)


def _conduct(request: RunRequest, *, as_json: bool) -> int:
    from tdelta.session import conduct

    with progress(sys.stderr, live=is_live(), color=can_draw()) as observer:
        result = conduct(request, observer)
    return show_result(result, as_json=as_json)


def _resume(run_id: str, given: dict[str, object], *, as_json: bool) -> int:
    from tdelta.session import resume

    store = given["store"]
    with progress(sys.stderr, live=is_live(), color=can_draw()) as observer:
        result = resume(run_id, store if isinstance(store, Path) else None, observer)
    return show_result(result, as_json=as_json)


def _dry_run(request: RunRequest, write_workload: Path | None, *, as_json: bool) -> int:
    from tdelta.session import dry_run

    with progress(sys.stderr, live=is_live(), color=can_draw()) as observer:
        plan = dry_run(request, observer, write_workload)
    write(to_json(dry_run_document(plan)) if as_json else dry_run_text(plan, width(), color=color()))
    return ExitCode.USAGE if plan.faults else ExitCode.ANSWERED


def request_of(given: dict[str, object]) -> RunRequest:
    """The request with only what was typed; all else keeps the request's own defaults."""
    fields = {name: value for name, value in given.items() if value is not None and value != ()}
    if "varied" in fields:
        fields["vary"] = _factors(fields.pop("varied"))
    if "rounds" in fields:
        fields["min_rounds"], fields["max_rounds"] = fields.pop("rounds")  # type: ignore[misc]
    if "database" in fields and "size_bytes" in fields:
        raise click.UsageError(
            "--size and --database: expected one of the two, since twins are as large as the database"
        )
    if "restore" in fields and "size_bytes" in fields:
        raise click.UsageError("--size and --restore: expected one of the two, since twins are as large as the dump")
    if "metric" in fields:
        fields["metric"] = Metric(str(fields["metric"]))
    if fields.pop("no_aa_twin", False):
        fields["aa_twin"] = False
    if fields.pop("no_bb_twin", False):
        fields["bb_twin"] = False
    if fields.pop("no_calibration", False):
        fields["use_calibration"] = False
    return request_for(fields)


def _factors(varied: object) -> dict[str, tuple[Level, ...]]:
    pairs: tuple[tuple[str, tuple[Level, ...]], ...] = varied  # type: ignore[assignment]
    names = [name for name, _ in pairs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise click.BadParameter(
            f"expected each factor once, found {', '.join(repeated)} more than once; list all levels in one --vary",
            param_hint="'--vary'",
        )
    return dict(pairs)


def _refuse_settings(ctx: click.Context) -> None:
    """A run resumes with the settings it began with; other ones would make it another run."""
    typed = [
        parameter.opts[0]
        for parameter in ctx.command.params
        if parameter.name not in _BESIDES_RESUME
        and parameter.name is not None
        and ctx.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if typed:
        raise click.UsageError(
            "--resume keeps the settings the run began with:"
            f" expected at most --store and --json, found {', '.join(typed)}",
            ctx,
        )
