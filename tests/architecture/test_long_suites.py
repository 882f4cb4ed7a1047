"""Each suite that is run by hand says what it tests, so that `make stale` finds those that are older."""

import re
from pathlib import Path

import pytest

from tests.architecture.test_commands import BY_HAND, ROWS
from tests.long_suites import ROOT, SUITES, LastRun


def test_each_suite_that_is_run_by_hand_is_known() -> None:
    suites = {
        command
        for command, (run_by, _) in ROWS.items()
        if run_by.startswith(BY_HAND) and command.startswith("make test")
    }
    assert suites == set(SUITES)


@pytest.mark.parametrize("path", sorted({path for paths in SUITES.values() for path in paths}))
def test_what_a_suite_tests_is_there(path: str) -> None:
    assert Path(ROOT, path).exists()


def test_the_days_and_commits_of_the_table_are_read() -> None:
    found = LastRun.all_of(
        "| `make test-yarn` | by hand | 2026-11-23 |\n"
        "| `make test-hdfs` | by hand; a part in `.ci/run` | 2026-11-22 at 48bb8b3a |\n"
        "| `make lint` | `.ci/run` | |\n| `make lock` | by hand | 2026-11-21 |\n"
    )
    assert found == (LastRun("2026-11-22", "make test-hdfs", "48bb8b3a"), LastRun("2026-11-23", "make test-yarn"))
    assert len(LastRun.all_of((ROOT / "CONTRIBUTING.md").read_text())) == len(SUITES)


def test_make_stale_runs_it() -> None:
    assert re.search(r"^stale:.*\n\t.*tests\.long_suites", (ROOT / "Makefile").read_text(), re.M)
