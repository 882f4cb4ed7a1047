"""Dags of pipelines without their own Dag file: YAML files, and modules whose `env` has a schedule.

    globals().update(load_dags("pipelines"))   in one Dag file, with the Dags of all valid pipelines
    report_broken("pipelines")                 in another, with an import error that lists the problems

There are two files since Airflow loads no Dag from a file with an import error: one mistake would hide every pipeline.
"""

from __future__ import annotations

from pathlib import Path

from airflow.sdk import DAG, get_parsing_context

from graph_compiler.airflow_backend.dag.dag_builder import build_dag
from graph_compiler.compiler.checks.validation import all_problems
from graph_compiler.declaration.artifacts.user_artifact import YAML
from graph_compiler.errors import GraphCompilerError, InvalidPipelineError, Problem
from graph_compiler.projects.pipeline_files import files_below, load_declared, pipeline_at


class BrokenPipelinesError(GraphCompilerError):
    """Some pipelines cannot be loaded; the message has the problems of each."""


def load_dags(folder: str | Path) -> dict[str, DAG]:
    """Return the Dag of each valid pipeline below a folder, by its id.

    In a task's process, which needs only one Dag, the others are not compiled.
    """
    return _load(Path(folder), get_parsing_context().dag_id)[0]


def report_broken(folder: str | Path) -> None:
    """Raise BrokenPipelinesError with the problems of each pipeline below a folder, if there are any."""
    if problems := _load(Path(folder), None)[1]:
        raise BrokenPipelinesError("\n\n".join(problems))


def _load(folder: Path, wanted: str | None) -> tuple[dict[str, DAG], list[str]]:
    dags: dict[str, DAG] = {}
    problems: list[str] = []
    for file in files_below(folder):
        try:
            pipeline = load_declared(pipeline_at(Path(file)))
            if pipeline is None or (pipeline.schedule is None and not file.endswith(YAML)):
                continue
            if wanted not in (None, pipeline.name):
                continue
            if pipeline.name in dags:
                raise InvalidPipelineError(pipeline.name, [_TAKEN])
            dags[pipeline.name] = build_dag(pipeline)
        except InvalidPipelineError as error:
            problems.append(f"{file}: {InvalidPipelineError(error.pipeline, all_problems(error))}")
        except GraphCompilerError as error:
            problems.append(f"{file}: {error}")
        except Exception as error:  # Airflow's own errors are also about the pipeline
            problems.append(f"{file}: {type(error).__name__}: {error}")
    return dags, problems


_TAKEN = Problem(message="another pipeline has this name", hint="a pipeline's name is its Dag's id: give each its own")
