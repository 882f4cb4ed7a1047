"""Settings of `[graph_compiler]` and of Airflow's own sections, found as Airflow finds them, without importing Airflow.

    AIRFLOW__GRAPH_COMPILER__OPTIONS   the variable wins
    [graph_compiler] options           in $AIRFLOW_CONFIG, else $AIRFLOW_HOME/airflow.cfg

`%(name)s` and `%%` in the file, and `$NAME` and `~` in both, are expanded as in Airflow. `_CMD` and `_SECRET` are not
supported, since Airflow has them only for its own sensitive settings; nor are settings of teams.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from configparser import ConfigParser, Error
from dataclasses import dataclass
from pathlib import Path

from graph_compiler.errors import ConfigurationError, Problem

SECTION = "graph_compiler"
STAGING_FOLDER = "staging"
"""The staging root below Airflow's home, if no other is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A value, and where it is set: a variable, or a file and its section."""

    value: str
    origin: str


def variable_of(key: str, section: str = SECTION) -> str:
    """Return the environment variable of a setting."""
    return f"AIRFLOW__{section.upper()}__{key.upper()}"


def origin_of(key: str, file: Path, environment: Mapping[str, str], section: str = SECTION) -> str:
    """Return where a setting is set: its variable, if that exists, else the file."""
    variable = variable_of(key, section)
    return variable if variable in environment else f"{file}, [{section}] {key}"


def configuration_file(home: Path, environment: Mapping[str, str]) -> Path:
    """Return the path of the file that Airflow reads."""
    named = environment.get("AIRFLOW_CONFIG")
    return home / "airflow.cfg" if named is None else Path(expanded(named))


def find_setting(key: str, file: Path, environment: Mapping[str, str], *, section: str = SECTION) -> Setting | None:
    """Return a setting, None if it is not set; raises ConfigurationError for an unreadable file."""
    origin = origin_of(key, file, environment, section)
    if (variable := variable_of(key, section)) in environment:
        return Setting(value=expanded(environment[variable]), origin=origin)
    parser = ConfigParser()
    try:
        parser.read(file)
        found = parser.get(section, key, fallback=None)
    except (Error, UnicodeDecodeError, OSError) as error:
        problem = Problem(message=str(error), hint="`%` is written `%%` in this file")
        raise ConfigurationError(origin, [problem]) from None
    return None if found is None else Setting(value=expanded(found), origin=origin)


def expanded(text: str) -> str:
    """Expand variables until nothing changes, as Airflow does."""
    while True:
        changed = os.path.expanduser(os.path.expandvars(text))
        if changed == text:
            return text
        text = changed
