"""The Dag that Airflow sees: tasks, dependencies, labels, retries; ids match the job graph's in both directions."""

import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from pipelines.flights import env as flights
from tests.airflow.conftest import ROOT
from tests.conftest import SHUFFLE_MODES, with_options

if TYPE_CHECKING:
    from airflow.sdk import DAG

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]


def build(mode: str) -> tuple["DAG", CompiledPipeline]:
    from graph_compiler.airflow_backend import build_dag

    pipeline = with_options(flights.pipeline(), shuffle_mode=mode)
    return build_dag(pipeline, schedule="@daily", start_date=datetime(2013, 1, 1)), compile_pipeline(pipeline)


def dependencies(dag: "DAG") -> list[tuple[str, str]]:
    return sorted((task.task_id, downstream) for task in dag.tasks for downstream in task.downstream_task_ids)


def test_blocking_mode_has_a_task_per_vertex_and_a_dependency_per_edge() -> None:
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

    dag, compiled = build("ALL_EXCHANGES_BLOCKING")
    task_of = {id: region.id for region in compiled.deployment.regions for id in region.vertex_ids}
    assert sorted(task_of) == sorted(vertex.id for vertex in compiled.job_graph.vertices)
    assert sorted(task_of.values()) == sorted(dag.task_ids)
    assert len(set(task_of.values())) == len(task_of) == 13
    assert all(isinstance(task, SparkSubmitOperator) for task in dag.tasks)
    edges = [(task_of[edge.source_id], task_of[edge.target_id]) for edge in compiled.job_graph.edges]
    assert len(set(edges)) == len(edges) == 12
    assert sorted(edges) == dependencies(dag)


def test_pipelined_mode_has_one_task_and_auto_has_few() -> None:
    assert build("ALL_EXCHANGES_PIPELINED")[0].task_ids == ["late_routes"]
    dag, _ = build("AUTO")
    assert sorted(dag.task_ids) == ["late_routes", "with_weather"]
    assert dependencies(dag) == [("with_weather", "late_routes")]


def test_a_dependency_is_labeled_with_its_ship_strategy() -> None:
    assert build("AUTO")[0].get_edge_info("with_weather", "late_routes") == {"label": "FORWARD · BLOCKING"}
    dag, _ = build("ALL_EXCHANGES_BLOCKING")
    assert dag.get_edge_info("carriers", "regular_routes") == {"label": "BROADCAST · BLOCKING"}


def test_a_task_names_its_vertices_with_flinks_ids() -> None:
    dag, compiled = build("AUTO")
    for region in compiled.deployment.regions:
        doc = str(dag.get_task(region.id).doc_md)
        assert all(f"{compiled.job_graph.vertex[id].name} `{id}`" in doc for id in region.vertex_ids)


def test_retries_have_a_default_and_can_be_set() -> None:
    from graph_compiler.airflow_backend import build_dag

    assert {task.retries for task in build("AUTO")[0].tasks} == {2}
    start = datetime(2013, 1, 1)
    dag = build_dag(flights, schedule=None, start_date=start, default_args={"retries": 5})
    assert {task.retries for task in dag.tasks} == {5}


def test_runs_that_overwrite_one_target_are_serialized_and_documented() -> None:
    dag, _ = build("AUTO")
    assert dag.max_active_runs == 1
    assert str(dag.doc_md).endswith(
        "One run at a time: every run writes the same target of "
        "late_routes, worst_routes, by_month, by_weather, by_plane_age and cancelled."
    )


def test_only_paths_and_parameters_are_templated() -> None:
    dag, _ = build("AUTO")
    task: Any = dag.get_task("with_weather")
    assert task.places["flights.path"] == "{{ params.input }}/flights.csv"
    assert set(task.parameters) == {"input", "output", "late_after", "run_date"}
    rendered = [getattr(task, field) for field in task.template_fields]
    assert not any("dep_time IS NOT NULL" in str(value) for value in rendered)


@pytest.mark.parametrize("mode", SHUFFLE_MODES)
def test_parsing_again_gives_the_same_serialized_dag(mode: str) -> None:
    from airflow.serialization.serialized_objects import DagSerialization

    one, other = (DagSerialization.to_dict(build(mode)[0]) for _ in range(2))
    assert one == other


def test_the_dags_folder_parses_without_errors() -> None:
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(dag_folder=ROOT / "dags")
    assert bag.import_errors == {}
    assert bag.dags["flights"].fileloc == str(ROOT / "dags" / "flights.py")
    assert str(bag.dags["flights"].doc_md).startswith("```\nflights · 24 operators · 13 vertices · 2 tasks")


def test_airflows_scanner_sees_only_the_plugin_module() -> None:
    from airflow import plugins_manager

    plugins, errors = plugins_manager._get_plugins()
    assert errors == {}
    assert "graph_compiler" in [plugin.name for plugin in plugins]
    shadows = {path.stem for path in (ROOT / "plugins" / "graph_compiler").rglob("*.py")} - {"__init__", "__main__"}
    loaded_as_top_level = {
        name for name in shadows if "plugins/graph_compiler" in str(getattr(sys.modules.get(name), "__file__", ""))
    }
    assert loaded_as_top_level == {"graph_compiler_plugin"}


TRIGGER = "graph_compiler.airflow_backend.task.following.application_trigger"


@pytest.mark.parametrize(
    ("command", "name", "imports"),
    [
        ("dag-processor", "graph_compiler.airflow_backend", True),
        ("dag-processor", TRIGGER, False),
        ("triggerer", TRIGGER, True),
        ("api-server", "graph_compiler.airflow_backend", False),
    ],
)
def test_airflows_processes_import_what_they_would_import_again_and_again(
    command: str, name: str, imports: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow import plugins_manager

    ours = "graph_compiler.airflow_backend"
    saved = {module: sys.modules[module] for module in sys.modules if module.startswith(ours)}
    monkeypatch.setattr(sys, "argv", ["airflow", command])
    for module in saved:
        monkeypatch.delitem(sys.modules, module)
    plugins_manager._get_plugins.cache_clear()
    assert plugins_manager._get_plugins()[1] == {}
    assert (name in sys.modules) == imports
    sys.modules.update(saved)


def test_what_asks_tables_is_not_imported_when_a_dag_is_parsed(tmp_path: Path) -> None:
    """Packages of these names can be imported, which the last line shows."""
    for name in ("deltalake", "pyiceberg"):
        (tmp_path / f"{name}.py").touch()
    program = (
        "import sys\n"
        "from graph_compiler import Delta, Iceberg, StreamExecutionEnvironment\n"
        "from graph_compiler.airflow_backend import build_dag\n"
        "from graph_compiler.deployment.describe import deployability\n"
        "deployability.installed_version = lambda _: '4.1.4'\n"
        "env = StreamExecutionEnvironment('shop')\n"
        "rows = env.from_source(Iceberg('lake.db.sold', catalog={'type': 'rest', 'uri': 'http://c'}), 'sold')\n"
        "rows.sink_to(Delta('/out'), mode='append').name('copy')\n"
        "print(build_dag(env).task_ids, {'deltalake', 'pyiceberg'} & set(sys.modules))\n"
        "import deltalake, pyiceberg\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (tmp_path, ROOT / "plugins", ROOT)))}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "['copy'] set()"
