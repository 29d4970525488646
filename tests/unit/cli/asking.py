from pathlib import Path
from typing import Any

WORDS = (
    "--library ./lib.so --workload ./mine --threads 2 --cache 20% --page-size 8KiB"
    " --synchronous full --size 10MB --rate 50 --trial-time 0.5s --blocks 8 --tolerance 1%"
    " --inject 5% --inject 10% --max-time 5m --seed 7 --dir /d --store /s.db"
)

ASKED: dict[str, Any] = {
    "library": "./lib.so",
    "workload": "./mine",
    "threads": 2,
    "cache": 0.2,
    "page_size": 8192,
    "synchronous": "full",
    "size_bytes": 10_000_000,
    "rate": 50.0,
    "trial_seconds": 0.5,
    "blocks_per_round": 8,
    "tolerance": 0.01,
    "inject": (0.05, 0.1),
    "max_seconds": 300.0,
    "seed": 7,
    "directory": Path("/d"),
    "store": Path("/s.db"),
}
