"""``--max-time`` on a server is kept, whatever else the machine is at."""

import time

from support.codes import check_refused, messages
from support.running import Ran
from support.runs import ServerPlace


def ran(place: ServerPlace, seconds: int, *options: str) -> tuple[Ran, float]:
    began = time.monotonic()
    command = ("run", "--json", "--engine", "mariadb", "--server-binary", str(place.program))
    done = place.tdelta(*command, "--max-time", f"{seconds}s", *options)
    return done, time.monotonic() - began


def test_the_90_s_server_run_ends_in_time_or_names_the_least_time_that_would_do(place: ServerPlace) -> None:
    done, took = ran(place, 90)
    assert took <= 99.0
    if done.code != 2:
        return
    check_refused(done, "time-too-short", option="--max-time", found="90 s")
    (said,) = messages(done.document["refusals"])
    assert said.parameters["given"] == str(said.parameters["least"]).replace(" ", "")
    least, unit = str(said.parameters["least"]).split()
    assert int(least) * {"s": 1, "m": 60}[unit] > 90
    assert place.tdelta("show", "last").code == 2, "nothing is kept"


def test_a_server_run_with_time_for_a_few_blocks_only_ends_in_time(place: ServerPlace) -> None:
    done, took = ran(place, 60, "--size", "5MB", "--trial-time", "0.5s", "--rounds", "5")
    assert took <= 66.0
    if done.code not in (0, 3, 4):
        check_refused(done, "time-too-short", option="--max-time", found="60 s")
