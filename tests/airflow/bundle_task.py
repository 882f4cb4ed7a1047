"""A worker's first steps for a task, as a program: load the Dag of a bundle's version, and put what executors read.

python -m tests.airflow.bundle_task <version, or nothing> <staging root>

They are those of Airflow's task runner (`airflow.sdk.execution_time.task_runner.parse`), without its supervisor.
"""

import sys
from datetime import date
from pathlib import Path
from typing import Any

from airflow.dag_processing.bundles import base
from airflow.dag_processing.bundles.base import BaseDagBundle
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import BundleDagBag

from graph_compiler.airflow_backend.task.task_operator import DeploymentTaskOperator
from graph_compiler.airflow_backend.task.task_try import TaskTry
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task


class FolderBundle(BaseDagBundle):
    """A bundle with a folder for each version, as Git's bundle checks them out; `now` names the current one."""

    supports_versioning = True

    def __init__(self, *, root: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._root = Path(root)

    @property
    def path(self) -> Path:
        return self._root / str(self.version or (self._root / "now").read_text())

    def get_current_version(self) -> Any:
        version = (self._root / "now").read_text()
        wrapped = getattr(base, "BundleVersion", None)  # since 3.3
        return version if wrapped is None else wrapped(version=version)

    def refresh(self) -> None:
        """Do nothing: the folders are there."""


def main(version: str, root: str) -> None:
    manager = DagBundlesManager()  # type: ignore[no-untyped-call]  # Airflow has no types for it
    bundle = manager.get_bundle(name="shop", version=version or None)
    bundle.initialize()
    bag = BundleDagBag(
        dag_folder=str(bundle.path / "dags" / "shop_dag.py"),
        safe_mode=False,
        load_op_links=False,
        bundle_path=bundle.path,
        bundle_name=bundle.name,
    )
    assert not bag.import_errors, bag.import_errors
    for operator in bag.dags["shop"].tasks:
        assert isinstance(operator, DeploymentTaskOperator)
        run = DeskRun(day=str(date(2013, 1, 1)), params={}, run_id="r", staging_root=root)
        id = f"{operator.task_id}-e"
        tasks = [desk_task(region, run, execution_id=id) for region in operator.regions]
        prepared = operator.prepare(TaskTry(tasks))
        prepared.ship()
        words = prepared.submission.command
        paths = dict(prepared.submission.environment)["PYTHONPATH"].split(":")
        print(operator.regions[0].plan_id, words[words.index("--py-files") + 1], *paths, sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
