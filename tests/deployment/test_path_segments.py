"""Names as folders: every name has a unique folder name that every file system accepts."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler.errors import StagingError
from graph_compiler.identifiers import name_of_segment, path_segment
from graph_compiler.staging.attempts.attempts import find_run, identity_of
from graph_compiler.staging.attempts.run_marker import find_marker
from graph_compiler.staging.gc.survey import survey
from graph_compiler.staging.store.local_store import LocalStore
from tests.harness.staging_trees import FIRST, Run

LONG = "manual__" + "2013-01-01T00:00:00+00:00," * 9
"""234 characters, as Airflow allows; 440 once quoted."""
NAMES = st.text(min_size=1, max_size=250) | st.text("~%:+é.", min_size=1, max_size=250)


@given(NAMES, NAMES)
def test_two_names_never_share_a_folder(one: str, other: str) -> None:
    segments = {path_segment(one), path_segment(other)}
    assert len(segments) == len({one, other})
    for segment in segments:
        assert 0 < len(segment.encode()) <= 255
        assert "/" not in segment
    assert path_segment(one) not in (".", "..")


@given(NAMES)
def test_a_segment_is_decoded_to_its_name_unless_it_was_shortened(name: str) -> None:
    segment = path_segment(name)
    assert name_of_segment(segment) in (name, None)
    assert (name_of_segment(segment) is None) == ("~" in segment)


@pytest.mark.parametrize("name", ["x" * 255, "manual__2013-01-01T00:00:00+00:00", "a b"])
def test_names_that_fit_keep_the_folder_they_had(name: str) -> None:
    assert "~" not in path_segment(name)


def test_a_run_whose_quoted_id_is_too_long_has_a_folder_and_is_found_again(tmp_path: Path) -> None:
    run = Run(tmp_path, LONG)
    run.end(FIRST, "e1")
    find_run(LocalStore(), run.layout)
    assert identity_of(LocalStore(), str(run.path)) == run.layout.identity
    (found,) = survey(LocalStore(), str(tmp_path)).runs
    assert (found.identity.run_id, found.path) == (LONG, str(run.path))


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    """For example, if a file system treats `Run 1` and `run 1` as the same."""
    run, other = Run(tmp_path, "run 1"), Run(tmp_path, "Run 1")
    run.begin(FIRST, "e1")
    other.path.symlink_to(run.path)
    with pytest.raises(StagingError, match="is the folder of run 'run 1' of 'p', but this is run"):
        find_marker(LocalStore(), other.layout)
