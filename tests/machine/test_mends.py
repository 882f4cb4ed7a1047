"""Each fixed fault is found when it is put back; and what counts as found."""

import pytest

from tests.machine.mended_faults import FAULTS, Fault
from tests.machine.mends import Outcome, ask, named_tests
from tests.mutants import Edit

FITS = "deployment/test_path_segments.py::test_names_that_fit_keep_the_folder_they_had"
TOO_LONG = "if len(whole) > _LONGEST_SEGMENT:"


@pytest.mark.parametrize(
    ("becomes", "outcome"),
    [
        ("if True:", Outcome.FOUND),
        ("if _LONGEST_SEGMENT < len(whole):", Outcome.PASSED),
        ("if no_such_name:", Outcome.BROKEN),
        ("if True", Outcome.BROKEN),
    ],
)
def test_only_a_test_that_runs_and_fails_finds_a_fault(becomes: str, outcome: Outcome) -> None:
    fault = Fault(22, "names", (Edit("path_segment", TOO_LONG, becomes),), (FITS,))
    (answer,) = ask(fault, fault.found_by)
    assert answer.outcome is outcome, answer.words


def test_a_missing_test_finds_nothing() -> None:
    edit = Edit("path_segment", TOO_LONG, "if True:")
    fault = Fault(22, "names", (edit,), (FITS, f"{FITS}_otherwise"))
    answers = ask(fault, fault.found_by)
    assert [answer.outcome for answer in answers] == [Outcome.BROKEN] * 2


@pytest.mark.long
@pytest.mark.parametrize("fault", [pytest.param(one, id=f"{one.item}: {one.what}") for one in FAULTS])
def test_a_fault_that_is_put_back_is_found(fault: Fault) -> None:
    answers = ask(fault, named_tests(fault))
    assert answers
    assert [answer for answer in answers if answer.outcome is not Outcome.FOUND] == []
