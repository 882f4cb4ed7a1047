"""The project's own Airflow: home, database and staging below `.airflow/`; other installations stay untouched."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import graph_compiler
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.deployment.documents.staging_layout import staging_root_at
from graph_compiler.errors import ConfigurationError, GraphCompilerError, Problem
from graph_compiler.options.modes import NO_DEPLOYMENT_OPTIONS, DeploymentOptions
from graph_compiler.options.reader import parse_deployment_options
from graph_compiler.projects.airflow_configuration import (
    STAGING_FOLDER,
    Setting,
    configuration_file,
    expanded,
    find_setting,
    variable_of,
)
from graph_compiler.staging.publications.places import OwnFolder
from graph_compiler.staging.store.folder_access import make_private_folder

MIGRATED = "migrated"
"""A file written after the database, so that a database without it shows an interrupted migration."""


UI_PASSWORDS = "passwords.json"
"""The file in `ui_home` that has the password of `graph-compiler ui`."""


class AirflowFailedError(GraphCompilerError):
    """Airflow itself could not be prepared."""


@dataclass(frozen=True, slots=True)
class EmbeddedAirflow:
    """Where the project's Airflow is, and how it is called. Variables the caller sets override these defaults."""

    project: Path

    @property
    def home(self) -> Path:
        """Return AIRFLOW_HOME."""
        return Path(expanded(os.environ.get("AIRFLOW_HOME", str(self.project / ".airflow"))))

    @property
    def ui_home(self) -> Path:
        """Return the home of the Airflow that `graph-compiler ui` starts."""
        return self.home / "ui"

    @property
    def staging_root(self) -> str:
        """Return where runs stage data, an absolute path or a URI.

        Raises ConfigurationError, and StagingError if it is not valid.
        """
        found = self.setting("staging_root")
        return staging_root_at(found.value if found else str(self.home.absolute() / STAGING_FOLDER))

    @property
    def options(self) -> DeploymentOptions:
        """Return the options this deployment sets for all pipelines; raises ConfigurationError."""
        found = self.setting("options")
        if found is None:
            return NO_DEPLOYMENT_OPTIONS
        return parse_deployment_options(found.value, found.origin)

    @property
    def spark_conf(self) -> dict[str, str]:
        """Return the `--conf` pairs of every application; raises ConfigurationError unless it is a JSON object."""
        found = self.setting("spark_conf") or Setting(value=_SETTINGS["spark_conf"], origin="this program")
        try:
            pairs = json.loads(found.value)
            return {str(key): str(value) for key, value in pairs.items()}
        except (ValueError, AttributeError):
            problem = Problem(message=f"spark_conf is {found.value!r}", allowed="a JSON object of --conf pairs")
            raise ConfigurationError(found.origin, [problem]) from None

    @property
    def configuration_file(self) -> Path:
        """Return the path of the airflow.cfg that Airflow reads, if there is one."""
        return configuration_file(self.home, os.environ)

    @property
    def own_folders(self) -> tuple[OwnFolder, ...]:
        """Return Airflow's own folders, which no sink may overwrite."""
        environment = self.environment()
        return (
            OwnFolder(path=environment["AIRFLOW__CORE__DAGS_FOLDER"], what="the Dags folder"),
            OwnFolder(path=environment["AIRFLOW__CORE__PLUGINS_FOLDER"], what="the plugins folder"),
            OwnFolder(path=str(self.home.absolute() / "logs"), what="Airflow's log folder"),
            OwnFolder(path=str(self.home.absolute()), what="Airflow's home (AIRFLOW_HOME)", takes_targets=True),
        )

    def setting(self, key: str) -> Setting | None:
        """Return what the environment or airflow.cfg sets; raises ConfigurationError for a file that cannot be read."""
        return find_setting(key, self.configuration_file, os.environ)

    def environment(self) -> dict[str, str]:
        """Return every variable Airflow and Spark need; those already set are unchanged."""
        python_path = [str(self.project), str(self.project / "plugins"), *_paths("PYTHONPATH")]
        programs = [str(Path(sys.executable).parent), *_paths("PATH")]
        fixed = {
            "AIRFLOW_HOME": str(self.home),
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(python_path)),
            "PATH": os.pathsep.join(dict.fromkeys(programs)),
        }
        defaults = {
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.project / "dags"),
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(self._plugins_folder),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PARALLELISM": "4",  # of 32 idle workers, 30 would wait for this machine's cores
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(
                {"conn_type": "spark", "host": "local[2]", "extra": {"deploy-mode": "client"}}
            ),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        for key, value in _SETTINGS.items():
            if self.setting(key) is None:
                defaults[variable_of(key)] = value
        if "JAVA_HOME" in os.environ:
            fixed["JAVA_HOME"] = os.environ["JAVA_HOME"]
        return fixed | {name: os.environ.get(name, value) for name, value in defaults.items()}

    @property
    def _plugins_folder(self) -> Path:
        """Return the project's plugins folder, else the one this package is in, so that Airflow shows its pages."""
        own = self.project / "plugins"
        return _PACKAGE.parent if _PACKAGE.parent.name == own.name and not own.is_dir() else own

    def log_of(self, pipeline: str) -> Path:
        """Return the log file of a pipeline's runs, and create its folder."""
        folder = self.home / "logs"
        make_private_folder(folder)
        return folder / f"run-{pipeline}.log"

    @property
    def is_prepared(self) -> bool:
        """Whether the database is there."""
        return (self.home / MIGRATED).exists()

    def prepare(self, log: Path) -> None:
        """Create the database if there is none; Airflow's output goes to `log`. Raises AirflowFailedError."""
        make_private_folder(self.home)
        if (root := local_path(self.staging_root)) is not None:
            make_private_folder(Path(root))
        if self.is_prepared:
            return
        command, environment = [*_AIRFLOW, "db", "migrate"], self.child_environment()
        with log.open("a") as output:
            done = subprocess.run(command, env=environment, stdout=output, stderr=output, check=False)
        if done.returncode:
            raise AirflowFailedError(f"`airflow db migrate` failed\n  log: {log}")
        (self.home / MIGRATED).touch()

    def child_environment(self) -> dict[str, str]:
        """Return the whole environment of a process with the same settings as Airflow's."""
        return os.environ | self.environment()

    def asking_environment(self) -> dict[str, str]:
        """Return the same for a process that reads connections from Airflow's database, as its servers do."""
        return self.child_environment() | {"_AIRFLOW_PROCESS_CONTEXT": "server"}


def starting_this_airflow(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return the environment in which `airflow standalone` finds its `airflow` on the PATH; writes a script for it.

    The programs that pip installs contain the absolute path of their Python. In a project that was copied or moved,
    this is the Python of the original, which may no longer exist.
    """
    programs = home / "bin"
    make_private_folder(programs)
    script = programs / "airflow"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(_AIRFLOW)} "$@"\n')
    script.chmod(0o700)
    path = [str(programs.absolute()), *filter(None, [environment.get("PATH")])]
    return {**environment, "PATH": os.pathsep.join(path)}


_SETTINGS = {"spark_conf": json.dumps({"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "8"})}
"""Defaults for one machine, which airflow.cfg may override."""
_PACKAGE = Path(graph_compiler.__file__).parent
_AIRFLOW = [sys.executable, "-m", "airflow"]


def _paths(variable: str) -> list[str]:
    return [path for path in os.environ.get(variable, "").split(os.pathsep) if path]
