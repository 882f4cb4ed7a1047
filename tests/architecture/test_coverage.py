"""The coverage of each room by the pure tests: which rooms are measured, and how much is enough."""

import io
import json
import sys
import tomllib
from pathlib import Path

import pytest

from tests.architecture.test_rooms import PURE
from tests.coverage_by_room import MODULES, main, rooms_of

ROOT = Path(__file__).parents[2]
PACKAGE = "plugins/graph_compiler"
NOT_MEASURED = {
    "airflow_backend": "needs Airflow",
    "cli": "its commands need what they run",
    "extending": "names of other rooms, and one module needs Spark",
    "graph_compiler_plugin.py": "needs Airflow",
    "lake_metadata/delta_metadata.py": "needs deltalake",
    "lake_metadata/iceberg_metadata.py": "needs pyiceberg",
    "object_stores": "needs obstore",
    "row_reader": "needs pyarrow",
    "run_client": "needs an Airflow, or httpx",
    "spark_runtime": "needs Spark",
    "testing": "needs Spark",
    "webhdfs": "needs HDFS",
}


def report(**files: tuple[int, int]) -> dict[str, dict[str, dict[str, list[int]]]]:
    """Return a report like coverage's: for each file, the lines that ran, and those that did not."""
    return {
        "files": {
            f"{PACKAGE}/{name.replace('__', '/')}.py": {
                "executed_lines": list(range(run)),
                "missing_lines": list(range(run, run + missed)),
            }
            for name, (run, missed) in files.items()
        }
    }


def answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], **files: tuple[int, int]
) -> tuple[int, str]:
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(report(**files))))
    return main(), capsys.readouterr().out


def test_every_file_is_measured_unless_there_is_a_reason() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        left_out = tomllib.load(file)["tool"]["coverage"]["run"]["omit"]
    names = {path.removeprefix("*/graph_compiler/").removesuffix("/*") for path in left_out}
    assert names == set(NOT_MEASURED)
    assert not {*PURE, "declaration", "projects", "staging"} & set(NOT_MEASURED)
    assert all((ROOT / PACKAGE / name).exists() for name in NOT_MEASURED)


def test_a_room_is_all_below_its_folder_and_modules_in_none_are_together() -> None:
    rooms = rooms_of(report(graphs__topology=(3, 1), errors=(2, 0), graphs__a__b=(4, 0), identifiers=(1, 1)))
    assert [(room.name, room.lines, room.covered) for room in rooms] == [(MODULES, 4, 750), ("graphs", 8, 875)]


def test_a_room_that_has_too_little_does_not_hide_behind_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = answer(monkeypatch, capsys, graphs__a=(1000, 0), staging__b=(94, 6))
    assert code == 1
    assert "staging          100       6    94.0 %" in said
    assert f"staging has 94.0 %; allowed: at least 95 %\n  {PACKAGE}/staging/b.py: 94, 95," in said
    assert "graphs has" not in said


@pytest.mark.parametrize(("run", "missed", "code"), [(95, 5, 0), (9499, 501, 1)])
def test_it_is_not_rounded_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], run: int, missed: int, code: int
) -> None:
    assert answer(monkeypatch, capsys, graphs__a=(run, missed))[0] == code


def test_a_report_of_nothing_is_not_enough(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(monkeypatch, capsys)[0] == 1
