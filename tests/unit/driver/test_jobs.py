import dataclasses

from tdelta.driver import TrialJob

JOB = TrialJob(seed=1, stream=2, operations=100, first_op=7, deadline_seconds=1.5)


def test_a_trial_is_told_to_the_loop_in_its_own_words() -> None:
    assert JOB.as_json() == {
        "seed": 1,
        "stream": 2,
        "operations": 100,
        "first_op": 7,
        "deadline_ns": 1_500_000_000,
        "patience_ns": 30_000_000_000,
        "pace": {"kind": "closed"},
        "planted": 0.0,
        "discard": 0,
    }


def test_a_rate_opens_the_loop() -> None:
    opened = dataclasses.replace(JOB, rate=250.0)
    assert opened.as_json()["pace"] == {"kind": "poisson", "rate": 250.0}
