"""The formats that are read: a line each, without what reads them.

Help and messages list them from here, so this module imports nothing heavy; the modules that read are loaded when files
are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdelta.importers.importer import Importer


@dataclass(frozen=True, slots=True)
class Format:
    tool: str  # its name, as ``--input-format`` takes it
    module: str  # in this package; its ``IMPORTERS`` read the files
    looks: str
    times: str  # what to do for single response times, or a histogram of them, where a file has none

    def importers(self) -> tuple[Importer, ...]:
        found: tuple[Importer, ...] = import_module(f"{__package__}.{self.module}").IMPORTERS
        return found


_CSV = "give a CSV with a row for each response time"
_NONE = "its files have no response times: " + _CSV

FORMATS: tuple[Format, ...] = (
    Format(
        "sysbench",
        "sysbench",
        "its output ('[ 10s ] thds: 16 tps: …', 'SQL statistics:'), or its CSV hook's rows",
        "run sysbench with --histogram (1.0 and newer)",
    ),
    Format(
        "pgbench",
        "pgbench",
        "its report ('tps = …'), its log (-l), its log's aggregates (--aggregate-interval)",
        "run pgbench with -l and without --aggregate-interval, and give its log",
    ),
    Format("Swingbench", "swingbench", "its results file in XML ('<Results …>')", f"Swingbench: {_NONE}"),
    Format(
        "HammerDB",
        "hammerdb",
        "'TEST RESULT : System achieved …', of the console or of 'jobs ID result'",
        f"HammerDB: {_NONE}",
    ),
    Format("BenchBase", "benchbase", "'*.raw.csv', '*.samples.csv', '*.summary.json'", "give BenchBase's *.raw.csv"),
    Format(
        "YCSB",
        "ycsb",
        "its output ('[READ], AverageLatency(us), …') as text or JSON, or measurementtype=raw",
        "run YCSB with -p measurementtype=raw",
    ),
    Format(
        "k6",
        "k6",
        "--out json=FILE, --out csv=FILE, --summary-export=FILE, the data of handleSummary",
        "run k6 with --out json=FILE",
    ),
    Format("JMeter", "jmeter", "its results (.jtl), XML ('<testResults …>') or CSV", "give JMeter's .jtl"),
    Format("wrk", "wrk", "its output ('Running 10s test @ …')", "wrk prints no response times: hey -o csv does"),
    Format("hey", "hey", "its output ('Response time histogram:'), or hey -o csv", "run hey with -o csv"),
    Format("hyperfine", "hyperfine", "--export-json FILE", "export hyperfine's results by --export-json"),
    Format(
        "CSV",
        "csv_rows",
        "one row per condition ('condition,threads,tps'), or one column per condition ('query,plain_ms,tde_ms')",
        _CSV,
    ),
    Format("JSON lines", "json_lines", "one object per line, whose keys are columns as in a CSV", _CSV),
    Format("numbers", "numbers_only", "one per line, with --unit", _CSV),
)


def format_lines() -> Iterator[str]:
    width = max(len(it.tool) for it in FORMATS)
    return (f"{it.tool:<{width}}  {it.looks}" for it in FORMATS)
