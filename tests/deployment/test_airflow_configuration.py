"""Settings are found where Airflow finds them, without Airflow."""

from pathlib import Path

import pytest

from graph_compiler.errors import ConfigurationError
from graph_compiler.projects.airflow_configuration import Setting, configuration_file, find_setting

VARIABLE = "AIRFLOW__GRAPH_COMPILER__OPTIONS"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "airflow.cfg"
    path.write_text(
        "[core]\nexecutor = X\n[graph_compiler]\nbase = /mnt\n"
        'options = {"a": "100%%"}\nstaging_root = %(base)s/$WHERE\n'
    )
    return path


def test_the_variable_wins_over_the_file(file: Path) -> None:
    found = find_setting("options", file, {VARIABLE: "{}"})
    assert found == Setting(value="{}", origin=VARIABLE)
    found = find_setting("options", file, {})
    assert found == Setting(value='{"a": "100%"}', origin=f"{file}, [graph_compiler] options")


def test_values_are_expanded_as_airflow_does(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHERE", "${THERE}")
    monkeypatch.setenv("THERE", "staging")
    found = find_setting("staging_root", file, {})
    assert found is not None
    assert found.value == "/mnt/staging"


def test_unset_values_are_none(file: Path, tmp_path: Path) -> None:
    assert find_setting("api_conn_id", file, {}) is None
    assert find_setting("options", tmp_path / "nowhere.cfg", {}) is None


@pytest.mark.parametrize("text", ["[graph_compiler]\noptions = 100%\n", "options\n", "\xff"])
def test_an_unreadable_file_is_named(text: str, file: Path) -> None:
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigurationError, match="airflow.cfg"):
        find_setting("options", file, {})


def test_the_file_is_found_where_airflow_finds_it() -> None:
    home = Path("/airflow")
    assert configuration_file(home, {}) == Path("/airflow/airflow.cfg")
    assert configuration_file(home, {"AIRFLOW_CONFIG": "/etc/a.cfg"}) == Path("/etc/a.cfg")
