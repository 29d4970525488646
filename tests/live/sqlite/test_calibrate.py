from support.running import Place

TINY = ("--size", "3MB", "--trial-time", "0.03s", "--blocks", "2")


def test_a_calibration_is_kept_and_the_next_run_of_its_kind_begins_with_it(place: Place) -> None:
    done = place.tdelta("calibrate", "--json", *TINY, "--max-time", "40s", "--seed", "5")
    document = done.document
    # Trials of 30 ms on a busy machine may well be invalid: that is an answer, too.
    assert done.code == document["exit_code"] == (0 if document["is_valid"] else 4), done.err
    assert document["schema"] == "tdelta.calibration/1"
    runs = len(document["run_ids"])
    assert runs >= 1
    assert document["identical"]["held"]["of"] == runs
    assert [(tally["metric"], tally["held"]["of"]) for tally in document["injected"]] == [
        ("response_time", runs),
        ("cpu_per_operation", runs),
    ]
    noise = document["noise"][0]
    low, high = noise["instance_sd_interval"]
    assert 0.0 < low < noise["instance_sd"] < high
    assert 0.0 < noise["trial_sd"] < noise["pair_sd"]
    assert [one["minutes"] for one in document["minimum_detectable_effect"]] == [5.0, 20.0, 60.0]
    ((kept,),) = place.query("SELECT calibration_id FROM calibrations")
    assert kept == document["calibration_id"]

    shown = place.tdelta("show", document["run_ids"][0], "--json").document
    assert {c["role"] for c in shown["settings"]["conditions"]} == {"baseline", "aa", "identical", "injected"}
    assert shown["settings"]["calibration"] is None

    brief = ("--seed", "8", "--rounds", "1..1")
    other = place.answer(*brief, "--threads", "2")["settings"]["calibration"]
    ignored = place.answer(*brief, "--no-calibration")["settings"]["calibration"]
    used = place.answer(*brief)["settings"]["calibration"]
    assert (other, ignored) == (None, None)
    assert (used is None) is not document["is_valid"]
    if document["is_valid"]:
        assert used["calibration_id"] == kept
        assert used["instance_effect"][0] == {"metric": "response_time", **noise["prior"]}
