"""Which names of a folder readers see; `tests/spark/publishing/test_folder_listing.py` asks Spark the same."""

import os
from pathlib import Path

import pytest

from graph_compiler.staging.publications.listing import (
    data_files,
    declared_pattern,
    files_with_rows,
    has_rows,
    hidden_matches,
    is_hidden,
    visible_pattern,
)
from tests.harness.folders import failing, put


@pytest.mark.parametrize(
    ("name", "hidden", "rows"),
    [
        ("part-0.parquet", False, True),
        ("k=_1", False, True),
        ("_x=1", False, True),
        ("_SUCCESS", True, False),
        (".part-0.crc", True, False),
        (".x=1", True, False),
        ("part-0._COPYING_", True, False),
        ("_metadata", False, False),
        ("_common_metadata", False, False),
        ("_metadata=1", False, True),
    ],
)
def test_names_are_hidden_and_have_rows_as_spark_says(name: str, hidden: bool, rows: bool) -> None:
    assert (is_hidden(name), has_rows(name)) == (hidden, rows)


@pytest.mark.parametrize("name", ["_*", "a*", "?", "[a]*", "{*,b}", "*?", "\\*", ".x", "*\\*"])
def test_other_names_of_a_pattern_stay_as_they_are(name: str) -> None:
    assert visible_pattern(f"s3a://b/{name}/x") == f"s3a://b/{name}/x"


@pytest.mark.parametrize("name", ["*", "*.csv", "*a,b", "*_v=1", "*=1"])
def test_a_pattern_of_visible_names_says_which_one_was_declared(name: str) -> None:
    for pattern in (f"/in/{name}", f"s3a://b/{name}/x/{name}"):
        assert visible_pattern(pattern) != pattern
        assert declared_pattern(visible_pattern(pattern)) == pattern


@pytest.mark.parametrize(
    ("pattern", "path", "hidden"),
    [
        ("/in/?x", "file:/in/.x", True),
        ("/in/{*,a}/b", "file:/in/_t/b", True),
        ("/in/[!a]*/", "file:/in/_t", True),
        ("/in/[!a]*", "file:/in/_t=1", False),
        ("/in/_*", "file:/in/_t", False),
        ("/in/_t/?", "file:/in/_t/a", False),
        ("?x/a", "file:/home/.work/in/ax/a", False),
        ("/in/{a/?,b}", "file:/in/a/_", False),
        ("/in/a", "file:/in/a", False),
    ],
)
def test_a_name_is_hidden_where_a_wildcard_stands_for_its_beginning(pattern: str, path: str, hidden: bool) -> None:
    assert list(hidden_matches(pattern, ["file:/in/a", path])) == [path] * hidden


def test_a_folder_is_walked_without_what_is_hidden(tmp_path: Path) -> None:
    put(tmp_path, ["part-0", "_SUCCESS", "_metadata", "k=1/part-1", "_temporary/part-2"])
    assert data_files(tmp_path) == {"part-0", "_metadata", "k=1/part-1"}
    assert files_with_rows(tmp_path) == {"part-0", "k=1/part-1"}


def test_a_link_is_followed_once_and_one_that_leads_nowhere_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path / "target", ["part-0"])
    put(tmp_path / "beside", ["part-1"])
    (tmp_path / "target/k=1").symlink_to(tmp_path / "beside")
    (tmp_path / "target/k=2").symlink_to(tmp_path / "target")
    (tmp_path / "target/gone").symlink_to(tmp_path / "nowhere")
    assert data_files(tmp_path / "target") == {"part-0", "k=1/part-1"}


@pytest.mark.parametrize("nth", range(4))
@pytest.mark.parametrize("call", ["scandir", "stat"])
def test_what_is_not_found_once_is_looked_for_again(
    call: str, nth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "target", ["k=1/part-0", "k=2/part-1"])
    (tmp_path / "target/part-2").symlink_to(tmp_path / "target/k=1/part-0")
    monkeypatch.setattr(os, call, failing(getattr(os, call), nth, FileNotFoundError()))
    assert data_files(tmp_path / "target") == {"k=1/part-0", "k=2/part-1", "part-2"}


@pytest.mark.parametrize("error", [TimeoutError(), PermissionError()])
@pytest.mark.parametrize("nth", range(4))
def test_a_file_of_which_nothing_can_be_told_is_not_passed_over(
    error: OSError, nth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "target", ["k=1/part-0", "k=2/part-1"])
    (tmp_path / "target/part-2").symlink_to(tmp_path / "target/k=1/part-0")
    monkeypatch.setattr(os, "stat", failing(os.stat, nth, error))
    with pytest.raises(type(error)):
        data_files(tmp_path / "target")


def test_a_folder_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    assert data_files(tmp_path / "none") == frozenset()
