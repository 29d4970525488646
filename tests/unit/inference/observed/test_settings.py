import numpy as np
import pytest

from support.refused import Part, coded, refused
from tdelta.errors import UsageError
from tdelta.inference.observed.settings import NO_SPEEDUP, PUBLISHED, AnalysisSettings, NormalPrior, parse_priors


def test_priors_are_read_as_users_write_them() -> None:
    assert parse_priors(["published", "normal:0.03,0.02", " normal: 0.03 , 0.02 "]) == (
        PUBLISHED,
        NormalPrior(0.03, 0.02),
    )


@pytest.mark.parametrize("text", ["default", "no-speedup", "No-Speed-Up", "no speed-up", "no_speedup"])
def test_the_priors_that_are_always_there_are_not_repeated(text: str) -> None:
    assert parse_priors([text]) == ()


def test_all_faulty_priors_are_told_at_once_with_what_a_prior_is() -> None:
    with refused(
        UsageError,
        coded("no-such-prior", where="prior 'gamma'"),
        coded("unexpected", found=1, where="prior 'normal:0.03'", expected="two numbers, mean and sd of the log ratio"),
        coded("unexpected", found=Part("a"), where="prior 'normal:a,1'", expected="a number"),
        coded("out-of-range", found=0.0, where="prior 'normal:0,0'", what="the prior's sd"),
        coded("unexpected", found=Part("nan"), where="prior 'normal:nan,1'", expected="a finite number"),
        coded("prior-in-per-cent", where="prior 'normal:3,20'"),
        coded("no-such-prior", where="prior 'published:1'"),
        coded("what-a-prior-is", priors=Part("normal:MEAN,SD")),
    ):
        parse_priors(["gamma", "normal:0.03", "normal:a,1", "normal:0,0", "normal:nan,1", "normal:3,20", "published:1"])


def test_a_name_reads_as_it_was_written() -> None:
    assert NormalPrior(0.03, 0.02).name == "normal:0.03,0.02"


def test_no_speedup_leaves_nothing_below_zero() -> None:
    assert NO_SPEEDUP.log_density(np.array([-0.001, 0.0])).tolist() == [-np.inf, 0.0]


def test_settings_tell_all_their_faults() -> None:
    with pytest.raises(UsageError) as told:
        AnalysisSettings("none", tolerance=0.0, budget=-1.0, run_sd=2.0, latency_limit_ms=0.0)
    assert len(told.value.refusals) == 4
