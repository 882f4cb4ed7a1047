"""The identity of a run of a pipeline: paths, ledgers, liveness and calls to Airflow's API are derived from it.

    owner                         run id        what it is
    flights                       manual__1     a run of the pipeline's own Dag, whose id is the pipeline's name
    flights@nightly               manual__1     a run of the pipeline in the Dag `nightly`
    flights@nightly:emea.daily    manual__1     there, in the group `daily` of the task group `emea`
    flights@nightly:emea.daily:3  manual__1     there, mapped: the one with map index 3

Two runs are the same run if, and only if, their identities are equal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from graph_compiler.deployment.documents.wire import Json, from_wire, to_wire
from graph_compiler.errors import DescriptorError, StagingError
from graph_compiler.identifiers import TaskId, TaskName, digested_segment, name_of_segment, path_segment

NOT_MAPPED = -1
"""Airflow's map index of a task that is not mapped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIdentity:
    """A run of a pipeline. `group_path` is Airflow's prefix of a task's name in its task id: `emea.daily`."""

    dag_id: str
    group_path: str
    pipeline: str
    run_id: str
    map_index: int

    @classmethod
    def own(cls, pipeline: str, run_id: str) -> RunIdentity:
        """Return the run of a pipeline in its own Dag, outside of task groups and not mapped."""
        return cls(dag_id=pipeline, group_path="", pipeline=pipeline, run_id=run_id, map_index=NOT_MAPPED)

    @classmethod
    def named(cls, owner: str, run_id: str) -> RunIdentity:
        """Return the run of an `owner` as written above; raises StagingError for an invalid name."""
        pipeline, is_elsewhere, place = owner.partition("@")
        if not is_elsewhere:
            return cls.own(_unquoted(pipeline), run_id)
        dag_id, group_path, index, *more = [*map(_unquoted, place.split(":")), "", ""]
        if not dag_id or any(more) or (index and not (index.isascii() and index.isdecimal())):
            raise StagingError(
                f"'{owner}' is not a pipeline in a Dag\n"
                "  allowed: PIPELINE, PIPELINE@DAG, PIPELINE@DAG:GROUP, PIPELINE@DAG:GROUP:MAP_INDEX"
            )
        return cls(
            dag_id=dag_id,
            group_path=group_path,
            pipeline=_unquoted(pipeline),
            run_id=run_id,
            map_index=int(index) if index else NOT_MAPPED,
        )

    @classmethod
    def of_folder(cls, folder: str, name: str, recorded: Json = None) -> RunIdentity | None:
        """Return the run whose folder is `name` in the pipeline's `folder`, None if it cannot be identified.

        A name that was shortened, or contains more than a run id, is not enough: then it is the run `recorded` in the
        folder, if this is its folder.
        """
        pipeline, run_id = name_of_segment(folder), name_of_segment(name)
        if pipeline is not None and run_id is not None:
            return cls.own(pipeline, run_id)
        try:
            found = from_wire(cls, recorded)
        except DescriptorError:
            return None
        return found if (path_segment(found.pipeline), found.run_folder) == (folder, name) else None

    @property
    def is_own(self) -> bool:
        """Whether it is a run of the pipeline's own Dag, outside of task groups and not mapped."""
        return self == RunIdentity.own(self.pipeline, self.run_id)

    @property
    def is_whole_dag(self) -> bool:
        """Whether all tasks of its Dag may belong to it."""
        return not self.group_path and self.map_index == NOT_MAPPED

    @property
    def owner(self) -> str:
        """Return the name that all such runs share: the pipeline, with Dag and group unless the Dag is its own."""
        if self.is_own:
            return _quoted(self.pipeline)
        index = "" if self.map_index == NOT_MAPPED else str(self.map_index)
        place = ":".join(map(_quoted, (self.dag_id, self.group_path, index)))
        return f"{_quoted(self.pipeline)}@{place.rstrip(':')}"

    @property
    def run_folder(self) -> str:
        """Return the unique name of its folder among those of the pipeline.

        For a run of its own Dag, it is the run id. For any other run, it is a readable part and a digest of the whole,
        whose length differs from all others, so that names stay unique even on a file system that ignores case.
        """
        if self.is_own:
            return path_segment(self.run_id)
        index = () if self.map_index == NOT_MAPPED else (str(self.map_index),)
        shown = "-".join(part for part in (self.dag_id, self.group_path, *index) if part)
        whole = (self.dag_id, self.group_path, self.pipeline, self.run_id, self.map_index)
        return digested_segment(f"{shown}-{self.run_id}", json.dumps(whole))

    def task_id(self, name: TaskName) -> TaskId:
        """Return the id of a task in Airflow."""
        return TaskId(f"{self.group_path}.{name}" if self.group_path else name)

    def task_name(self, task_id: TaskId) -> TaskName | None:
        """Return the name of an Airflow task, if its groups are those of this run."""
        if not self.group_path:
            return TaskName(task_id)
        before = f"{self.group_path}."
        return TaskName(task_id.removeprefix(before)) if task_id.startswith(before) else None


def group_path(task_id: TaskId, name: TaskName) -> str:
    """Return the path of groups of a task; raises StagingError if its id does not end with its name."""
    path = task_id.removesuffix(name)
    if path + name != task_id or (path and not path.endswith(".")):
        raise StagingError(
            f"task '{task_id}' is '{name}' of its pipeline; allowed: that name, after the ids of task groups"
        )
    return path.removesuffix(".")


def _quoted(name: str) -> str:
    return quote(name, safe="", errors="surrogatepass")


def _unquoted(name: str) -> str:
    return unquote(name, errors="surrogatepass")


def with_identity(document: Mapping[str, Json]) -> dict[str, Json]:
    """Return a document with the identity of its run; earlier versions had the pipeline and the run id."""
    upgraded = dict(document)
    if "identity" not in upgraded:
        pipeline, run_id = upgraded.get("pipeline"), upgraded.get("run_id")
        if isinstance(pipeline, str) and isinstance(run_id, str):
            del upgraded["pipeline"], upgraded["run_id"]
            upgraded["identity"] = to_wire(RunIdentity.own(pipeline, run_id))
    return upgraded
