"""Whether Airflow will find a Dag of a pipeline, checked before Airflow is started for it.

A file of the Dags folder makes it: one that names the pipeline's module, or `load_dags` for a pipeline with a
schedule. The files are only searched for these words; in doubt, Airflow decides.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from graph_compiler.cli.starter import ALL_PIPELINES, dag_file
from graph_compiler.declaration.artifacts.user_artifact import YAML
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.projects.pipeline_files import PipelineFile

_ELSEWHERE = "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST"
"""Where this is set, Dags also come from outside the Dags folder."""
_LOADS_ALL = "load_dags"


def require_dag(pipeline: Pipeline, module: PipelineFile, dags: Path) -> None:
    """Raise InvalidPipelineError if no file of the Dags folder makes a Dag of the pipeline."""
    if _ELSEWHERE in os.environ:
        return
    texts = list(_texts(dags))
    named = re.compile(rf"\b{re.escape(module.name.rpartition('.')[2])}\b")
    if any(named.search(text) for text in texts):
        return
    is_by_itself = module.file.suffix == YAML or pipeline.schedule is not None
    if is_by_itself and loads_all(dags):
        return
    raise InvalidPipelineError(pipeline.name, [_no_dag(module, dags, is_by_itself=is_by_itself)])


def loads_all(dags: Path) -> bool:
    """Whether a file of the Dags folder makes the Dags of all pipelines that say when they run."""
    return any(_LOADS_ALL in text for text in _texts(dags))


def _texts(dags: Path) -> Iterator[str]:
    for file in sorted(dags.rglob("*.py")):
        try:
            yield file.read_text(errors="replace")
        except OSError:
            continue


def _no_dag(module: PipelineFile, dags: Path, *, is_by_itself: bool) -> Problem:
    here = Path.cwd()
    folder = dags.relative_to(here) if dags.is_relative_to(here) else dags
    if is_by_itself:
        file, text = folder / "all_pipelines.py", ALL_PIPELINES
        or_else = "run it without Airflow: --in-process"
    else:
        file, text = folder / f"{module.file.stem}.py", dag_file(module.name)
        or_else = (
            "give its StreamExecutionEnvironment a schedule=Schedule(…), which "
            "dags/all_pipelines.py reads; or run it without Airflow: --in-process"
        )
    lines = "\n".join(f"    {line}" for line in text.splitlines() if line)
    return Problem(
        message=f"no file in {folder}/ makes a Dag of {module.shown}", hint=f"write {file}:\n{lines}\n  or {or_else}"
    )
