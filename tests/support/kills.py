import random
import signal
import time

from support.running import read_until
from support.runs import ALONE, PATIENCE_SECONDS, ServerPlace

STAGES = (
    "run ",
    "load: plain",
    "load: aes-256",
    "observe",
    "size",
    "copy: round 1",
    "warm-up: round 1",
    "round 1: ",
    "evidence",
    "checksum: rows of all copies after",
)
"""How the lines of progress begin; PostgreSQL has no ``observe``."""

SMALL = ("--workload", "point-select", "--size", "3MB", *ALONE)
SHORT = (*SMALL, "--trial-time", "0.2s", "--blocks", "3", "--rounds", "1..1", "--vary", "threads=1,2")
MOST_SECONDS = 1.5


def kill_at_random(place: ServerPlace, seed: int, *options: str) -> str:
    """Begin a run, kill it some time after a drawn stage has begun, and see that nothing outlives it."""
    moments = random.Random(seed)
    stage = STAGES[seed % len(STAGES)]
    if stage == "observe" and place.engine == "postgres":
        stage = "size"
    process = place.start("run", *place.options(*SHORT, *options))
    read_until(process, stage)
    time.sleep(moments.uniform(0.0, MOST_SECONDS))
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE_SECONDS)
    left = place.left()
    assert left == [], left
    return stage
